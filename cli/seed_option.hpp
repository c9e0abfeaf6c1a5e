// The check of an option that takes a seed.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>

namespace gangway {

// What is wrong with the text; empty: nothing.
inline std::string seed_fault(const std::string& text) {
  std::int64_t seed = -1;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, seed);
  const bool padded = text.size() > 1 && text.front() == '0';  // would be read as octal
  if (error == std::errc() && rest == end && seed >= 0 && !padded) return "";
  return "found '" + text + "', expected a whole number from 0 to 9223372036854775807";
}

}  // namespace gangway
