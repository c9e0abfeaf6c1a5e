#include "hw/transform/images/ptx_text.hpp"

#include <algorithm>

namespace gangway::transform {
namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
         c == '%' || c == '.';
}

// Words, without comments and quoted texts.
class Words {
 public:
  explicit Words(std::string_view text) : text_(text) {}

  // The next word, or the next character that belongs to none; empty at the end.
  std::string_view next() {
    skip();
    if (at_ == text_.size()) return {};
    const std::size_t begin = at_;
    if (!is_word(text_[at_])) return text_.substr(at_++, 1);
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  std::uint32_t line() const { return line_; }  // of the word that next() returned

 private:
  void skip() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v')
        pass(at_ + 1);
      else if (text_.substr(at_, 2) == "//")
        pass(text_.find('\n', at_));
      else if (text_.substr(at_, 2) == "/*")
        pass(behind("*/", at_ + 2));
      else if (c == '"')
        pass(behind("\"", at_ + 1));
      else
        return;
    }
  }

  std::size_t behind(std::string_view mark, std::size_t from) const {
    const std::size_t found = text_.find(mark, from);
    return found == std::string_view::npos ? found : found + mark.size();
  }

  void pass(std::size_t to) {
    to = std::min(to, text_.size());
    line_ += static_cast<std::uint32_t>(std::count(text_.begin() + at_, text_.begin() + to, '\n'));
    at_ = to;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
};

}  // namespace

std::optional<PtxFacts> read_ptx(std::string_view text) {
  Words words(text);
  if (words.next() != ".version") return std::nullopt;
  PtxFacts out;
  out.version = std::string(words.next());
  if (words.next() != ".target") return std::nullopt;
  const auto target = read_architecture(words.next());
  if (!target) return std::nullopt;
  out.target = *target;
  for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
    if (word != ".entry") continue;
    const std::string_view name = words.next();
    if (!name.empty() && is_word(name.front())) out.entries.push_back({std::string(name), words.line()});
  }
  return out;
}

}  // namespace gangway::transform
