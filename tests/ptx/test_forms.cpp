// Random kernels as they were against their rewritten forms: the same bytes, under any schedule, however
// often they are evicted.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "tests/cases.hpp"
#include "tests/catch.hpp"
#include "tests/ptx/planted_faults.hpp"
#include "tests/ptx/played_forms.hpp"

using namespace gangway::testing::ptx;
using gangway::testing::case_numbers;
namespace transform = gangway::transform;

namespace {

bool takes(const RandomKernel& kernel, const transform::Form& form) {
  return !form.one_dimension || (kernel.grid.y == 1 && kernel.grid.z == 1);
}

// The first thing that is wrong with a module's rewritten text.
std::string found_in(const RandomModule& module, const transform::Rewritten& rewritten, std::uint64_t seed) {
  if (std::string why = broken_promise(module.text, rewritten); !why.empty()) return why;
  Module with(rewritten.text);
  for (std::size_t k = 0; k < module.kernels.size(); ++k) {
    const Original original(module.text, module.kernels[k], seed);
    for (const transform::Form& form : rewritten.kernels[k].forms)
      for (std::uint64_t time = 0; time < 3 && takes(module.kernels[k], form); ++time)
        if (std::string why = difference(original, with, form, seed * 3 + time); !why.empty())
          return fmt::format("{} as {}: {}", module.kernels[k].name, form.form, why);
  }
  return "";
}

// Forms that these never take, and why.
bool never(const std::string& construct, const std::string& form) {
  return form == "loop" && (construct == "exit in a function"  // it would end the loop
                            || construct == "bar.arrive"       // at what the next block-task may wait for
                            || construct == "recursion");      // some threads go deeper than others
}

}  // namespace

TEST_CASE("random kernels in rewritten forms leave the same bytes behind, whenever they are evicted",
          "[long]") {
  for (const int number : case_numbers(200, 10'000)) {
    const auto seed = static_cast<std::uint64_t>(number);
    const RandomModule module = random_module(seed);
    const transform::Rewritten rewritten = transform::rewrite(module.text);
    INFO("random module " << number);
    CHECK(rewritten.unusable.empty());
    CHECK(found_in(module, rewritten, seed) == "");
    CHECK(transform::rewrite(module.text).text == rewritten.text);
  }
}

// Of 10,000 modules, a hundred kernels in each form: of 1,000, ten.
TEST_CASE("random kernels have each construct, and take each form with it") {
  std::map<std::string, std::map<std::string, int>> kernels;  // by construct and form
  for (std::uint64_t seed = 0; seed < 1'000; ++seed) {
    const RandomModule module = random_module(seed);
    const transform::Rewritten rewritten = transform::rewrite(module.text);
    REQUIRE(rewritten.kernels.size() == module.kernels.size());
    for (std::size_t k = 0; k < module.kernels.size(); ++k)
      for (const auto& [construct, count] : module.kernels[k].constructs) {
        for (const char* const form : {"slice", "prologue", "loop"}) kernels[construct][form] += 0;
        for (const transform::Form& form : rewritten.kernels[k].forms)
          if (takes(module.kernels[k], form)) ++kernels[construct][form.form];
      }
  }
  CHECK(kernels.size() >= 65);
  for (const auto& [construct, forms] : kernels)
    for (const auto& [form, count] : forms) {
      INFO(construct << " as " << form);
      if (!never(construct, form)) CHECK(count >= 10);
    }
}

TEST_CASE("the originals of random kernels do not depend on the schedule") {
  for (int seed = 1'000'000; seed < 1'000'040; ++seed) {
    const RandomModule module = random_module(static_cast<std::uint64_t>(seed));
    for (const RandomKernel& kernel : module.kernels) {
      INFO("random module " << seed << ", " << kernel.name);
      CHECK_NOTHROW(Original(module.text, kernel, 1));
    }
  }
}

TEST_CASE("faults that are planted in rewritten kernels are found") {
  for (const PlantedFault& fault : planted_faults()) {
    INFO(fault.name);
    std::optional<std::string> found;
    int planted = 0;
    for (std::uint64_t seed = 500; seed < 900 && !found; ++seed) {
      const RandomModule module = random_module(seed);
      transform::Rewritten rewritten = transform::rewrite(module.text);
      if (!fault.plant(rewritten.text, module.text.size())) continue;
      ++planted;
      if (std::string why = found_in(module, rewritten, seed); !why.empty()) found = why;
    }
    CHECK(planted > 0);
    CHECK(found);
    if (found) UNSCOPED_INFO(*found);
  }
}
