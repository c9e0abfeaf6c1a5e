#include "tests/ptx/interpreter/tokens.hpp"

#include <fmt/format.h>

#include <bit>
#include <cctype>
#include <cstdlib>

#include "tests/ptx/interpreter/interpreter.hpp"

namespace gangway::testing::ptx {
namespace {

bool starts_word(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%';
}
bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$'; }
bool digit(char c) { return c >= '0' && c <= '9'; }

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::vector<Token> all() {
    std::vector<Token> tokens;
    for (;;) {
      const bool joined = !skip();
      Token token = next();
      token.joined = joined;
      tokens.push_back(token);
      if (token.kind == Token::Kind::end) return tokens;
    }
  }

 private:
  char at(std::size_t i) const { return i < text_.size() ? text_[i] : '\0'; }

  // Whether there was anything to skip.
  bool skip() {
    const std::size_t before = here_;
    while (here_ < text_.size()) {
      const char c = text_[here_];
      if (c == '\n') {
        ++line_;
        ++here_;
      } else if (std::isspace(static_cast<unsigned char>(c)) || c == '\0') {
        ++here_;
      } else if (c == '/' && at(here_ + 1) == '/') {
        while (here_ < text_.size() && text_[here_] != '\n') ++here_;
      } else if (c == '/' && at(here_ + 1) == '*') {
        const std::uint32_t first = line_;
        for (here_ += 2; !(at(here_) == '*' && at(here_ + 1) == '/'); ++here_) {
          if (here_ >= text_.size()) throw Error(first, "a comment without an end");
          if (text_[here_] == '\n') ++line_;
        }
        here_ += 2;
      } else {
        break;
      }
    }
    return here_ != before;
  }

  Token made(Token::Kind kind, std::size_t first) const {
    Token token;
    token.kind = kind;
    token.text = text_.substr(first, here_ - first);
    token.line = line_;
    return token;
  }

  Token next() {
    const std::size_t first = here_;
    if (here_ >= text_.size()) return made(Token::Kind::end, first);
    const char c = text_[here_];
    if (starts_word(c)) {
      ++here_;
      while (in_word(at(here_))) ++here_;
      return made(Token::Kind::word, first);
    }
    if (c == '.' && (in_word(at(here_ + 1)))) {
      ++here_;
      while (in_word(at(here_)) || (at(here_) == ':' && at(here_ + 1) == ':') ||
             (at(here_) == ':' && at(here_ - 1) == ':'))
        ++here_;
      return made(Token::Kind::dotted, first);
    }
    if (digit(c)) return number();
    if (c == '"') {
      for (++here_; at(here_) != '"'; ++here_)
        if (here_ >= text_.size() || text_[here_] == '\n') throw Error(line_, "a string without an end");
      ++here_;
      return made(Token::Kind::text, first);
    }
    if (std::string_view("{}()[],;:@!|+-*/<>=&^~?").find(c) == std::string_view::npos)
      throw Error(line_, fmt::format("unexpected character {:#x}", static_cast<unsigned char>(c)));
    ++here_;
    return made(Token::Kind::mark, first);
  }

  Token number() {
    const std::size_t first = here_;
    const char second = at(here_ + 1);
    if (text_[here_] == '0' && (second == 'f' || second == 'F' || second == 'd' || second == 'D')) {
      const std::size_t digits = second == 'f' || second == 'F' ? 8 : 16;
      here_ += 2;
      const std::uint64_t bits = based(16);
      Token token = made(Token::Kind::real, first);
      token.bits = bits;
      if (here_ - first != digits + 2) throw Error(line_, "a real number with a wrong number of digits");
      token.single = digits == 8;
      return token;
    }
    Token token = made(Token::Kind::integer, first);
    if (text_[here_] == '0' && (second == 'x' || second == 'X')) {
      here_ += 2;
      token.bits = based(16);
    } else if (text_[here_] == '0' && (second == 'b' || second == 'B')) {
      here_ += 2;
      token.bits = based(2);
    } else {
      std::size_t end = here_;
      while (digit(at(end))) ++end;
      if (at(end) == '.' || at(end) == 'e' || at(end) == 'E') {
        const std::string copy(text_.substr(here_, 64));
        char* rest = nullptr;
        token.bits = std::bit_cast<std::uint64_t>(std::strtod(copy.c_str(), &rest));
        token.kind = Token::Kind::real;
        here_ += static_cast<std::size_t>(rest - copy.c_str());
        token.text = text_.substr(first, here_ - first);
        return token;
      }
      token.bits = based(text_[here_] == '0' ? 8 : 10);
    }
    if (at(here_) == 'U' || at(here_) == 'u') ++here_;
    if (in_word(at(here_))) throw Error(line_, "a number that goes on as a word");
    token.text = text_.substr(first, here_ - first);
    return token;
  }

  std::uint64_t based(std::uint32_t base) {
    std::uint64_t value = 0;
    const std::size_t first = here_;
    for (;; ++here_) {
      const char c = at(here_);
      std::uint32_t figure = 99;
      if (digit(c)) figure = static_cast<std::uint32_t>(c - '0');
      if (c >= 'a' && c <= 'f') figure = static_cast<std::uint32_t>(c - 'a' + 10);
      if (c >= 'A' && c <= 'F') figure = static_cast<std::uint32_t>(c - 'A' + 10);
      if (figure >= base) break;
      value = value * base + figure;
    }
    if (here_ == first) throw Error(line_, "a number without digits");
    return value;
  }

  std::string_view text_;
  std::size_t here_ = 0;
  std::uint32_t line_ = 1;
};

}  // namespace

std::vector<Token> tokens_of(std::string_view text) { return Scanner(text).all(); }

}  // namespace gangway::testing::ptx
