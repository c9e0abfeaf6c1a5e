#include "models/error.hpp"

#include <fmt/format.h>

namespace gangway {
namespace {

std::string place(const Origin& origin) {
  return origin.line > 0 ? fmt::format("{}:{}", origin.file, origin.line) : origin.file;
}

// Keys and values may hold anything; a message is one line of plain characters.
std::string plain(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return text;
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
