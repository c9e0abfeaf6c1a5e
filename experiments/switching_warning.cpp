#include "experiments/switching_warning.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace gangway {
namespace {

double number(const Row& row, const char* column) { return cell(row, column).number().value_or(0); }

// Whether the policy could linger, and was not told to.
bool might_linger(const Contender& policy) {
  const auto& declared = policy.entry->parameters;
  const bool can = std::any_of(declared.begin(), declared.end(),
                               [](const Parameter& parameter) { return parameter.name == "linger"; });
  return can && policy.values.duration("linger") == Duration{};
}

std::string advice(const Contender& policy, const Row& row) {
  const double evictions = number(row, "evictions"), launches = number(row, "launches");
  if (evictions < launches / 10) return "kernels, or slices of them, are short against what a launch costs";
  const std::string evicted = fmt::format("{:.0f} of {:.0f} launches are evicted", evictions, launches);
  if (!might_linger(policy)) return evicted;
  return evicted + "; where hosts have gaps between kernels, try " +
         fmt::format("--set policies.{}.params.linger='5 us'", policy.label);
}

}  // namespace

std::optional<std::string> switching_warning(const Experiment& experiment,
                                             const std::vector<GroupRows>& rows) {
  struct Worst {
    double share = kMuchSwitching;
    std::size_t point = 0;
    const Contender* policy = nullptr;
    const Row* row = nullptr;
  } worst;
  std::size_t group = 0, cells = 0;
  for (std::size_t point = 0; point < experiment.points.size(); ++point)
    for (const Contender& policy : experiment.points[point].policies) {
      if (group == rows.size()) break;
      const Row& row = rows[group++].summary;
      const double share = number(row, "switching");
      if (share > kMuchSwitching) ++cells;
      if (share > worst.share) worst = {share, point, &policy, &row};
    }
  if (worst.policy == nullptr) return std::nullopt;
  return fmt::format(
      "warning: launches and reports take {:.0f} % of the time at point {} under {} ({} of {} cells: more "
      "than "
      "{:.0f} %); {}",
      100 * worst.share, worst.point, worst.policy->label, cells, group, 100 * kMuchSwitching,
      advice(*worst.policy, *worst.row));
}

}  // namespace gangway
