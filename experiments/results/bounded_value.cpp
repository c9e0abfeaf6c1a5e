#include "experiments/results/bounded_value.hpp"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "experiments/metrics/catalogue.hpp"

namespace gangway {
namespace {

constexpr const char* kUnfinished = "unfinished";
constexpr double kUnknownEnd = std::numeric_limits<double>::infinity();

bool lists(const Row& row, const char* cell_of, const std::string& column) {
  const std::vector<std::string> names = listed_names(cell(row, cell_of).text());
  return std::find(names.begin(), names.end(), column) != names.end();
}

// Tables of services name percentiles only: "p99".
bool is_lower_bound(const Row& row, const std::string& column) {
  constexpr std::string_view kLatency = "latency_ns_";
  const auto listed = [&](const std::string& name) { return lists(row, "lower_bounds", name); };
  if (listed(column)) return true;
  if (column.starts_with(kLatency)) return listed(column.substr(kLatency.size()));
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
  if (lists(row, "upper_bounds", column)) return BoundedValue::with(*value, Certainty::at_most);
  const Metric* const metric = find_metric(level, column);
  if (metric == nullptr) return BoundedValue::exact(*value);
  if (metric->if_unfinished != Certainty::exact && cell(row, kUnfinished).number().value_or(0) > 0)
    return BoundedValue::with(*value, metric->if_unfinished);
  return cell(row, "understated").empty() ? BoundedValue::exact(*value)
                                          : BoundedValue::with(*value, metric->if_understated);
}

BoundedColumns::BoundedColumns(const Table& table, Level level, std::vector<std::size_t> columns)
    : level_(level), columns_(std::move(columns)), numbers_(columns_) {
  for (const std::size_t column : columns_)
    if (const auto most = table.column_if_any(table.columns()[column] + "_most")) numbers_.push_back(*most);
  if (const auto column = table.column_if_any(kUnfinished)) numbers_.push_back(*column);
  for (const char* name :
       {"percentiles", "lower_bounds", "upper_bounds", "understated"})  // older programs write fewer
    if (const auto column = table.column_if_any(name)) texts_.push_back(*column);
}

std::vector<std::optional<BoundedValue>> BoundedColumns::row(const Table& table) const {
  Row cells;
  for (const std::size_t column : numbers_) cells.emplace_back(table.columns()[column], table.number(column));
  for (const std::size_t column : texts_)
    cells.emplace_back(table.columns()[column], std::string(table.text(column)));
  std::vector<std::optional<BoundedValue>> values;
  for (const std::size_t column : columns_)
    values.push_back(bounded_value(cells, level_, table.columns()[column]));
  return values;
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
