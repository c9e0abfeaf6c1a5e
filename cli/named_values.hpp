// What options like --set NAME=VALUE give.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "models/error.hpp"

namespace gangway {

// Names and values, in the order given. `name`, `a_name`: what a name is here, such as "path" and "a path".
// InputError for text without a name or "=", and for a name given twice.
inline std::vector<std::pair<std::string, std::string>> named_values(const char* option,
                                                                     const std::vector<std::string>& given,
                                                                     const std::string& name,
                                                                     const std::string& a_name) {
  std::vector<std::pair<std::string, std::string>> all;
  for (const std::string& text : given) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      throw InputError({option, 0}, text, "no " + name + "=value", a_name + ", =, and a value");
    const std::string last = text.substr(0, equals);
    for (const auto& [earlier, value] : all)
      if (earlier == last) throw InputError({option, 0}, last, "two values", "one");
    all.emplace_back(last, text.substr(equals + 1));
  }
  return all;
}

}  // namespace gangway
