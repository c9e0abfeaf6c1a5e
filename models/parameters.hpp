// Declared parameters of policies, mechanisms and generators, with defaults and ranges. Reading from YAML is
// strict: a misspelt name is an error.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "models/input/field.hpp"
#include "models/quantity.hpp"

namespace gangway {

struct Parameter {
  struct Time {
    Duration standard, least, most;
  };
  struct Number {
    double standard, least, most;
  };
  struct Integer {
    std::int64_t standard, least, most;
  };
  struct Choice {
    std::vector<std::string> names;  // first: the default
  };

  // What a parameter needs to have an effect: one of these values of a choice.
  struct Only {
    std::string choice;
    std::vector<std::string> values;
  };

  std::string name;
  std::string summary;
  std::variant<Time, Number, Integer, Choice> form;
  std::optional<Only> only = std::nullopt;
  bool of_kernels = false;  // has an effect only where kernels, not whole jobs, are granted

  std::string default_text() const;
  std::string range_text() const;
};

// The values of all declared parameters. Reading an undeclared one, or one of another type, is a programming
// error (std::out_of_range, std::bad_variant_access).
class ParameterValues {
 public:
  // Defaults, overridden by the mapping `given`, if any. Throws InputError for unknown names and values out
  // of range.
  ParameterValues(const std::vector<Parameter>& declared, const std::optional<Field>& given);
  // Overridden by keys of a mapping that has other keys, too. Throws InputError for values out of range.
  ParameterValues(const std::vector<Parameter>& declared, Mapping& given);

  Duration duration(const std::string& name) const { return std::get<Duration>(values_.at(name)); }
  double number(const std::string& name) const { return std::get<double>(values_.at(name)); }
  std::int64_t integer(const std::string& name) const { return std::get<std::int64_t>(values_.at(name)); }
  const std::string& choice(const std::string& name) const { return std::get<std::string>(values_.at(name)); }

  // As in files: {quantum: 2 ms, order: stale}.
  std::string text() const;
  std::string text(const std::string& name) const;  // of one parameter

  bool is_given(const Parameter& parameter) const { return given_.count(parameter.name) > 0; }
  bool acts(const Parameter& parameter) const;  // whether the other values let it have an effect
  // Whether the value equals the default, given or not.
  bool is_default(const Parameter& parameter) const;
  // Throws InputError with the value's position, key, the value, and what was expected.
  [[noreturn]] void refuse(const std::string& name, const std::string& expected) const;
  // One that does not act, or only where kernels are granted.
  [[noreturn]] void refuse_idle(const Parameter& parameter) const;

 private:
  void take(const std::vector<Parameter>& declared, Mapping& given);

  struct Place {
    Origin origin;
    std::string path;
  };
  std::map<std::string, std::variant<Duration, double, std::int64_t, std::string>> values_;
  std::map<std::string, Place> given_;  // values given by a file
};

}  // namespace gangway
