// Lines for people. They are lost where standard error cannot be written; nothing else is.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <utility>

namespace gangway {

template <typename... Values>
void to_stderr(fmt::format_string<Values...> format, Values&&... values) {
  std::fputs(fmt::format(format, std::forward<Values>(values)...).c_str(), stderr);
}

}  // namespace gangway
