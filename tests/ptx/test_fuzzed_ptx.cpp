// Whatever text the rewriter is given, it answers.
#include "hw/transform/rewrite.hpp"
#include "tests/cases.hpp"
#include "tests/catch.hpp"
#include "tests/ptx/generator/generator.hpp"

using namespace gangway::testing::ptx;
using gangway::testing::case_numbers;
namespace transform = gangway::transform;

namespace {

std::string mutated(const std::string& from, Dice& dice) {
  static constexpr const char* kWords[] = {"{",
                                           "}",
                                           "(",
                                           ")",
                                           ";",
                                           ",",
                                           ":",
                                           "@",
                                           "@!",
                                           "[",
                                           "]",
                                           "\"",
                                           "/*",
                                           "*/",
                                           "//",
                                           "\n",
                                           ".entry",
                                           ".func",
                                           ".reg .b32",
                                           ".param",
                                           ".shared",
                                           ".pred",
                                           "%ctaid.x",
                                           "%nctaid.z",
                                           "bra",
                                           "ret",
                                           "exit",
                                           "call",
                                           "bar.sync 0;",
                                           ".branchtargets",
                                           "brx.idx",
                                           "<1000000000>",
                                           "[99999999999999999999]",
                                           "0f",
                                           "0x",
                                           "-1",
                                           "%p0",
                                           "$L",
                                           ".align 3",
                                           ".extern",
                                           "_",
                                           "\0"};
  std::string text = from;
  const std::uint32_t count = dice.one_in(3) ? 1 : dice.between(1, 12);
  for (std::uint32_t k = 0; k < count && !text.empty(); ++k) {
    const std::size_t at = dice.roll(static_cast<std::uint32_t>(text.size()));
    const std::size_t length = dice.roll(40);
    switch (dice.roll(7)) {
      case 0:
        text[at] = static_cast<char>(dice.bits());
        break;
      case 1:
        text[at] = static_cast<char>(text[at] ^ (1 << dice.roll(7)));
        break;
      case 2:
        text.erase(at, length);
        break;
      case 3:
        text.insert(dice.roll(static_cast<std::uint32_t>(text.size())), text.substr(at, length));
        break;
      case 4:
        text.insert(at, kWords[dice.roll(std::size(kWords))]);
        break;
      case 5: {  // a word or mark again
        const std::size_t end = text.find_first_of(" \n\t;,", at);
        text.insert(at, text.substr(at, end == std::string::npos ? 1 : end - at + 1));
        break;
      }
      default:
        if (dice.one_in(4)) text.resize(at);
        break;
    }
  }
  return text;
}

}  // namespace

TEST_CASE("changed PTX is rewritten or left as it was, and nothing is thrown", "[long]") {
  std::vector<std::string> texts;
  for (std::uint64_t seed = 0; seed < 12; ++seed) texts.push_back(random_module(seed).text);
  int understood = 0, changed = 0;
  for (const int number : case_numbers(2'000, 1'000'000)) {
    Dice dice(static_cast<std::uint64_t>(number));
    const std::string text = mutated(texts[dice.roll(12)], dice);
    INFO("case " << number);
    transform::Rewritten rewritten;
    REQUIRE_NOTHROW(rewritten = transform::rewrite(text));
    REQUIRE(rewritten.text.compare(0, text.size(), text) == 0);
    bool any = false;
    for (const transform::KernelForms& kernel : rewritten.kernels) {
      REQUIRE(kernel.forms.size() + kernel.refused.size() == 3);
      any = any || !kernel.forms.empty();
    }
    if (!rewritten.unusable.empty() || !any) REQUIRE(rewritten.text == text);
    if (!rewritten.unusable.empty()) REQUIRE(rewritten.unusable.find('\n') == std::string::npos);
    understood += rewritten.unusable.empty() ? 1 : 0;
    changed += any ? 1 : 0;
  }
  CHECK(understood > 0);
  CHECK(changed > 0);
}
