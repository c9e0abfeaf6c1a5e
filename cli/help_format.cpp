#include "cli/help_format.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <sstream>

namespace gangway {
namespace {

std::string readable_name(const std::string& name) {
  if (name == "UINT" || name == "INT") return "N";
  if (name == "FLOAT") return "NUMBER";
  if (name == "TEXT") return "VALUE";
  return name;
}

// What stands between the characters, or nothing.
std::string between(const std::string& text, char open, char close) {
  const std::size_t begin = text.find(open), end = text.find(close);
  return begin == std::string::npos || end == std::string::npos || end < begin
             ? ""
             : text.substr(begin + 1, end - begin - 1);
}

// Lines of at most 80 characters, broken between words.
std::string wrapped(const std::string& text) {
  constexpr std::size_t kWidest = 80;
  std::string out;
  std::size_t column = 0;
  std::istringstream words(text);
  for (std::string word; words >> word; column += word.size()) {
    if (column > 0) {
      const bool fits = column + 1 + word.size() <= kWidest;
      out += fits ? ' ' : '\n';
      column = fits ? column + 1 : 0;
    }
    out += word;
  }
  return out;
}

class HelpFormat : public CLI::Formatter {
 public:
  std::string make_option_desc(const CLI::Option* option) const override {
    return wrapped(option->get_description());
  }

  std::string make_option_opts(const CLI::Option* option) const override {
    std::string out;
    const std::string type = readable_type(option->get_type_name());
    if (option->get_type_size() != 0) {
      if (!type.empty()) out += " " + type;
      if (option->get_items_expected_max() > 1) out += " ...";
      if (option->get_required()) out += " (required)";
    }
    for (const CLI::Option* other : option->get_excludes())
      out += fmt::format(" (not with {})", other->get_name());
    return out;
  }
};

}  // namespace

std::shared_ptr<CLI::Formatter> help_format() { return std::make_shared<HelpFormat>(); }

std::string readable_type(const std::string& type) {
  if (type.starts_with('{')) return type.substr(0, type.find('}') + 1);
  const std::size_t colon = type.find(':');
  const std::string name = readable_name(type.substr(0, colon));
  if (colon == std::string::npos) return name;
  const std::string range = between(type, '[', ']');
  if (const std::size_t dash = range.find(" - "); dash != std::string::npos)
    return fmt::format("{} ({} to {})", name, range.substr(0, dash), range.substr(dash + 3));
  const std::string names = between(type, '{', '}');
  if (names.empty() || names.find("->") != std::string::npos) return name;
  return fmt::format("{{{}}}{}", names, name == "VALUE" ? "" : " or " + name);
}

}  // namespace gangway
