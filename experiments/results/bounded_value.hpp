// What unfinished jobs leave open of a value in a table.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/metrics/metric.hpp"
#include "models/input/table.hpp"

namespace gangway {

// The value as it stands in the table, and between which ends the real one is; infinite ends are unknown.
struct BoundedValue {
  double value = 0, least = 0, most = 0;

  static BoundedValue exact(double value) { return {value, value, value}; }
  // `certainty`: how the real one is to `value`.
  static BoundedValue with(double value, Certainty certainty);
  Certainty certainty() const;
};

// Empty if the cell has no number.
std::optional<BoundedValue> bounded_value(const Row& row, Level level, const std::string& column);

// Columns of a table, read with those that say what is open of them.
class BoundedColumns {
 public:
  BoundedColumns(const Table& table, Level level, std::vector<std::size_t> columns);
  std::vector<std::optional<BoundedValue>> row(const Table& table) const;  // the current one

 private:
  Level level_;
  std::vector<std::size_t> columns_, numbers_, texts_;
};

// "", ">=", "<=" or "~", to stand before it.
const char* sign_of(Certainty certainty);

// "at least", "at most", "rough"; empty: exact.
std::string name_of(Certainty certainty);

}  // namespace gangway
