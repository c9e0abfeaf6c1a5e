// Tables column by column, as numpy arrays.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "experiments/results/row.hpp"

namespace gangway::python {

namespace nb = nanobind;

// An array that owns its values.
template <typename Value>
nb::object array_of(std::vector<Value> values);

// Texts with many repetitions: a code for each, and the codes' meanings.
class Texts {
 public:
  void add(std::string_view text);
  std::size_t size() const { return codes_.size(); }
  nb::object take();  // (codes: int32 array, names: list)

 private:
  std::vector<std::int32_t> codes_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::int32_t> numbers_;
};

// Rows of named cells. A column holds numbers (NaN if missing) or texts (empty if missing), as decided by its
// first non-empty cell.
class NamedColumns {
 public:
  void add(const Row& row);
  nb::list take();  // of (name, array of numbers or list of texts), in the order of the widest row

 private:
  struct Column {
    std::string name;
    std::vector<double> numbers;
    std::vector<std::string> texts;  // empty as long as all cells are numbers or empty
  };
  Column& column(const std::string& name, std::size_t place);

  std::size_t rows_ = 0;
  std::vector<Column> columns_;
};

}  // namespace gangway::python
