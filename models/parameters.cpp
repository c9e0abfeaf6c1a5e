#include "models/parameters.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace gangway {
namespace {

template <typename... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <typename... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

using Value = std::variant<Duration, double, std::int64_t, std::string>;

Value standard(const Parameter& parameter) {
  return std::visit(Overloaded{[](const Parameter::Choice& c) -> Value { return c.names.front(); },
                               [](const auto& f) -> Value { return f.standard; }},
                    parameter.form);
}

Value read(const Parameter& parameter, const Field& field) {
  return std::visit(
      Overloaded{[&](const Parameter::Time& t) -> Value { return field.duration(t.least, t.most); },
                 [&](const Parameter::Number& n) -> Value { return field.number(n.least, n.most); },
                 [&](const Parameter::Integer& i) -> Value { return field.integer(i.least, i.most); },
                 [&](const Parameter::Choice& c) -> Value { return field.one_of(c.names); }},
      parameter.form);
}

}  // namespace

std::string Parameter::default_text() const {
  return std::visit(Overloaded{[](const Time& t) { return to_text(t.standard); },
                               [](const Number& n) { return to_text(n.standard); },
                               [](const Integer& i) { return fmt::format("{}", i.standard); },
                               [](const Choice& c) { return c.names.front(); }},
                    form);
}

std::string Parameter::range_text() const {
  return std::visit(
      Overloaded{[](const Time& t) { return fmt::format("{} to {}", to_text(t.least), to_text(t.most)); },
                 [](const Choice& c) { return fmt::format("{}", fmt::join(c.names, " | ")); },
                 [](const auto& f) { return fmt::format("{} to {}", f.least, f.most); }},
      form);
}

ParameterValues::ParameterValues(const std::vector<Parameter>& declared, const std::optional<Field>& given) {
  for (const Parameter& parameter : declared) values_[parameter.name] = standard(parameter);
  if (!given) return;
  Mapping mapping = given->mapping();
  take(declared, mapping);
  mapping.finish();
}

ParameterValues::ParameterValues(const std::vector<Parameter>& declared, Mapping& given)
    : ParameterValues(declared, std::nullopt) {
  take(declared, given);
}

void ParameterValues::take(const std::vector<Parameter>& declared, Mapping& given) {
  for (const Parameter& parameter : declared)
    if (auto field = given.maybe(parameter.name)) {
      values_[parameter.name] = read(parameter, *field);
      given_[parameter.name] = {field->node().origin(), field->path()};
    }
}

std::string ParameterValues::text() const {
  std::string out;
  for (const auto& [name, value] : values_)
    out += fmt::format("{}{}: {}", out.empty() ? "" : ", ", name, text(name));
  return "{" + out + "}";
}

std::string ParameterValues::text(const std::string& name) const {
  return std::visit(
      Overloaded{[](Duration d) { return to_text(d); }, [](double x) { return to_text(x); },
                 [](std::int64_t i) { return fmt::format("{}", i); }, [](const std::string& s) { return s; }},
      values_.at(name));
}

bool ParameterValues::acts(const Parameter& parameter) const {
  if (!parameter.only) return true;
  const std::vector<std::string>& values = parameter.only->values;
  return std::find(values.begin(), values.end(), choice(parameter.only->choice)) != values.end();
}

bool ParameterValues::is_default(const Parameter& parameter) const {
  return values_.at(parameter.name) == standard(parameter);
}

void ParameterValues::refuse(const std::string& name, const std::string& expected) const {
  const auto place = given_.find(name);
  if (place == given_.end()) throw InputError({"", 0}, name, quote(text(name)), expected);
  throw InputError(place->second.origin, place->second.path, quote(text(name)), expected);
}

void ParameterValues::refuse_idle(const Parameter& parameter) const {
  if (acts(parameter)) refuse(parameter.name, "nothing, as it acts only with grant: kernel");
  refuse(parameter.name, fmt::format("nothing, as it acts only with {}: {}", parameter.only->choice,
                                     fmt::join(parameter.only->values, " or ")));
}

}  // namespace gangway
