// What unfinished jobs leave open of a value in a table.
#pragma once

#include <optional>
#include <string>

#include "experiments/metrics/metric.hpp"

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

// "", ">=", "<=" or "~", to stand before it.
const char* sign_of(Certainty certainty);

// "at least", "at most", "rough"; empty: exact.
std::string name_of(Certainty certainty);

}  // namespace gangway
