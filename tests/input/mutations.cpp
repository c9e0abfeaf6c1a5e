#include "tests/input/mutations.hpp"

#include <algorithm>
#include <cctype>
#include <functional>
#include <sstream>

#include "tests/input/examples.hpp"

namespace gangway::testing {

const std::vector<std::string> kNumbers{"0",
                                        "-1",
                                        "1e300",
                                        "1e-30",
                                        "99999999999999999999",
                                        "9223372036854775807",
                                        ".nan",
                                        "NaN",
                                        ".inf",
                                        "-.inf",
                                        "0x7fffffff",
                                        "4294967296",
                                        "1e400",
                                        "1e18",
                                        "100000000",
                                        "1.5",
                                        "0.0000000001",
                                        "2147483647",
                                        "1_000",
                                        "1,000",
                                        "٣",
                                        "10001",
                                        "+1",
                                        "00"};
const std::vector<std::string> kUnits{" ns",  " us",  " ms",  " s",    " B", " kB",   " GB", " KiB",
                                      " MiB", " GiB", " TiB", " GB/s", " %", " msec", ""};
const std::vector<std::string> kWords{"all",
                                      "endless",
                                      "permuted",
                                      "listed",
                                      "order",
                                      "rr",
                                      "frs",
                                      "flag-copy",
                                      "ideal",
                                      "log-uniform",
                                      "frs-table1",
                                      "titan-x-pascal",
                                      "true",
                                      "workload",
                                      "device",
                                      "experiment",
                                      "..",
                                      "policies.rr.params.quantum",
                                      "workload.clients.0.kernels.0.time",
                                      "[]",
                                      "{}",
                                      "{name: rr}",
                                      "[[]]",
                                      "{from: 1, to: 3, step: 1}"};

namespace {

const std::vector<std::string> kMeta{"&a ",
                                     "*a",
                                     "!!str ",
                                     "!x ",
                                     "<<: ",
                                     "- ",
                                     "? ",
                                     ": ",
                                     "{",
                                     "}",
                                     "[",
                                     "]",
                                     "\"",
                                     "'",
                                     "|",
                                     ">",
                                     "%",
                                     "@",
                                     "`",
                                     "#",
                                     "\t",
                                     "\n",
                                     "\r\n",
                                     ",",
                                     "---\n",
                                     "...\n",
                                     "~",
                                     "null",
                                     "\\",
                                     std::string(1, '\0'),
                                     "\x1b",
                                     "\x7f",
                                     "\xff",
                                     "é",
                                     "\xef\xbb\xbf",
                                     "\xc2\x85",
                                     "%YAML 1.2\n---\n",
                                     "\xe2\x80\xa8"};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

struct Span {
  std::size_t begin, end;
};

// What a mutation can aim at: runs of characters that `inside` accepts.
std::vector<Span> runs(const std::string& text, const std::function<bool(std::size_t)>& inside) {
  std::vector<Span> found;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!inside(i)) continue;
    const std::size_t begin = i;
    while (i < text.size() && inside(i)) ++i;
    found.push_back({begin, i});
  }
  return found;
}

std::vector<Span> numbers_in(const std::string& text) {
  return runs(text, [&](std::size_t i) {
    return std::isdigit(static_cast<unsigned char>(text[i])) || text[i] == '.';
  });
}

std::vector<Span> words_in(const std::string& text) {
  return runs(text, [&](std::size_t i) {
    return std::isalnum(static_cast<unsigned char>(text[i])) || text[i] == '_' || text[i] == '-';
  });
}

std::vector<Span> keys_in(const std::string& text) {
  std::vector<Span> keys;
  for (const Span& word : words_in(text))
    if (text.compare(word.end, 1, ":") == 0 || text.compare(word.end, 2, "\":") == 0) keys.push_back(word);
  return keys;
}

// From behind ": " to the end of the value, roughly.
std::vector<Span> values_in(const std::string& text) {
  std::vector<Span> values;
  for (std::size_t at = text.find(": "); at != std::string::npos; at = text.find(": ", at + 1))
    values.push_back({at + 2, std::min(text.find_first_of(",}]\n", at + 2), text.size())});
  return values;
}

void replace(std::string& text, const Span& span, const std::string& with) {
  text.replace(span.begin, span.end - span.begin, with);
}

void replace_one(Dice& dice, std::string& text, const std::vector<Span>& spans, const std::string& with) {
  if (!spans.empty()) replace(text, dice.of(spans), with);
}

std::string part(const std::string& text, const Span& span) {
  return text.substr(span.begin, span.end - span.begin);
}

void flip_bytes(Dice& dice, std::string& text) {
  for (std::size_t n = 1 + dice.below(8); n > 0 && !text.empty(); --n)
    text[dice.below(text.size())] = static_cast<char>(dice.below(256));
}

void delete_bytes(Dice& dice, std::string& text) { text.erase(dice.below(text.size()), 1 + dice.below(40)); }

void truncate(Dice& dice, std::string& text) { text.resize(dice.below(text.size())); }

void delete_lines(Dice& dice, std::string& text) {
  auto lines = lines_of(text);
  for (std::size_t n = 1 + dice.below(3); n > 0 && !lines.empty(); --n)
    lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(dice.below(lines.size())));
  text = joined(lines);
}

void duplicate_lines(Dice& dice, std::string& text) {
  auto lines = lines_of(text);
  if (lines.empty()) return;
  const std::string line = dice.of(lines);
  lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(dice.below(lines.size())),
               dice.below(20) == 0 ? 500 : 1, line);
  text = joined(lines);
}

void indent_line(Dice& dice, std::string& text) {
  auto lines = lines_of(text);
  if (lines.empty()) return;
  std::string& line = lines[dice.below(lines.size())];
  if (dice.below(2) == 0)
    line.insert(0, dice.below(8), ' ');
  else
    line.erase(0, std::min(line.find_first_not_of(' '), dice.below(6)));
  text = joined(lines);
}

void splice(Dice& dice, std::string& text) {
  auto lines = lines_of(text);
  const auto other = lines_of(dice.of(right_inputs()));
  lines.resize(dice.below(lines.size() + 1));
  lines.insert(lines.end(), other.begin() + static_cast<std::ptrdiff_t>(dice.below(other.size())),
               other.end());
  text = joined(lines);
}

void swap_values(Dice& dice, std::string& text) {
  const auto values = values_in(text);
  if (values.size() < 2) return;
  const Span& from = dice.of(values);
  const std::string taken = part(text, from);
  replace(text, dice.of(values), taken);
}

void insert_meta(Dice& dice, std::string& text) {
  for (std::size_t n = 1 + dice.below(3); n > 0; --n)
    text.insert(dice.below(text.size() + 1), dice.of(kMeta));
}

void insert_nesting(Dice& dice, std::string& text) {
  const auto values = values_in(text);
  if (values.empty()) return;
  const std::size_t depth = dice.below(4) == 0 ? 1 + dice.below(3000) : 1 + dice.below(20);
  const Span& value = dice.of(values);
  replace(text, value, std::string(depth, '[') + part(text, value) + std::string(depth, ']'));
}

void huge_number(Dice& dice, std::string& text) {
  replace_one(dice, text, numbers_in(text), dice.of(kNumbers));
}

void other_word(Dice& dice, std::string& text) { replace_one(dice, text, values_in(text), dice.of(kWords)); }

void swap_unit(Dice& dice, std::string& text) {
  std::vector<Span> units;
  for (const std::string& unit : kUnits)
    for (std::size_t at = text.find(unit); !unit.empty() && at != std::string::npos;
         at = text.find(unit, at + 1))
      units.push_back({at, at + unit.size()});
  replace_one(dice, text, units, dice.of(kUnits));
}

void rename_key(Dice& dice, std::string& text) {
  const auto keys = keys_in(text);
  if (keys.empty()) return;
  const std::string& other = dice.of(right_inputs());
  const auto others = keys_in(other);
  std::string name = part(other, dice.of(others));
  if (dice.below(3) == 0) name[dice.below(name.size())] = static_cast<char>('a' + dice.below(26));
  replace(text, dice.of(keys), name);
}

void add_key(Dice& dice, std::string& text) {
  const auto keys = keys_in(text);
  if (keys.empty()) return;
  const Span& key = dice.of(keys);
  const std::size_t start = text.rfind('\n', key.begin) + 1;
  const std::size_t column = key.begin - start;
  const bool flow = text.find_first_of("{,", start) < key.begin;
  text.insert(key.begin, flow ? "another: 1, " : "another: 1\n" + std::string(column, ' '));
}

using Mutation = void (*)(Dice&, std::string&);
const std::vector<Mutation> kMutations{
    flip_bytes,  delete_bytes, truncate,    delete_lines, duplicate_lines, indent_line,
    splice,      swap_values,  insert_meta, insert_meta,  insert_nesting,  huge_number,
    huge_number, other_word,   swap_unit,   rename_key,   add_key};

}  // namespace

void mutate(Dice& dice, std::string& text) { dice.of(kMutations)(dice, text); }

std::string mutated(std::uint64_t number) {
  Dice dice(number);
  std::string text = dice.of(right_inputs());
  for (std::size_t n = 1 + dice.below(4); n > 0 && !text.empty(); --n) mutate(dice, text);
  return text;
}

}  // namespace gangway::testing
