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

// Texts of which most occur often: a number for each, and what the numbers mean.
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

// Rows of a table whose cells have names; a column is of numbers (NaN where there is none) or of texts (empty
// where there is none), as its first cell that is not empty has it.
class NamedColumns {
 public:
  void add(const Row& row);
  nb::list take();  // of (name, array of numbers or list of texts), in the order of the widest row

 private:
  struct Column {
    std::string name;
    std::vector<double> numbers;
    std::vector<std::string> texts;  // none as long as all cells are numbers or empty
  };
  Column& column(const std::string& name, std::size_t place);

  std::size_t rows_ = 0;
  std::vector<Column> columns_;
};

}  // namespace gangway::python
