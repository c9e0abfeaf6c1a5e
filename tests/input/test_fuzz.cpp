// Whatever stands in a file, reading it either succeeds or throws an InputError of one line, with reasonable
// effort. 5,000 mutated inputs, 100,000 in the long mode. An input that fails is kept
// in the folder for temporary files; one that crashes is the last file there.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "experiments/sweeps/experiment.hpp"
#include "models/error.hpp"
#include "models/input/document.hpp"
#include "tests/allocations.hpp"
#include "tests/cases.hpp"
#include "tests/catch.hpp"
#include "tests/input/examples.hpp"
#include "tests/input/mutations.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::testing {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostAllocations = 10'000'000;  // some seconds; sanitizers do not count them

// A file that is removed at the end, unless the program dies before.
// In a folder of its own, as lists of what papers print are held against their neighbours.
class Scratch {
 public:
  std::string write(const std::string& text) const {
    const fs::path path = folder_ / "input.yaml";
    fs::remove(path);  // some file systems write a file that is truncated to disk at once
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }

 private:
  ScratchFolder folder_;
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
  const std::int64_t before = allocations();
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
  const std::int64_t effort = allocations() - before;
  if (wrong.empty() && effort > kMostAllocations) wrong = fmt::format("{} allocations", effort);
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
  REQUIRE(right_inputs().size() > 10);
  for (const std::string& text : right_inputs()) {
    INFO(text);
    CHECK_NOTHROW(check_file(scratch.write(text)));
  }
}

TEST_CASE("a mutated file is accepted, or refused with an InputError of one line", "[long]") {
  const Scratch scratch;
  Complaints complaints;
  for (const int number : case_numbers(5'000, 100'000)) {
    const std::string text = mutated(static_cast<std::uint64_t>(number));
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
  const std::size_t all = count_nodes(root, Node::Kind::scalar) * values.size();
  for (std::size_t number = 0; number < all; number += kOneIn) {
    const std::size_t place = number / values.size(), value = number % values.size();
    const Node changed =
        with_changed(root, Node::Kind::scalar, place, [&](Node& node) { node = values[value]; });
    const std::string text = as_yaml(changed);
    complaints.add(complaint(scratch, text), text, fmt::format("place {}, value {}", place, value));
  }
  complaints.check();
}

TEST_CASE("a strange override is accepted, or refused with an InputError of one line", "[long]") {
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
  for (const int number : case_numbers(3'000, 60'000)) {
    Dice dice(static_cast<std::uint64_t>(number));
    Override change{dice.of(paths), dice.of(kWords) + dice.of(kUnits)};
    if (dice.below(2) == 0) change.value = dice.of(kNumbers) + dice.of(kUnits);
    for (std::string* text : {&change.path, &change.value})
      if (dice.below(2) == 0) mutate(dice, *text);
    const auto wrong = complaint([&] { read_experiment(file, {change}); });
    complaints.add(wrong, change.path + "=" + change.value, fmt::format("override {}", number));
  }
  complaints.check();
}

TEST_CASE("an unknown key in any mapping of a valid file is refused") {
  const Scratch scratch;
  for (const std::string& seed : right_inputs()) {
    Node root = parse_yaml(seed, "seed");
    for (std::size_t place = 0; place < count_nodes(root, Node::Kind::mapping); place += kOneIn)
      for (const bool front : {true, false}) {
        bool free = false;  // a client's attributes, whose names are its own
        const Node changed = with_changed(root, Node::Kind::mapping, place, [&](Node& node) {
          free = node.find("tier") != nullptr;
          node.entries.insert(front ? node.entries.begin() : node.entries.end(),
                              {"unheard-of", Node::text("1", node)});
        });
        if (free) continue;
        const std::string file = scratch.write(as_yaml(changed));
        INFO(as_yaml(changed));
        CHECK_THROWS_WITH(check_file(file), Catch::Matchers::ContainsSubstring("unheard-of"));
      }
  }
}

}  // namespace gangway::testing
