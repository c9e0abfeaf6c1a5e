#include "experiments/sweeps/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "experiments/results/row.hpp"
#include "experiments/sweeps/swept_columns.hpp"
#include "models/utf8.hpp"

namespace gangway {
namespace {

constexpr const char* kTogether = "together";
constexpr std::uint64_t kMostPoints = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t kCheckedEnd = 500;        // values at either end of a range
constexpr std::uint32_t kCheckedPoints = 1000;  // of which all are checked

struct Known {
  SweptQuantity quantity;
  const char* suffix;
};
constexpr std::array kKnown{Known{SweptQuantity::time, "_ns"}, Known{SweptQuantity::bytes, "_bytes"},
                            Known{SweptQuantity::bandwidth, "_bytes_per_second"},
                            Known{SweptQuantity::rate, "_per_second"}, Known{SweptQuantity::share, "_share"}};

// The text as a number in the base unit of a quantity, if it is one.
std::optional<double> in_base_units(SweptQuantity quantity, const std::string& text) {
  ParseFailure why;
  Duration time;
  Bytes bytes;
  Bandwidth bandwidth;
  Rate rate;
  double share = 0;
  switch (quantity) {
    case SweptQuantity::time:
      if (parse(text, time, why)) return static_cast<double>(time.ns);
      break;
    case SweptQuantity::bytes:
      if (parse(text, bytes, why)) return static_cast<double>(bytes.count);
      break;
    case SweptQuantity::bandwidth:
      if (parse(text, bandwidth, why)) return static_cast<double>(bandwidth.bytes_per_second);
      break;
    case SweptQuantity::rate:
      if (parse(text, rate, why)) return rate.per_second;
      break;
    case SweptQuantity::share:
      if (parse_share(text, share, why)) return share;
      break;
    case SweptQuantity::none:
      break;
  }
  return std::nullopt;
}

// Of the steps of a range.
std::string text_of(SweptQuantity quantity, double value) {
  switch (quantity) {
    case SweptQuantity::time:
      return to_text(Duration{std::llround(value)});
    case SweptQuantity::bytes:
      return to_text(Bytes{std::llround(value)});
    case SweptQuantity::bandwidth:
      return fmt::format("{} B/s", std::llround(value));
    case SweptQuantity::rate:
      return to_text(Rate{std::round(value * 1e9) / 1e9});
    case SweptQuantity::share:
    case SweptQuantity::none:
      break;
  }
  return fmt::format("{}", std::round(value * 1e9) / 1e9);
}

std::string text_of(const Node& value) {
  const auto is_scalar = [](const Node& item) { return item.kind == Node::Kind::scalar; };
  if (value.kind == Node::Kind::sequence && std::all_of(value.items.begin(), value.items.end(), is_scalar)) {
    std::string text;
    for (const Node& item : value.items) text += (text.empty() ? "" : "+") + item.scalar;
    return text;
  }
  return value.kind == Node::Kind::scalar ? value.scalar : value.json().dump();
}

// A quantity that `from` is, which `to` and `step` are then, too.
SweptQuantity quantity_of(const Field& from) {
  if (!from.is_scalar()) return SweptQuantity::none;
  for (const Known& known : kKnown)
    if (known.quantity != SweptQuantity::share && in_base_units(known.quantity, from.node().scalar))
      return known.quantity;
  return SweptQuantity::none;
}

double number_in(SweptQuantity quantity, const Field& field, double least) {
  switch (quantity) {
    case SweptQuantity::time:
      return static_cast<double>(field.duration(Duration{least > 0 ? 1 : 0}).ns);
    case SweptQuantity::bytes:
      return static_cast<double>(field.bytes().count);
    case SweptQuantity::bandwidth:
      return static_cast<double>(field.bandwidth().bytes_per_second);
    case SweptQuantity::rate:
      return field.rate().per_second;
    case SweptQuantity::share:
    case SweptQuantity::none:
      break;
  }
  return field.number(least, 1e15);
}

// Of the node or what is below it: by which swept path it has been changed; -1: by none.
std::int32_t changed_in(const Node& node) {
  std::int32_t by = node.changed_by;
  for (const Node& item : node.items) by = std::max(by, changed_in(item));
  for (const Node::Entry& entry : node.entries) by = std::max(by, changed_in(entry.value));
  return by;
}

// Where the sweep says what the path is to be.
Origin origin_in_sweep(const Node& root, const std::string& path) {
  Origin origin = root.origin();
  const Node* given = root.find("sweep");
  if (given == nullptr) return origin;
  Node sweep = *given;
  each_swept(sweep, [&](const std::string& swept, Node& values) {
    if (swept == path) origin = values.origin();
  });
  return origin;
}

}  // namespace

SweptPath::SweptPath(std::string path, const Field& values) : path_(std::move(path)) {
  if (values.is_mapping())
    read_range(values);
  else
    read_list(values);
}

void SweptPath::read_list(const Field& values) {
  for (const Field& item : values.items()) {
    const LabelledValue labelled = read_labelled(item);
    const std::string label = labelled.label ? labelled.label->text() : "";
    if (!label.empty() && std::find(labels_.begin(), labels_.end(), label) != labels_.end())
      labelled.label->fail(quote(label) + " twice", "a label of its own for each value");
    labels_.push_back(label);
    listed_.push_back(labelled.value.node());
  }
  size_ = listed_.size();
  quantity_ = listed_quantity();
}

SweptQuantity SweptPath::listed_quantity() const {
  for (const Known& known : kKnown) {
    const auto fits = [&](const Node& item) {
      return item.kind == Node::Kind::scalar && in_base_units(known.quantity, item.scalar).has_value();
    };
    const auto plain = [](const Node& item) { return item.scalar.find('%') == std::string::npos; };
    if (!std::all_of(listed_.begin(), listed_.end(), fits)) continue;
    if (known.quantity == SweptQuantity::share && std::all_of(listed_.begin(), listed_.end(), plain))
      continue;  // plain numbers stand for themselves
    return known.quantity;
  }
  return SweptQuantity::none;
}

void SweptPath::read_range(const Field& range) {
  Mapping m = range.mapping();
  const Field from = m.need("from");
  const Field to = m.need("to");
  const auto step = m.maybe("step");
  const auto factor = m.maybe("factor");
  m.finish();
  if (step.has_value() == factor.has_value())
    range.fail(step ? "both step and factor" : "neither step nor factor", "one of them");
  where_ = range.node();
  where_.entries.clear();
  factor_ = factor.has_value();
  quantity_ = quantity_of(from);
  from_ = number_in(quantity_, from, quantity_ == SweptQuantity::none ? -1e15 : 0);
  const double end = number_in(quantity_, to, quantity_ == SweptQuantity::none ? -1e15 : 0);
  step_ = factor ? factor->number(1.0001, 1e9) : number_in(quantity_, *step, 1e-9);
  if (step_ <= 0) step->fail("a step above 0");
  if (factor && from_ <= 0) from.fail("a start above 0 for a factor");
  if (end < from_) to.fail("an end that is not below the start");
  // How many steps there are, about; then exactly.
  const double about = factor ? std::log(end / from_) / std::log(step_) : (end - from_) / step_;
  const double most = static_cast<double>(kMostPoints);
  if (about > most) range.fail(fmt::format("more than {} values", kMostPoints), "a shorter range");
  const auto inside = [&](std::size_t index) { return this->step(index) <= end + std::abs(end) * 1e-12; };
  size_ = static_cast<std::size_t>(std::max(0.0, about)) + 2;
  while (size_ > 1 && !inside(size_ - 1)) --size_;
}

double SweptPath::step(std::size_t index) const {
  const auto n = static_cast<double>(index);
  return factor_ ? from_ * std::pow(step_, n) : from_ + step_ * n;
}

Node SweptPath::value(std::size_t index) const {
  return listed_.empty() ? Node::text(text_of(quantity_, step(index)), where_) : listed_[index];
}

std::string SweptPath::text(std::size_t index) const {
  if (listed_.empty()) return text_of(quantity_, step(index));
  return labels_[index].empty() ? text_of(listed_[index]) : labels_[index];
}

std::vector<std::size_t> SweptPath::checked() const {
  const bool all = !listed_.empty() || size_ <= 2 * kCheckedEnd;
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < size_; ++i)
    if (all || i < kCheckedEnd || i >= size_ - kCheckedEnd)
      indices.push_back(i);
    else
      i = size_ - kCheckedEnd - 1;
  return indices;
}

Sweep::Sweep(const Field& field) {
  if (!field.is_mapping()) field.fail("a mapping from paths to lists or ranges");
  std::vector<std::size_t> dimensions;  // the first path of each
  const auto add_dimension = [&](const std::vector<Node::Entry>& entries, const std::string& above) {
    dimensions.push_back(paths_.size());
    for (const auto& [path, value] : entries)
      add_path(path, Field(value, above + "." + path), dimensions.back());
  };
  for (const Node::Entry& entry : field.node().entries) {
    if (entry.key != kTogether) {
      add_dimension({entry}, field.path());
      continue;
    }
    const Field together(entry.value, field.path() + "." + kTogether);
    for (const Field& paths : together.is_mapping() ? std::vector{together} : together.items()) {
      if (!paths.is_mapping() || paths.node().entries.empty())
        paths.fail("a mapping from paths to lists or ranges of the same length");
      add_dimension(paths.node().entries, paths.path());
    }
  }
  strides_.resize(paths_.size());
  std::uint64_t stride = 1;
  for (std::size_t end = paths_.size(); !dimensions.empty(); dimensions.pop_back()) {
    for (std::size_t p = dimensions.back(); p < end; ++p) strides_[p] = stride;
    end = dimensions.back();
    stride *= paths_[end].size();
  }
}

void Sweep::add_path(std::string path, const Field& values, std::size_t first) {
  for (const SweptPath& known : paths_)
    if (known.path() == path) values.fail(quote(path) + " a second time", "each path once");
  SweptPath swept(std::move(path), values);
  if (first < paths_.size() && swept.size() != paths_[first].size())
    values.fail(fmt::format("{} values", swept.size()),
                fmt::format("{}, as {} has", paths_[first].size(), paths_[first].path()));
  const std::uint64_t points = first < paths_.size() ? points_ : points_ * std::uint64_t{swept.size()};
  if (points > kMostPoints)
    values.fail(fmt::format("{} values, {} points so far", swept.size(), points),
                fmt::format("at most {} points", kMostPoints));
  points_ = static_cast<std::uint32_t>(points);
  paths_.push_back(std::move(swept));
}

std::vector<std::size_t> Sweep::at(std::uint32_t point) const {
  std::vector<std::size_t> indices;
  indices.reserve(paths_.size());
  for (std::size_t p = 0; p < paths_.size(); ++p) indices.push_back(point / strides_[p] % paths_[p].size());
  return indices;
}

std::vector<std::string> Sweep::values(std::uint32_t point) const {
  const auto indices = at(point);
  std::vector<std::string> texts;
  for (std::size_t p = 0; p < paths_.size(); ++p) texts.push_back(paths_[p].text(indices[p]));
  return texts;
}

std::vector<std::string> Sweep::column_names() const {
  std::vector<std::string> names;
  for (const SweptPath& swept : paths_) {
    names.push_back(swept.path());
    for (const Known& known : kKnown)
      if (known.quantity == swept.quantity()) names.push_back(swept.path() + known.suffix);
  }
  return names;
}

std::string Sweep::columns() const {
  std::string text;
  for (const std::string& name : column_names()) text += "," + csv_field(name);
  return text;
}

std::string Sweep::cells(std::uint32_t point) const {
  const auto indices = at(point);
  std::string text;
  for (std::size_t p = 0; p < paths_.size(); ++p) {
    text += "," + csv_field(paths_[p].text(indices[p]));
    if (paths_[p].quantity() == SweptQuantity::none) continue;
    const auto number = in_base_units(paths_[p].quantity(), paths_[p].value(indices[p]).scalar);
    text += "," + (number ? to_text(*number) : std::string());
  }
  return text;
}

std::vector<std::uint32_t> Sweep::checked() const {
  std::set<std::uint32_t> points;
  if (points_ <= kCheckedPoints)
    for (std::uint32_t point = 0; point < points_; ++point) points.insert(point);
  else
    for (std::size_t p = 0; p < paths_.size(); ++p)
      for (const std::size_t index : paths_[p].checked())
        points.insert(static_cast<std::uint32_t>(index * strides_[p]));
  return {points.begin(), points.end()};
}

void each_swept(Node& sweep, const std::function<void(const std::string& path, Node& values)>& visit) {
  const auto visit_all = [&](Node& paths) {
    for (auto& [path, values] : paths.entries) visit(path, values);
  };
  for (auto& [key, value] : sweep.entries) {
    if (key != kTogether) {
      visit(key, value);
      continue;
    }
    visit_all(value);
    for (Node& paths : value.items) visit_all(paths);
  }
}

LabelledValue read_labelled(const Field& item) {
  if (item.node().find("value") == nullptr) return {std::nullopt, item};
  Mapping m = item.mapping();
  const LabelledValue labelled{m.need("label"), m.need("value")};
  // Tables and figures show it in one line.
  if (const std::string label = labelled.label->text(); in_one_line(label) != label)
    labelled.label->fail(quote(label), "a label of one line, without control characters");
  m.finish();
  return labelled;
}

Node changed(const Node& root, const Sweep& sweep, std::uint32_t point,
             const std::vector<std::string>& keys) {
  Node part;
  part.kind = Node::Kind::mapping;
  part.file = root.file;
  part.line = root.line;
  for (const std::string& key : keys)
    if (const Node* value = root.find(key)) part.entries.push_back({key, *value});
  const auto indices = sweep.at(point);
  for (std::size_t p = 0; p < sweep.paths().size(); ++p) {
    const SweptPath& swept = sweep.paths()[p];
    if (std::find(keys.begin(), keys.end(), first_of(swept.path())) == keys.end()) continue;
    Node value = swept.value(indices[p]);
    Node& target = place(part, swept.path(), value.origin());
    if (const std::int32_t before = changed_in(target); before >= 0)
      throw InputError(origin_in_sweep(root, swept.path()), "sweep." + swept.path(),
                       "a path that replaces what " +
                           quote(sweep.paths()[static_cast<std::size_t>(before)].path()) + " varies",
                       "it in front of that, or one of them");
    target = std::move(value);
    target.changed_by = static_cast<std::int32_t>(p);
  }
  return part;
}

bool repeats_in_base_units(const std::string& before, const std::string& column) {
  return std::any_of(kKnown.begin(), kKnown.end(),
                     [&](const Known& known) { return column == before + known.suffix; });
}

std::string first_of(const std::string& path) { return path.substr(0, path.find('.')); }

}  // namespace gangway
