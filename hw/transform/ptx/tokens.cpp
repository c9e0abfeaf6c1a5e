#include "hw/transform/ptx/tokens.hpp"

#include <fmt/format.h>

#include <charconv>
#include <limits>

namespace gangway::transform {
namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }
bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool begins_word(char c) { return letter(c) || c == '_' || c == '$' || c == '%'; }
bool in_word(char c) { return letter(c) || digit(c) || c == '_' || c == '$' || c == '%' || c == '.'; }

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::vector<Token> all() {
    std::vector<Token> tokens;
    tokens.reserve(text_.size() / 5);
    for (skip(); at_ < text_.size(); skip()) tokens.push_back(next());
    tokens.push_back(
        {TokenKind::end, text_.substr(text_.size()), static_cast<std::uint32_t>(text_.size()), line_});
    return tokens;
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  // White space, comments, and lines that a preprocessor left.
  void skip() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        ++line_;
        ++at_;
      } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
        ++at_;
      } else if (c == '#' || (c == '/' && peek(1) == '/')) {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (c == '/' && peek(1) == '*') {
        skip_comment();
      } else {
        return;
      }
    }
  }

  void skip_comment() {
    const std::uint32_t began = line_;
    for (at_ += 2; !(peek() == '*' && peek(1) == '/'); ++at_) {
      if (at_ >= text_.size()) throw PtxError(began, "/*", "a comment that ends");
      if (text_[at_] == '\n') ++line_;
    }
    at_ += 2;
  }

  Token next() {
    const std::size_t from = at_;
    const std::uint32_t line = line_;
    const TokenKind kind = scan();
    return {kind, text_.substr(from, at_ - from), static_cast<std::uint32_t>(from), line};
  }

  TokenKind scan() {
    const char c = text_[at_];
    if (begins_word(c) || (c == '.' && letter(peek(1)))) return scan_word();
    if (digit(c) || (c == '.' && digit(peek(1)))) return scan_number();
    if (c == '"') return scan_string();
    if (c < ' ' || c > '~')
      throw PtxError(line_, fmt::format("byte {}", static_cast<unsigned char>(c)), "PTX");
    ++at_;
    return TokenKind::punctuation;
  }

  TokenKind scan_word() {
    ++at_;
    for (;;) {
      if (in_word(peek())) {
        ++at_;
      } else if (peek() == ':' && peek(1) == ':' && (letter(peek(2)) || digit(peek(2)))) {
        at_ += 2;  // .shared::cta, .cta_group::1
      } else {
        return TokenKind::word;
      }
    }
  }

  TokenKind scan_number() {
    const bool hexadecimal = peek() == '0' && (peek(1) == 'x' || peek(1) == 'X' || peek(1) == 'f' ||
                                               peek(1) == 'F' || peek(1) == 'd' || peek(1) == 'D');
    while (in_word(peek()) || (!hexadecimal && (peek() == '+' || peek() == '-') &&
                               (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E')))
      ++at_;
    return TokenKind::number;
  }

  TokenKind scan_string() {
    for (++at_; peek() != '"'; ++at_) {
      if (at_ >= text_.size() || text_[at_] == '\n') throw PtxError(line_, "\"", "a string that ends");
      if (text_[at_] == '\\') ++at_;
    }
    ++at_;
    return TokenKind::string;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
};

}  // namespace

PtxError::PtxError(std::uint32_t line, std::string_view found, std::string_view expected)
    : std::runtime_error(
          fmt::format("line {}: found '{}', expected {}", line, found.substr(0, 60), expected)) {}

std::optional<std::int64_t> integer_of(const Token& token) {
  std::string_view text = token.text;
  while (!text.empty() && (text.back() == 'U' || text.back() == 'u')) text.remove_suffix(1);
  int base = 10;
  if (text.size() > 1 && text[0] == '0') {
    base = text[1] == 'x' || text[1] == 'X' ? 16 : text[1] == 'b' || text[1] == 'B' ? 2 : 8;
    text.remove_prefix(base == 8 ? 1 : 2);
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<Token> tokens_of(std::string_view text) {
  if (text.size() >= std::numeric_limits<std::uint32_t>::max()) throw PtxError(1, "4 GiB", "less");
  return Scanner(text.substr(0, text.find('\0'))).all();
}

}  // namespace gangway::transform
