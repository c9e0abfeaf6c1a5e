// What a program waits for as it starts: 500 modules of one kernel each, of the size that CUB's have, looked
// up in a cache that holds as many of other programs. Prints one JSON line: milliseconds of the fastest and
// the slowest of several rounds, and how many were found.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "hw/transform/cache/kernel_cache.hpp"
#include "tests/scratch_folder.hpp"

namespace {

using namespace gangway::transform;

constexpr int kModules = 500, kRounds = 5;
constexpr std::size_t kText = 40'000, kCubin = 60'000;
constexpr Architecture kGpu{90, 0};

std::string made_text(int number) {
  std::string text = fmt::format(".version 9.0\n.target sm_90\n// {}\n", number);
  for (int i = 0; text.size() < kText; ++i)
    text += fmt::format("add.s32 %r{}, %r{}, {};\n", i, (i * 7919 + number) % 997, i);
  return text;
}

KernelForms made_forms(int number) {
  KernelForms kernel;
  kernel.kernel = fmt::format("kernel{}", number);
  kernel.parameters = {{0, 8, 8}, {8, 8, 8}, {16, 4, 4}};
  for (const char* form : {"slice", "prologue", "loop"})
    kernel.forms.push_back({form, kernel.kernel + "$" + form, {24}, 16, false});
  return kernel;
}

}  // namespace

int main() {
  const gangway::testing::ScratchFolder scratch;
  const std::string folder = (scratch / "kernels").string();
  const auto say = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
  std::vector<std::string> texts;
  {
    KernelCache cache(folder, say);
    for (int i = 0; i < 2 * kModules; ++i) {
      const std::string text = made_text(i);
      cache.put(text, {}, {{std::string(kCubin, 'c'), {made_forms(i)}}, "V13", "sm_90", "", "bench"});
      if (i % 2 == 0) texts.push_back(text);
    }
  }
  std::vector<double> rounds;
  int found = 0;
  for (int round = 0; round < kRounds; ++round) {
    const auto began = std::chrono::steady_clock::now();
    KernelCache cache(folder, say);  // as a program that starts
    for (const std::string& text : texts) found += cache.find(text, kGpu).has_value();
    rounds.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count());
  }
  fmt::print("{{\"modules\": {}, \"found\": {}, \"best_ms\": {:.1f}, \"worst_ms\": {:.1f}}}\n", kModules,
             found / kRounds, *std::min_element(rounds.begin(), rounds.end()),
             *std::max_element(rounds.begin(), rounds.end()));
}
