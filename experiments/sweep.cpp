#include "experiments/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace gangway {
namespace {

constexpr std::size_t kMostValues = 10'000;
constexpr std::size_t kMostPoints = 10'000;

// The numbers of a range in one unit, and how they are written.
struct Scale {
  double from, to, step;
  std::string (*text)(double);
};

std::vector<Node> expand(const Field& range, const Scale& scale, bool factor) {
  std::vector<Node> values;
  for (std::size_t i = 0;; ++i) {
    const auto n = static_cast<double>(i);
    const double x = factor ? scale.from * std::pow(scale.step, n) : scale.from + scale.step * n;
    if (x > scale.to * (1 + 1e-12)) break;
    if (i == kMostValues) range.fail(fmt::format("more than {} values", kMostValues), "a shorter range");
    values.push_back(Node::text(scale.text(x), range.node()));
  }
  return values;
}

std::vector<Node> read_range(const Field& field) {
  Mapping m = field.mapping();
  const Field from = m.need("from");
  const Field to = m.need("to");
  const auto step = m.maybe("step");
  const auto factor = m.maybe("factor");
  m.finish();
  if (step.has_value() == factor.has_value())
    field.fail(step ? "both step and factor" : "neither step nor factor", "one of them");
  Scale scale{};
  Duration time;
  ParseFailure why;
  const bool times = from.is_scalar() && parse(from.node().scalar, time, why);
  if (times) {
    scale = {static_cast<double>(time.ns), static_cast<double>(to.duration().ns), 0,
             [](double ns) { return to_text(Duration{std::llround(ns)}); }};
    if (step) scale.step = static_cast<double>(step->duration(Duration{1}).ns);
  } else {
    scale = {from.number(-1e15, 1e15), to.number(-1e15, 1e15), 0,
             [](double x) { return fmt::format("{}", std::round(x * 1e9) / 1e9); }};
    if (step) scale.step = step->number(1e-9, 1e15);
  }
  if (factor) scale.step = factor->number(1.0001, 1e9);
  if (factor && scale.from <= 0) from.fail("a start above 0 for a factor");
  if (scale.to < scale.from) to.fail("an end that is not below the start");
  return expand(field, scale, factor.has_value());
}

// Every combination, as one index per path; the last path varies fastest. One empty combination when nothing
// is swept.
std::vector<std::vector<std::size_t>> combinations(const std::vector<SweptPath>& sweep) {
  std::vector<std::vector<std::size_t>> all{{}};
  for (const SweptPath& swept : sweep) {
    std::vector<std::vector<std::size_t>> longer;
    for (const auto& prefix : all)
      for (std::size_t i = 0; i < swept.values.size(); ++i) {
        longer.push_back(prefix);
        longer.back().push_back(i);
      }
    all = std::move(longer);
  }
  return all;
}

}  // namespace

std::vector<SweptPath> read_sweep(const Field& field) {
  std::vector<SweptPath> sweep;
  std::size_t points = 1;
  if (!field.is_mapping()) field.fail("a mapping from paths to lists or ranges");
  for (const auto& [path, value] : field.node().entries) {
    const Field values(value, field.path() + "." + path);
    SweptPath swept{path, {}};
    if (values.is_mapping())
      swept.values = read_range(values);
    else
      for (const Field& item : values.items()) swept.values.push_back(item.node());
    points *= swept.values.size();
    if (swept.values.size() > kMostValues || points > kMostPoints)
      values.fail(fmt::format("{} values, {} points so far", swept.values.size(), points),
                  fmt::format("at most {} values and {} points", kMostValues, kMostPoints));
    sweep.push_back(std::move(swept));
  }
  return sweep;
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

void for_each_point(const Node& root, const std::vector<SweptPath>& sweep,
                    const std::function<void(const Node&, std::vector<std::string>)>& point) {
  for (const auto& combination : combinations(sweep)) {
    Node changed = root;
    std::vector<std::string> values;
    for (std::size_t i = 0; i < sweep.size(); ++i) {
      const Node& value = sweep[i].values[combination[i]];
      place(changed, sweep[i].path, value.origin()) = value;
      values.push_back(text_of(value));
    }
    point(changed, std::move(values));
  }
}

}  // namespace gangway
