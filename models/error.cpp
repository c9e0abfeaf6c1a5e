#include "models/error.hpp"

#include <fmt/format.h>

namespace gangway {
namespace {

std::string place(const Origin& origin) {
  return origin.line > 0 ? fmt::format("{}:{}", origin.file, origin.line) : origin.file;
}

}  // namespace

InputError::InputError(const Origin& origin, const std::string& key, const std::string& found,
                       const std::string& expected)
    : std::runtime_error(
          fmt::format("{}: key '{}': found {}, expected {}", place(origin), key, found, expected)) {}

std::string quote(const std::string& text) {
  constexpr std::size_t kLongest = 60;
  std::string out = "'";
  for (char c : text.substr(0, kLongest)) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  if (text.size() > kLongest) out += "...";
  return out + "'";
}

}  // namespace gangway
