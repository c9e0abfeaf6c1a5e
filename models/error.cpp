#include "models/error.hpp"

#include <fmt/format.h>

#include <string_view>

namespace gangway {
namespace {

std::string place(const Origin& origin) {
  return origin.line > 0 ? fmt::format("{}:{}", origin.file, origin.line) : origin.file;
}

// How many bytes the UTF-8 character at the front has; 0 when it is none.
std::size_t character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t length = first < 0x80                    ? 1
                             : first >= 0xc2 && first < 0xe0 ? 2
                             : first < 0xf0                  ? 3
                             : first < 0xf5                  ? 4
                                                             : 0;
  if ((first >= 0x80 && first < 0xc2) || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
  const auto second = length > 1 ? static_cast<unsigned char>(text[1]) : 0xff;
  const bool too_long = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool no_character = (first == 0xed && second > 0x9f) || (first == 0xf4 && second > 0x8f);
  return too_long || no_character ? 0 : length;
}

// Keys and values may hold anything; a message is one line of proper characters.
std::string plain(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = character(text);
    const auto first = static_cast<unsigned char>(text[0]);
    const bool control =
        first < 0x20 || first == 0x7f || (first == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0);
    if (length == 0 || control)
      out += '?';
    else
      out += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

}  // namespace

InputError::InputError(const Origin& origin, const std::string& key, const std::string& found,
                       const std::string& expected)
    : std::runtime_error(
          plain(fmt::format("{}: key '{}': found {}, expected {}", place(origin), key, found, expected))) {}

std::string quote(const std::string& text) {
  constexpr std::size_t kLongest = 60;
  return "'" + text.substr(0, kLongest) + (text.size() > kLongest ? "...'" : "'");
}

}  // namespace gangway
