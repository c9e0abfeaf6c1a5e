#include "analysis/core/columns.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <memory>
#include <utility>

namespace gangway::python {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

}  // namespace

template <typename Value>
nb::object array_of(std::vector<Value> values) {
  auto kept = std::make_unique<std::vector<Value>>(std::move(values));
  Value* const first = kept->data();
  const std::size_t size = kept->size();
  nb::capsule owner(kept.release(), [](void* it) noexcept { delete static_cast<std::vector<Value>*>(it); });
  return nb::cast(nb::ndarray<nb::numpy, Value, nb::ndim<1>>(first, {size}, owner));
}

template nb::object array_of(std::vector<double>);
template nb::object array_of(std::vector<std::int64_t>);
template nb::object array_of(std::vector<std::int32_t>);

void Texts::add(std::string_view text) {
  const auto [known, is_new] =
      numbers_.try_emplace(std::string(text), static_cast<std::int32_t>(names_.size()));
  if (is_new) names_.emplace_back(text);
  codes_.push_back(known->second);
}

nb::object Texts::take() {
  numbers_.clear();
  return nb::make_tuple(array_of(std::move(codes_)), nb::cast(std::move(names_)));
}

NamedColumns::Column& NamedColumns::column(const std::string& name, std::size_t place) {
  if (place < columns_.size() && columns_[place].name == name) return columns_[place];
  for (Column& column : columns_)
    if (column.name == name) return column;
  columns_.push_back({name, std::vector<double>(rows_, kNone), {}});
  return columns_.back();
}

void NamedColumns::add(const Row& row) {
  for (std::size_t place = 0; place < row.size(); ++place) {
    const auto& [name, cell] = row[place];
    Column& of = column(name, place);
    of.numbers.push_back(cell.number().value_or(kNone));
    if (cell.text().empty()) continue;
    of.texts.resize(rows_);
    of.texts.push_back(cell.text());
  }
  ++rows_;
  for (Column& of : columns_) of.numbers.resize(rows_, kNone);  // that this row has not
}

nb::list NamedColumns::take() {
  nb::list out;
  for (Column& of : columns_) {
    const bool is_text = !of.texts.empty();
    if (is_text) of.texts.resize(rows_);
    out.append(
        nb::make_tuple(of.name, is_text ? nb::cast(std::move(of.texts)) : array_of(std::move(of.numbers))));
  }
  columns_.clear();
  return out;
}

}  // namespace gangway::python
