#include <algorithm>
#include <cmath>

#include "experiments/published/published.hpp"
#include "models/metrics/statistics.hpp"

namespace gangway {
namespace {

constexpr double kTie = 0.05;

double tolerance(const std::string& class_name) { return class_name == "tight" ? 0.02 : 0.10; }

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
std::optional<double> over_clients(const TakenClients& clients, const std::vector<std::string>& all, Of of) {
  std::vector<double> values;
  for (const std::string& name : clients.of.empty() ? all : clients.of) {
    if (std::find(clients.except.begin(), clients.except.end(), name) != clients.except.end()) continue;
    const std::optional<double> one = of(name);
    if (!one) return std::nullopt;
    values.push_back(*one);
  }
  return values.empty() ? std::nullopt : std::optional<double>(take(std::move(values), clients.take));
}

std::optional<double> changed(double value, const std::string& as) {
  if (as == "overhead") return value - 1;
  if (as == "loss") return 1 - value;
  if (as == "speedup") return value == 0 ? std::nullopt : std::optional<double>(1 / value);
  return value;
}

// A value at one point, in the terms of PublishedValue.
class AtPoint {
 public:
  AtPoint(std::uint32_t point, const PublishedValue& value, const Measured& measured)
      : point_(point), value_(value), measured_(measured) {}

  std::optional<double> get() const {
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
  std::optional<double> base(const std::string& client) const {
    if (value_.divisor().empty()) return 1;
    const std::uint32_t point = value_.relative_to_point.value_or(point_);
    const std::string& policy = value_.relative_to.empty() ? value_.policy : value_.relative_to;
    const auto of = [&](const std::string& name) {
      return measured_.get(point, policy, name, value_.metric);
    };
    if (value_.relative_to_clients)
      return over_clients(*value_.relative_to_clients, measured_.clients(point, policy), of);
    return of(value_.relative_to_client.empty() ? client : value_.relative_to_client);
  }

  std::optional<double> less_minus(const std::string& client) const {
    const auto own = measured_.get(point_, value_.policy, client, value_.metric);
    if (!own || value_.minus.empty()) return own;
    const auto other = measured_.get(point_, value_.minus, client, value_.metric);
    return other ? std::optional<double>(*own - *other) : std::nullopt;
  }

  std::optional<double> quotient(const std::optional<double>& own,
                                 const std::optional<double>& divisor) const {
    return own && divisor && *divisor != 0 ? changed(*own / *divisor, value_.as) : std::nullopt;
  }
  std::optional<double> changed_of(const std::string& client, const std::optional<double>& divisor) const {
    return quotient(less_minus(client), divisor);
  }

  std::uint32_t point_;
  const PublishedValue& value_;
  const Measured& measured_;
};

std::optional<double> measure(const PublishedValue& value, const Measured& measured) {
  if (value.take.empty()) return AtPoint(value.point, value, measured).get();
  std::vector<double> values;
  for (std::uint32_t point = value.point; point <= value.last_point; ++point) {
    const auto one = AtPoint(point, value, measured).get();
    if (!one) return std::nullopt;
    values.push_back(*one);
  }
  return take(values, value.take);
}

std::optional<double> error_of(const PublishedValue& value, double here) {
  double print = value.published;
  if (value.published_to) {
    if (here >= value.published && here <= *value.published_to) return 0;
    print = here < value.published ? value.published : *value.published_to;
  }
  return print != 0 ? std::optional<double>((here - print) / std::abs(print)) : std::nullopt;
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
  if (value.relation == "in") return here >= value.published && here <= *value.published_to;
  return std::abs(here - value.published) <= tolerance(value.class_name) * std::abs(value.published);
}

}  // namespace

void Measured::put(std::uint32_t point, const std::string& policy, const std::string& client,
                   const std::string& metric, std::optional<double> value) {
  if (value && std::isfinite(*value)) values_[{point, policy, client, metric}] = *value;
}

std::optional<double> Measured::get(std::uint32_t point, const std::string& policy, const std::string& client,
                                    const std::string& metric) const {
  const auto found = values_.find({point, policy, client, metric});
  return found == values_.end() ? std::nullopt : std::optional<double>(found->second);
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
  for (std::size_t i = 0; i < values.size(); ++i) {
    verdicts[i].measured = measure(values[i], measured);
    if (verdicts[i].measured) verdicts[i].relative_error = error_of(values[i], *verdicts[i].measured);
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].class_name == "open")
      verdicts[i].verdict = "shown";
    else if (values[i].class_name == "input")
      verdicts[i].verdict = "input";
    else
      verdicts[i].verdict = verdicts[i].measured && holds(values, verdicts, i) ? "pass" : "miss";
  }
  return verdicts;
}

}  // namespace gangway
