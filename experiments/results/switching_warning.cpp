#include "experiments/results/switching_warning.hpp"

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
  if (evictions < launches / 10) return "kernels or slices are short compared with the cost of a launch";
  const std::string evicted = fmt::format("{:.0f} of {:.0f} launches are evicted", evictions, launches);
  if (!might_linger(policy)) return evicted;
  return evicted + "; where hosts have gaps between kernels, try " +
         fmt::format("--set policies.{}.params.linger='5 us'", policy.label);
}

}  // namespace

void SwitchingWarning::add(std::uint32_t point, const std::string& policy, const Row& summary) {
  const double share = number(summary, "switching");
  ++cells_;
  if (share > kMuchSwitching) ++much_;
  if (share <= share_) return;
  share_ = share;
  point_ = point;
  policy_ = policy;
  row_ = summary;
}

std::optional<std::string> SwitchingWarning::text(const Experiment& experiment) const {
  if (much_ == 0) return std::nullopt;
  const Point point = experiment.points[point_];
  const auto policy = std::find_if(point.policies.begin(), point.policies.end(),
                                   [&](const Contender& contender) { return contender.label == policy_; });
  const bool jobs = policy->granting.of == GrantOf::job;  // which keep the GPU while their hosts compute
  return fmt::format(
      "warning: {} {:.0f} % of the time at point {} under {} ({} of {} cells: more than {:.0f} %); {}",
      jobs ? "the owner has nothing on the GPU" : "launches and reports take", 100 * share_, point_, policy_,
      much_, cells_, 100 * kMuchSwitching,
      jobs ? "its host computes meanwhile, or grants are short" : advice(*policy, row_));
}

}  // namespace gangway
