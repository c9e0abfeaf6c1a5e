// What is written reads back as the same values.
#include <nlohmann/json.hpp>

#include "models/input/yaml_writer.hpp"
#include "models/random.hpp"
#include "tests/catch.hpp"

namespace gangway::testing {
namespace {

const std::vector<std::string> kTexts{"a",
                                      "~",
                                      "null",
                                      "true",
                                      "0x1f",
                                      "1e3",
                                      "3.71 ms",
                                      "- a",
                                      "a: b",
                                      "a #b",
                                      "#",
                                      "'",
                                      "\"",
                                      "\\n",
                                      "{a}",
                                      "[b, c]",
                                      "a, b",
                                      "*x",
                                      "&x",
                                      "!t",
                                      "|",
                                      ">",
                                      "%",
                                      "@at",
                                      " lead",
                                      "trail ",
                                      "two\nlines",
                                      "tab\there",
                                      "\xc3\xa9\xe2\x82\xac",
                                      "?",
                                      ":",
                                      "",
                                      "---",
                                      "...",
                                      "key: {x: 1}",
                                      "a'b\"c"};

std::string text_of(Stream& random) { return kTexts[random.below(kTexts.size())]; }

Node drawn(Stream& random, int depth) {
  const std::uint64_t kind = random.below(depth > 0 ? 4 : 2);
  if (kind < 2) return yaml_text(text_of(random));
  if (kind == 2) {
    std::vector<Node> items;
    for (std::uint64_t i = random.below(5); i > 0; --i) items.push_back(drawn(random, depth - 1));
    return yaml_list(std::move(items));
  }
  Node mapping = yaml_mapping({});
  for (std::uint64_t i = random.below(5); i > 0; --i) mapping.put(text_of(random), drawn(random, depth - 1));
  return mapping;
}

}  // namespace

TEST_CASE("a file is written key by key, what is short on one line", "[yaml]") {
  Node root = yaml_mapping({{"kind", "device"}, {"version", "1"}});
  root.put("sm", yaml_mapping({{"threads", "2048"}, {"shared_memory", "48 KiB"}}));
  Node kernel = yaml_mapping({{"name", "k"}});
  kernel.put("block", yaml_texts({"32", "4"}));
  root.put("kernels", yaml_list({kernel}));
  CHECK(to_yaml(root, {{"", "First.\nSecond."}, {"sm", "Of one."}}) ==
        "# First.\n# Second.\nkind: device\nversion: 1\n# Of one.\n"
        "sm: {threads: 2048, shared_memory: 48 KiB}\nkernels:\n  - {name: k, block: [32, 4]}\n");
}

TEST_CASE("any tree of texts reads back as it was written", "[yaml]") {
  Stream random(1, "test-yaml-writer", {});
  for (int number = 0; number < 3000; ++number) {
    Node root = yaml_mapping({{"kind", "any"}});
    for (int entry = 0; entry < 4; ++entry) root.put(text_of(random), drawn(random, 4));
    const std::string text = to_yaml(root, {{"kind", "a comment: {of} 'two'\nlines"}});
    INFO(text);
    CHECK(parse_yaml(text, "written").json() == root.json());
  }
}

}  // namespace gangway::testing
