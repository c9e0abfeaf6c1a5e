#include "experiments/published.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/metrics/statistics.hpp"

namespace gangway {
namespace {

constexpr double kTie = 0.05;

double tolerance(const std::string& class_name) { return class_name == "tight" ? 0.02 : 0.10; }

std::optional<double> measure_at(std::uint32_t point, const PublishedValue& value, const Measured& measured) {
  const auto own = measured.get(point, value.policy, value.client, value.metric);
  if ((value.relative_to.empty() && !value.relative_to_point) || !own) return own;
  const auto base =
      measured.get(value.relative_to_point.value_or(point),
                   value.relative_to.empty() ? value.policy : value.relative_to, value.client, value.metric);
  return base && *base != 0 ? std::optional<double>(*own / *base) : std::nullopt;
}

std::optional<double> measure(const PublishedValue& value, const Measured& measured) {
  if (value.take.empty()) return measure_at(value.point, value, measured);
  std::vector<double> values;
  for (std::uint32_t point = value.point; point <= value.last_point; ++point) {
    const auto one = measure_at(point, value, measured);
    if (!one) return std::nullopt;
    values.push_back(*one);
  }
  if (value.take == "min") return *std::min_element(values.begin(), values.end());
  if (value.take == "max") return *std::max_element(values.begin(), values.end());
  return mean(values);
}

void read_over(const Field& field, PublishedValue& value) {
  Mapping m = field.mapping();
  value.last_point = static_cast<std::uint32_t>(m.need("to").integer(value.point, 1'000'000));
  value.take = m.need("take").one_of({"mean", "min", "max"});
  m.finish();
}

bool ranked_as_printed(const std::vector<PublishedValue>& values, const std::vector<Verdict>& verdicts,
                       std::size_t index) {
  for (std::size_t other = 0; other < values.size(); ++other) {
    if (values[other].group != values[index].group || values[other].relation != "order") continue;
    if (!verdicts[other].measured) return false;
    const int print = ranking(values[index].published, values[other].published);
    const int here = ranking(*verdicts[index].measured, *verdicts[other].measured);
    if (print * here < 0) return false;
  }
  return true;
}

bool holds(const std::vector<PublishedValue>& values, const std::vector<Verdict>& verdicts,
           std::size_t index) {
  const PublishedValue& value = values[index];
  const double here = *verdicts[index].measured;
  if (value.relation == "order") return ranked_as_printed(values, verdicts, index);
  if (value.relation == "<") return here < value.published;
  if (value.relation == ">") return here > value.published;
  return std::abs(here - value.published) <= tolerance(value.class_name) * std::abs(value.published);
}

}  // namespace

std::string PublishedValue::divisor() const {
  if (!relative_to_point) return relative_to;
  return (relative_to.empty() ? "" : relative_to + " at ") + fmt::format("point {}", *relative_to_point);
}

const std::vector<std::string>& point_metrics() {
  static const std::vector<std::string> names{"antt",
                                              "dntt",
                                              "stp",
                                              "makespan_ns",
                                              "evictions",
                                              "eviction_delay_ns_mean",
                                              "utilisation",
                                              "jain",
                                              "p99_response_ns",
                                              "p50_response_ns",
                                              "waiting_ns_mean",
                                              "concurrency_efficiency",
                                              "launches"};
  return names;
}

const std::vector<std::string>& client_metrics() {
  static const std::vector<std::string> names{
      "ntt",           "response_ns_mean",       "response_ns_p99", "waiting_ns_mean", "evictions",
      "standalone_ns", "eviction_delay_ns_mean", "slice_share",     "slices_in_a_row"};
  return names;
}

void Measured::put(std::uint32_t point, const std::string& policy, const std::string& client,
                   const std::string& metric, std::optional<double> value) {
  if (value && std::isfinite(*value)) values_[{point, policy, client, metric}] = *value;
}

std::optional<double> Measured::get(std::uint32_t point, const std::string& policy, const std::string& client,
                                    const std::string& metric) const {
  const auto found = values_.find({point, policy, client, metric});
  return found == values_.end() ? std::nullopt : std::optional<double>(found->second);
}

PublishedValue read_published(const Field& field) {
  Mapping m = field.mapping();
  PublishedValue value;
  value.figure = m.need("figure").identifier();
  if (auto point = m.maybe("point")) value.point = static_cast<std::uint32_t>(point->integer(0, 1'000'000));
  value.last_point = value.point;
  if (auto over = m.maybe("over")) read_over(*over, value);
  value.policy = m.need("policy").identifier();
  if (auto client = m.maybe("client")) value.client = client->identifier();
  value.metric = m.need("metric").one_of(value.client.empty() ? point_metrics() : client_metrics());
  value.published = m.need("published").number(-1e300, 1e300);
  value.class_name = m.need("class").one_of({"tight", "moderate", "order", "open"});
  value.relation = value.class_name == "order" ? "order" : "=";
  if (auto relation = m.maybe("relation")) value.relation = relation->one_of({"=", "<", ">", "order"});
  if (auto group = m.maybe("group")) value.group = group->identifier();
  if (auto base = m.maybe("relative_to")) value.relative_to = base->identifier();
  if (auto base = m.maybe("relative_to_point"))
    value.relative_to_point = static_cast<std::uint32_t>(base->integer(0, 1'000'000));
  if (auto note = m.maybe("note")) value.note = note->text();
  if (value.relation == "order" && value.group.empty())
    field.fail("a ranked value without a group", "the group it is ranked in");
  if (value.class_name == "order" && value.relation == "=")
    field.fail("class order with relation =", "a class with a tolerance, or another relation");
  m.finish();
  return value;
}

int ranking(double a, double b) {
  if (std::abs(a - b) <= kTie * std::max(std::abs(a), std::abs(b))) return 0;
  return a < b ? -1 : 1;
}

std::vector<Verdict> judge(const std::vector<PublishedValue>& values, const Measured& measured) {
  std::vector<Verdict> verdicts(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    verdicts[i].measured = measure(values[i], measured);
    if (verdicts[i].measured && values[i].published != 0)
      verdicts[i].relative_error = *verdicts[i].measured / values[i].published - 1;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].class_name == "open")
      verdicts[i].verdict = "shown";
    else
      verdicts[i].verdict = verdicts[i].measured && holds(values, verdicts, i) ? "pass" : "miss";
  }
  return verdicts;
}

}  // namespace gangway
