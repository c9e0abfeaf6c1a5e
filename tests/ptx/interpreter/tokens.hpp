// The words of a PTX text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gangway::testing::ptx {

struct Token {
  enum class Kind { word, dotted, integer, real, text, mark, end };
  Kind kind = Kind::end;
  std::string_view text;   // a dotted word has its dot: ".global"
  std::uint32_t line = 0;  // from 1
  std::uint64_t bits = 0;  // of an integer, or of a real as a double
  bool single = false;     // a real written as 0f...: its bits are those of a float
  bool joined = false;     // follows the token before it without a space

  bool is(std::string_view other) const { return text == other && kind != Kind::text; }
};

// The last one is an end. Throws Error.
std::vector<Token> tokens_of(std::string_view text);

}  // namespace gangway::testing::ptx
