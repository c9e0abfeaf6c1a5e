// Whether two folders rank policies alike.
#include <algorithm>
#include <map>

#include "experiments/comparing/compare.hpp"
#include "experiments/metrics/catalogue.hpp"
#include "experiments/published/published.hpp"

namespace gangway {
namespace {

// What one folder says of a policy.
struct Value {
  std::string policy;
  std::optional<double> value;  // none: it ranks behind all others
  bool starves = false;
  Certainty is = Certainty::exact;
};

// Whether a policy has a rank in either folder.
bool known(const GroupComparison& group, const Compared& metric) {
  return metric.predicted || metric.measured || !group.starved.predicted.empty() ||
         !group.starved.measured.empty();
}

// Whether bounds leave no doubt that the first is less.
bool surely_less(const Value& less, const Value& more) {
  return (less.is == Certainty::exact || less.is == Certainty::at_most) &&
         (more.is == Certainty::exact || more.is == Certainty::at_least);
}

// -1: a is better, 1: worse, 0: they tie, or nobody knows.
int order(const Value& a, const Value& b, bool larger_is_better) {
  if (!a.value || !b.value) return static_cast<int>(!a.value) - static_cast<int>(!b.value);
  const int rank = ranking(*a.value, *b.value);
  if (rank != 0 && !(rank < 0 ? surely_less(a, b) : surely_less(b, a))) return 0;
  return larger_is_better ? -rank : rank;
}

// The best first; equals by name.
std::vector<std::string> in_order(std::vector<Value> values, bool larger_is_better) {
  std::erase_if(values, [](const Value& v) { return !v.value; });
  std::sort(values.begin(), values.end(), [&](const Value& a, const Value& b) {
    if (*a.value != *b.value) return (*a.value < *b.value) != larger_is_better;
    return a.policy < b.policy;
  });
  std::vector<std::string> names;
  names.reserve(values.size());
  for (const Value& each : values) names.push_back(each.policy);
  return names;
}

// Of those without a value.
std::vector<std::string> last(const std::vector<Value>& values, bool starves) {
  std::vector<std::string> names;
  for (const Value& each : values)
    if (!each.value && each.starves == starves) names.push_back(each.policy);
  return names;
}

RankingComparison rank(std::uint32_t point, const Metric& metric, const std::vector<Value>& predicted,
                       const std::vector<Value>& measured) {
  RankingComparison out;
  out.point = point;
  out.metric = metric.name;
  const bool larger_is_better = metric.better == Better::higher;
  out.predicted = in_order(predicted, larger_is_better);
  out.measured = in_order(measured, larger_is_better);
  out.starved_predicted = last(predicted, true);
  out.starved_measured = last(measured, true);
  out.failed_predicted = last(predicted, false);
  out.failed_measured = last(measured, false);
  for (std::size_t i = 0; i < predicted.size(); ++i)
    for (std::size_t j = i + 1; j < predicted.size(); ++j)
      if (order(predicted[i], predicted[j], larger_is_better) *
              order(measured[i], measured[j], larger_is_better) <
          0)
        out.swapped.emplace_back(predicted[i].policy, predicted[j].policy);
  return out;
}

}  // namespace

std::vector<RankingComparison> rankings_of(const std::vector<GroupComparison>& all) {
  std::vector<RankingComparison> rankings;
  std::map<std::uint32_t, std::vector<const GroupComparison*>> points;
  for (const GroupComparison& group : all) points[group.point].push_back(&group);
  for (const auto& [point, groups] : points)
    for (const Metric* metric : metrics_of(Level::point)) {
      if (!metric->ranked) continue;
      std::vector<Value> predicted, measured;
      for (const GroupComparison* group : groups) {
        const Compared& values = group->metric(metric->name);
        if (!known(*group, values)) continue;
        predicted.push_back(
            {group->policy, values.predicted, !group->starved.predicted.empty(), values.predicted_is});
        measured.push_back(
            {group->policy, values.measured, !group->starved.measured.empty(), values.measured_is});
      }
      if (predicted.size() > 1) rankings.push_back(rank(point, *metric, predicted, measured));
    }
  return rankings;
}

}  // namespace gangway
