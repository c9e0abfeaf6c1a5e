#include <algorithm>
#include <cmath>
#include <limits>

#include "experiments/published/published.hpp"
#include "models/metrics/statistics.hpp"

namespace gangway {
namespace {

constexpr double kTie = 0.05;

double tolerance(const std::string& class_name) { return class_name == "tight" ? 0.02 : 0.10; }

// ---- what is known of a value, through the steps that lead to it

constexpr double kInfinite = std::numeric_limits<double>::infinity();

BoundedValue known_between(double value, double one_end, double other_end) {
  if (std::isnan(one_end) || std::isnan(other_end)) return {value, -kInfinite, kInfinite};
  return {value, std::min(one_end, other_end), std::max(one_end, other_end)};
}

BoundedValue less(const BoundedValue& a, const BoundedValue& b) {
  return {a.value - b.value, a.least - b.most, a.most - b.least};
}

// None if the divisor is 0.
std::optional<BoundedValue> over(const BoundedValue& a, const BoundedValue& b) {
  if (b.value == 0) return std::nullopt;
  const double value = a.value / b.value;
  if (b.certainty() == Certainty::exact) return known_between(value, a.least / b.value, a.most / b.value);
  const double least = std::max(b.least, 0.0);  // of a metric, which is never negative
  return BoundedValue{value, a.least / (a.least < 0 ? least : b.most),
                      a.most / (a.most < 0 ? b.most : least)};
}

// One value of several, by a rule that never falls where one of them rises.
template <typename Take>
BoundedValue taken(const std::vector<BoundedValue>& values, Take take) {
  const auto of = [&](double BoundedValue::*member) {
    std::vector<double> all;
    for (const BoundedValue& each : values) all.push_back(each.*member);
    return take(all);
  };
  return {of(&BoundedValue::value), of(&BoundedValue::least), of(&BoundedValue::most)};
}

double take(std::vector<double> values, const std::string& how) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  if (how == "min") return values.front();
  if (how == "max") return values.back();
  if (how == "median") return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
  return mean(values);
}

// Takes of() of each client; nothing when one of them has no value.
template <typename Of>
std::optional<BoundedValue> over_clients(const TakenClients& clients, const std::vector<std::string>& all,
                                         Of of) {
  std::vector<BoundedValue> values;
  for (const std::string& name : clients.of.empty() ? all : clients.of) {
    if (std::find(clients.except.begin(), clients.except.end(), name) != clients.except.end()) continue;
    const std::optional<BoundedValue> one = of(name);
    if (!one) return std::nullopt;
    values.push_back(*one);
  }
  if (values.empty()) return std::nullopt;
  return taken(values, [&](const std::vector<double>& each) { return take(each, clients.take); });
}

std::optional<BoundedValue> changed(const BoundedValue& value, const std::string& as) {
  const BoundedValue one = BoundedValue::exact(1);
  if (as == "overhead") return less(value, one);
  if (as == "loss") return less(one, value);
  if (as == "speedup") return over(one, value);
  return value;
}

// A value at one point, in the terms of PublishedValue.
class AtPoint {
 public:
  AtPoint(std::uint32_t point, const PublishedValue& value, const Measured& measured)
      : point_(point), value_(value), measured_(measured) {}

  std::optional<BoundedValue> get() const {
    if (!value_.clients) return changed_of(value_.client, base(value_.client));
    const auto all = measured_.clients(point_, value_.policy);
    if (!relative_to_clients())
      return over_clients(*value_.clients, all,
                          [&](const auto& name) { return changed_of(name, base(name)); });
    const auto divisor = base("");
    const auto own = over_clients(*value_.clients, all, [&](const auto& name) { return less_minus(name); });
    return quotient(own, divisor);
  }

 private:
  bool relative_to_clients() const {
    return !value_.relative_to_client.empty() || value_.relative_to_clients;
  }

  // What the value of a client (or of the point, for "") is divided by; 1 when it is not.
  std::optional<BoundedValue> base(const std::string& client) const {
    if (value_.divisor().empty()) return BoundedValue::exact(1);
    const std::uint32_t point = value_.relative_to_point.value_or(point_);
    const std::string& policy = value_.relative_to.empty() ? value_.policy : value_.relative_to;
    const auto of = [&](const std::string& name) {
      return measured_.get(point, policy, name, value_.metric);
    };
    if (value_.relative_to_clients)
      return over_clients(*value_.relative_to_clients, measured_.clients(point, policy), of);
    return of(value_.relative_to_client.empty() ? client : value_.relative_to_client);
  }

  std::optional<BoundedValue> less_minus(const std::string& client) const {
    const auto own = measured_.get(point_, value_.policy, client, value_.metric);
    if (!own || value_.minus.empty()) return own;
    const auto other = measured_.get(point_, value_.minus, client, value_.metric);
    return other ? std::optional(less(*own, *other)) : std::nullopt;
  }

  std::optional<BoundedValue> quotient(const std::optional<BoundedValue>& own,
                                       const std::optional<BoundedValue>& divisor) const {
    const auto ratio = own && divisor ? over(*own, *divisor) : std::nullopt;
    return ratio ? changed(*ratio, value_.as) : std::nullopt;
  }
  std::optional<BoundedValue> changed_of(const std::string& client,
                                         const std::optional<BoundedValue>& divisor) const {
    return quotient(less_minus(client), divisor);
  }

  std::uint32_t point_;
  const PublishedValue& value_;
  const Measured& measured_;
};

std::optional<BoundedValue> measure(const PublishedValue& value, const Measured& measured) {
  if (value.take.empty()) return AtPoint(value.point, value, measured).get();
  std::vector<BoundedValue> values;
  for (std::uint32_t point = value.point; point <= value.last_point; ++point) {
    const auto one = AtPoint(point, value, measured).get();
    if (!one) return std::nullopt;
    values.push_back(*one);
  }
  return taken(values, [&](const std::vector<double>& each) { return take(each, value.take); });
}

std::optional<double> error_of(const PublishedValue& value, double here) {
  double print = value.published;
  if (value.published_to) {
    if (here >= value.published && here <= *value.published_to) return 0;
    print = here < value.published ? value.published : *value.published_to;
  }
  return print != 0 ? std::optional<double>((here - print) / std::abs(print)) : std::nullopt;
}

// Whether the one could be above the other by more than a tie.
bool could_be_above(const BoundedValue& one, const BoundedValue& other) {
  if (std::isinf(one.most) || std::isinf(other.least)) return true;
  return ranking(one.most, other.least) > 0;
}

using Values = std::vector<std::optional<BoundedValue>>;

bool ranked_as_printed(const std::vector<PublishedValue>& values, const Values& measured, std::size_t index) {
  for (std::size_t other = 0; other < values.size(); ++other) {
    if (values[other].group != values[index].group || values[other].relation != "order") continue;
    if (!measured[other]) return false;
    const int print = ranking(values[index].published, values[other].published);
    if (print < 0 && could_be_above(*measured[index], *measured[other])) return false;
    if (print > 0 && could_be_above(*measured[other], *measured[index])) return false;
  }
  return true;
}

bool holds(const std::vector<PublishedValue>& values, const Values& measured, std::size_t index) {
  const PublishedValue& value = values[index];
  const BoundedValue& here = *measured[index];
  if (value.relation == "order") return ranked_as_printed(values, measured, index);
  if (value.relation == "<") return here.most < value.published;
  if (value.relation == ">") return here.least > value.published;
  if (value.relation == "in") return here.least >= value.published && here.most <= *value.published_to;
  const double off = std::max(std::abs(here.least - value.published), std::abs(here.most - value.published));
  return off <= tolerance(value.class_name) * std::abs(value.published);
}

// As if nothing that is unfinished could change the values.
Values taken_as_exact(Values values) {
  for (auto& value : values)
    if (value) value = BoundedValue::exact(value->value);
  return values;
}

}  // namespace

void Measured::put(std::uint32_t point, const std::string& policy, const std::string& client,
                   const std::string& metric, const std::optional<BoundedValue>& value) {
  if (value && std::isfinite(value->value)) values_[{point, policy, client, metric}] = *value;
}

void Measured::put(std::uint32_t point, const std::string& policy, const std::string& client,
                   const std::string& metric, std::optional<double> exact) {
  if (exact) put(point, policy, client, metric, std::optional(BoundedValue::exact(*exact)));
}

std::optional<BoundedValue> Measured::get(std::uint32_t point, const std::string& policy,
                                          const std::string& client, const std::string& metric) const {
  const auto found = values_.find({point, policy, client, metric});
  return found == values_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::string> Measured::clients(std::uint32_t point, const std::string& policy) const {
  std::vector<std::string> names;
  for (auto it = values_.lower_bound({point, policy, "", ""}); it != values_.end(); ++it) {
    const auto& [its_point, its_policy, client, metric] = it->first;
    if (its_point != point || its_policy != policy) break;
    if (!client.empty() && (names.empty() || names.back() != client)) names.push_back(client);
  }
  return names;
}

int ranking(double a, double b) {
  if (std::abs(a - b) <= kTie * std::max(std::abs(a), std::abs(b))) return 0;
  return a < b ? -1 : 1;
}

std::vector<Verdict> judge(const std::vector<PublishedValue>& values, const Measured& measured) {
  std::vector<Verdict> verdicts(values.size());
  Values here(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    here[i] = measure(values[i], measured);
    if (!here[i]) continue;
    verdicts[i].measured = here[i]->value;
    verdicts[i].certainty = here[i]->certainty();
    verdicts[i].relative_error = error_of(values[i], here[i]->value);
  }
  const Values as_exact = taken_as_exact(here);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values[i].counted()) {
      verdicts[i].verdict = values[i].class_name == "open" ? "shown" : "input";
      continue;
    }
    const bool pass = here[i] && holds(values, here, i);
    verdicts[i].verdict = pass ? "pass" : "miss";
    verdicts[i].unproven = here[i] && !pass && holds(values, as_exact, i);
  }
  return verdicts;
}

}  // namespace gangway
