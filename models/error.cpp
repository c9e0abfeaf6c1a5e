#include "models/error.hpp"

#include <fmt/format.h>

#include <string_view>

#include "models/utf8.hpp"

namespace gangway {
namespace {

std::string place(const Origin& origin) {
  return origin.line > 0 ? fmt::format("{}:{}", origin.file, origin.line) : origin.file;
}

// Keys and values may hold anything; a message is one line of proper characters.
std::string plain(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
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
          plain(fmt::format("{}:{} found {}, expected {}", place(origin),
                            key.empty() ? "" : fmt::format(" key '{}':", key), found, expected))),
      origin_{plain(origin.file), origin.line},
      key_(plain(key)),
      found_(plain(found)),
      expected_(plain(expected)) {}

std::string quote(const std::string& text) {
  constexpr std::size_t kLongest = 60;
  return "'" + text.substr(0, kLongest) + (text.size() > kLongest ? "...'" : "'");
}

}  // namespace gangway
