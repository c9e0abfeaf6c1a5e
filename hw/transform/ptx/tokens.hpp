// PTX tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace gangway::transform {

// A syntax error: "line 7: found '@', expected an instruction".
struct PtxError : std::runtime_error {
  PtxError(std::uint32_t line, std::string_view found, std::string_view expected);
};

enum class TokenKind {
  word,         // ld.global.v2.f32, .reg, %r1, %ctaid.x, $L__BB0_2, foo
  number,       // 1, 0x10, 0f3F800000, 8.7
  string,       // "nounroll", with its quotes
  punctuation,  // one character
  end,
};

// A piece of the text, which must outlive it.
struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;
  std::uint32_t offset = 0;  // bytes from the start of the text
  std::uint32_t line = 0;    // from 1

  bool is(std::string_view what) const { return text == what; }
  std::uint32_t end() const { return offset + static_cast<std::uint32_t>(text.size()); }
};

// The value of an integer literal (12, 0x0c, 014, 0b1100, 12U). None for other tokens.
std::optional<std::int64_t> integer_of(const Token& token);

// All tokens, without comments; `end` is last. A NUL ends the text. Throws PtxError.
std::vector<Token> tokens_of(std::string_view text);

}  // namespace gangway::transform
