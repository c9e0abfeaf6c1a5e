// Whatever stands in a file, reading it either succeeds or throws an InputError of one line, in reasonable
// time. 5,000 mutated inputs, 100,000 with the environment variable GANGWAY_LONG. An input that fails is kept
// in the folder for temporary files; one that crashes is the last file there.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <sstream>

#include "experiments/experiment.hpp"
#include "models/error.hpp"
#include "models/input/document.hpp"
#include "tests/catch.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;

constexpr double kMostSeconds = 5;

std::string read_text(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// The YAML examples on a page.
std::vector<std::string> code_blocks(const std::string& page) {
  const std::string opening = "```yaml\n";
  std::vector<std::string> blocks;
  for (std::size_t at = page.find(opening); at != std::string::npos; at = page.find(opening, at)) {
    at += opening.size();
    blocks.push_back(page.substr(at, page.find("```", at) - at));
  }
  return blocks;
}

std::vector<std::string> readme_examples() {
  return code_blocks(read_text(fs::path(GANGWAY_SOURCE_DIR) / "experiments/README.md"));
}

// The page's experiment with its workload and device written out: nearly every key there is.
std::string whole_example() {
  const auto blocks = readme_examples();
  REQUIRE(blocks.size() == 3);
  Node experiment = parse_yaml(blocks[2], "README.md");
  experiment.put("workload", parse_yaml(blocks[0], "README.md"));
  experiment.put("device", parse_yaml(blocks[1], "README.md"));
  return experiment.json().dump(1);
}

std::vector<std::string> make_seeds() {
  const fs::path root(GANGWAY_SOURCE_DIR);
  std::vector<fs::path> files;
  for (const char* folder : {"experiments", "workloads", "models/devices"})
    for (const auto& entry : fs::recursive_directory_iterator(root / folder))
      if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<std::string> texts = readme_examples();
  for (const fs::path& file : files) texts.push_back(read_text(file));
  texts.push_back(whole_example());
  texts.push_back(
      "kind: workload\nversion: 1\nname: drawn\n"
      "generator: {name: log-uniform, params: {clients: 4, kernels: 2, longest: 5 ms, gap: 0 ms}}\n");
  return texts;
}

const std::vector<std::string>& seeds() {
  static const std::vector<std::string> texts = make_seeds();
  return texts;
}

// A file that is removed at the end, unless the program dies before.
class Scratch {
 public:
  Scratch() : path_(fs::temp_directory_path() / fmt::format("gangway-input-{}.yaml", ::getpid())) {}
  ~Scratch() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  std::string write(const std::string& text) const {
    fs::remove(path_);  // some file systems write a file that is truncated to disk at once
    std::ofstream(path_, std::ios::binary) << text;
    return path_.string();
  }

 private:
  fs::path path_;
};

bool is_utf8(const std::string& text) {
  try {
    return !nlohmann::json(text).dump().empty();
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

bool is_one_line(const std::string& text) {
  return is_utf8(text) &&
         std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

// What is wrong with how something was read; empty when it was accepted or properly refused.
std::string complaint(const std::function<void()>& read) {
  const auto began = std::chrono::steady_clock::now();
  std::string wrong;
  try {
    read();
  } catch (const InputError& error) {
    const std::string what = error.what();
    if (!is_one_line(what) || what.find("found ") == std::string::npos)
      wrong = "no message of one line: " + what;
  } catch (const std::exception& error) {
    wrong = std::string("no InputError: ") + error.what();
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  if (wrong.empty() && seconds > kMostSeconds) wrong = fmt::format("{:.1f} s", seconds);
  return wrong;
}

std::string complaint(const Scratch& scratch, const std::string& text) {
  const std::string file = scratch.write(text);
  return complaint([&] { check_file(file); });
}

// Gathers the inputs that fail, so that one run shows them all.
class Complaints {
 public:
  void add(const std::string& wrong, const std::string& text, const std::string& which) {
    if (wrong.empty() || ++count_ > kMostKept) return;
    const fs::path kept = fs::temp_directory_path() / fmt::format("gangway-input-failed-{}.yaml", count_);
    std::ofstream(kept, std::ios::binary) << text;
    shown_ += fmt::format("{} ({}): {}\n", which, kept.string(), wrong);
  }
  void check() const {
    INFO(shown_);
    CHECK(count_ == 0);
  }

 private:
  static constexpr int kMostKept = 20;
  int count_ = 0;
  std::string shown_;
};

// --- Mutations

// Numbers that come out the same on every platform.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  std::size_t below(std::size_t n) { return n == 0 ? 0 : engine_() % n; }
  template <typename T>
  const T& of(const std::vector<T>& items) {
    return items[below(items.size())];
  }

 private:
  std::mt19937_64 engine_;
};

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
  const auto other = lines_of(dice.of(seeds()));
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
  const std::string& other = dice.of(seeds());
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

std::string mutated(std::uint64_t number) {
  Dice dice(number);
  std::string text = dice.of(seeds());
  for (std::size_t n = 1 + dice.below(4); n > 0 && !text.empty(); --n) dice.of(kMutations)(dice, text);
  return text;
}

// --- Trees

void each_node(Node& node, const std::function<void(Node&)>& visit) {
  visit(node);
  for (Node& item : node.items) each_node(item, visit);
  for (auto& [key, value] : node.entries) each_node(value, visit);
}

std::size_t count_nodes(Node& root, Node::Kind kind) {
  std::size_t count = 0;
  each_node(root, [&](const Node& node) { count += node.kind == kind ? 1 : 0; });
  return count;
}

// The root with one node of a kind changed.
Node with_changed(const Node& root, Node::Kind kind, std::size_t which,
                  const std::function<void(Node&)>& change) {
  Node copy = root;
  Node* chosen = nullptr;
  each_node(copy, [&](Node& node) {
    if (node.kind == kind && which-- == 0) chosen = &node;
  });
  change(*chosen);
  return copy;
}

std::string as_yaml(const Node& root) { return root.json().dump(); }

}  // namespace

TEST_CASE("every file and every example in the repository is accepted") {
  const Scratch scratch;
  REQUIRE(seeds().size() > 10);
  for (const std::string& text : seeds()) {
    INFO(text);
    CHECK_NOTHROW(check_file(scratch.write(text)));
  }
}

TEST_CASE("a mutated file is accepted, or refused with an InputError of one line") {
  const Scratch scratch;
  Complaints complaints;
  const std::uint64_t inputs = std::getenv("GANGWAY_LONG") != nullptr ? 100'000 : 5'000;
  for (std::uint64_t number = 0; number < inputs; ++number) {
    const std::string text = mutated(number);
    complaints.add(complaint(scratch, text), text, fmt::format("input {}", number));
  }
  complaints.check();
}

TEST_CASE("a strange value in any place is accepted, or refused with an InputError of one line") {
  const Scratch scratch;
  Complaints complaints;
  Node root = parse_yaml(whole_example(), "example");
  std::vector<Node> values(3);  // of which the first stays nothing
  values[1].kind = Node::Kind::sequence;
  values[2].kind = Node::Kind::mapping;
  for (const std::string& text : kNumbers) {
    values.push_back(Node::text(text, root));
    values.push_back(Node::text(text + " ms", root));
    values.push_back(Node::text(text + " GiB", root));
  }
  for (const char* text : {"", " ", "two\nlines", "all", "endless", "-", "rr"})
    values.push_back(Node::text(text, root));
  for (std::size_t place = 0; place < count_nodes(root, Node::Kind::scalar); ++place)
    for (std::size_t v = 0; v < values.size(); ++v) {
      const Node changed =
          with_changed(root, Node::Kind::scalar, place, [&](Node& node) { node = values[v]; });
      const std::string text = as_yaml(changed);
      complaints.add(complaint(scratch, text), text, fmt::format("place {}, value {}", place, v));
    }
  complaints.check();
}

TEST_CASE("a strange override is accepted, or refused with an InputError of one line") {
  const Scratch scratch;
  Complaints complaints;
  const std::string file = scratch.write(whole_example());
  const std::vector<std::string> paths{"workload.clients.conv.kernels.rows.time",
                                       "workload.clients.0.kernels.0.block",
                                       "policies.rr-long.params.quantum",
                                       "policies",
                                       "device.copy.h2d.bandwidth",
                                       "set",
                                       "sweep.workload.arrivals.gap",
                                       "published.0.policy",
                                       "workload",
                                       "mechanism.params.useful",
                                       "replications",
                                       "policies.0",
                                       "title",
                                       "horizon",
                                       ""};
  for (std::uint64_t number = 0; number < 3'000; ++number) {
    Dice dice(number);
    Override change{dice.of(paths), dice.of(kWords) + dice.of(kUnits)};
    if (dice.below(2) == 0) change.value = dice.of(kNumbers) + dice.of(kUnits);
    for (std::string* text : {&change.path, &change.value})
      if (dice.below(2) == 0) dice.of(kMutations)(dice, *text);
    const auto wrong = complaint([&] { read_experiment(file, {change}); });
    complaints.add(wrong, change.path + "=" + change.value, fmt::format("override {}", number));
  }
  complaints.check();
}

TEST_CASE("an unknown key in any mapping of a valid file is refused") {
  const Scratch scratch;
  for (const std::string& seed : seeds()) {
    Node root = parse_yaml(seed, "seed");
    for (std::size_t place = 0; place < count_nodes(root, Node::Kind::mapping); ++place)
      for (const bool front : {true, false}) {
        const Node changed = with_changed(root, Node::Kind::mapping, place, [&](Node& node) {
          node.entries.insert(front ? node.entries.begin() : node.entries.end(),
                              {"unheard-of", Node::text("1", node)});
        });
        const std::string file = scratch.write(as_yaml(changed));
        INFO(as_yaml(changed));
        CHECK_THROWS_WITH(check_file(file), Catch::Contains("unheard-of"));
      }
  }
}

}  // namespace gangway
