#include "experiments/results/bounded_value.hpp"

#include <limits>
#include <string_view>

#include "experiments/metrics/catalogue.hpp"

namespace gangway {
namespace {

constexpr double kUnknownEnd = std::numeric_limits<double>::infinity();

// Whether names separated by '|' have this one.
bool has_name(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const std::size_t bar = text.find('|');
    if (text.substr(0, bar) == name) return true;
    text.remove_prefix(bar == std::string_view::npos ? text.size() : bar + 1);
  }
  return false;
}

// Tables of services name percentiles only: "p99".
bool is_lower_bound(const Row& row, const std::string& column) {
  constexpr std::string_view kLatency = "latency_ns_";
  const std::string& bounds = cell(row, "lower_bounds").text();
  if (has_name(bounds, column)) return true;
  if (column.starts_with(kLatency)) return has_name(bounds, column.substr(kLatency.size()));
  const bool percentile =
      column == "p50_response_ns" || column == "p99_response_ns" || column == "response_ns_p99";
  return percentile && cell(row, "percentiles").text() == "lower-bound";  // which of them is not said
}

}  // namespace

BoundedValue BoundedValue::with(double value, Certainty certainty) {
  BoundedValue of = exact(value);
  if (certainty == Certainty::at_most || certainty == Certainty::rough) of.least = -kUnknownEnd;
  if (certainty == Certainty::at_least || certainty == Certainty::rough) of.most = kUnknownEnd;
  return of;
}

Certainty BoundedValue::certainty() const {
  const bool lower = most > value, upper = least < value;
  if (lower && upper) return Certainty::rough;
  return lower ? Certainty::at_least : upper ? Certainty::at_most : Certainty::exact;
}

std::optional<BoundedValue> bounded_value(const Row& row, Level level, const std::string& column) {
  const auto value = cell(row, column).number();
  if (!value) return std::nullopt;
  if (is_lower_bound(row, column)) {
    BoundedValue of = BoundedValue::with(*value, Certainty::at_least);
    of.most = cell(row, column + "_most").number().value_or(of.most);
    return of;
  }
  const Metric* const metric = find_metric(level, column);
  if (metric == nullptr || cell(row, "understated").empty()) return BoundedValue::exact(*value);
  return BoundedValue::with(*value, metric->if_understated);
}

const char* sign_of(Certainty certainty) {
  switch (certainty) {
    case Certainty::exact:
      return "";
    case Certainty::at_least:
      return ">=";
    case Certainty::at_most:
      return "<=";
    case Certainty::rough:
      return "~";
  }
  return "";
}

std::string name_of(Certainty certainty) {
  switch (certainty) {
    case Certainty::exact:
      return "";
    case Certainty::at_least:
      return "at least";
    case Certainty::at_most:
      return "at most";
    case Certainty::rough:
      return "rough";
  }
  return "";
}

}  // namespace gangway
