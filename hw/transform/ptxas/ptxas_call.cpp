#include "hw/transform/ptxas/ptxas_call.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "hw/transform/images/ptx_text.hpp"

namespace gangway::transform {
namespace {

// Options whose value may be the next word. Of one that is missing here the value is no PTX file.
constexpr std::array kValued{"-o", "--output-file", "-arch", "--gpu-name",        "-m",    "--machine",
                             "-e", "--entry",       "-ias",  "--input-as-string", "-optf", "--options-file",
                             "-O", "--opt-level"};
constexpr int kMostNested = 8;

bool is_one_of(const std::string& word, std::initializer_list<const char*> names) {
  const std::string name = word.substr(0, word.find('='));
  return std::any_of(names.begin(), names.end(), [&](const char* each) { return name == each; });
}

// Words separated by blanks; quotes and backslashes as a shell has them.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> out;
  std::optional<std::string> word;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0 && c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
      word = word.value_or("");
    } else if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      word = word.value_or("") + text[++i];
    } else if (quote == 0 && (c == ' ' || c == '\t' || c == '\n' || c == '\r')) {
      if (word) out.push_back(*word);
      word.reset();
    } else {
      word = word.value_or("") + c;
    }
  }
  if (word) out.push_back(*word);
  return out;
}

std::optional<std::string> text_of(const std::string& file) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(file, none)) return std::nullopt;
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return std::move(text).str();
}

void expand(const std::vector<std::string>& from, int depth, std::vector<std::string>& out) {
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::string& word = from[i];
    std::string files;
    std::size_t last = i;
    if (word.size() > 1 && word.front() == '@') {
      files = word.substr(1);
    } else if (is_one_of(word, {"-optf", "--options-file"})) {
      const std::size_t equals = word.find('=');
      if (equals != std::string::npos)
        files = word.substr(equals + 1);
      else if (i + 1 < from.size())
        files = from[++last];
    }
    std::string text;
    std::istringstream names(files);
    bool readable = !files.empty() && depth < kMostNested;
    for (std::string name; std::getline(names, name, ',');) {
      const auto part = text_of(name);
      readable = readable && part;
      text += part.value_or("") + "\n";
    }
    if (readable) {
      expand(words_of(text), depth + 1, out);
      i = last;
    } else {
      out.push_back(word);
    }
  }
}

}  // namespace

PtxasCall read_ptxas_call(const std::vector<std::string>& arguments) {
  PtxasCall call;
  expand(arguments, 0, call.arguments);
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    const std::string& word = call.arguments[i];
    if (is_one_of(word, {"-e", "--entry", "-ias", "--input-as-string"})) call.whole = false;
    if (is_one_of(word, {"-c", "--compile-only"})) call.relocatable = true;
    const bool value =
        i > 0 && std::find(kValued.begin(), kValued.end(), call.arguments[i - 1]) != kValued.end();
    if (word.empty() || word.front() == '-' || value) continue;
    const auto text = text_of(word);
    if (text && read_ptx(*text)) call.inputs.push_back(i);
  }
  call.relocatable = call.relocatable || call.inputs.size() > 1;
  return call;
}

}  // namespace gangway::transform
