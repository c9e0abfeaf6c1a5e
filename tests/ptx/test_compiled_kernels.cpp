// Kernels of hw/kernels as nvcc compiles them, on the interpreter: what they compute is what they should, and
// their rewritten forms compute the same. Compiled with the tests where there is a CUDA toolkit.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "tests/catch.hpp"
#include "tests/ptx/compiled_kernel.hpp"

using namespace gangway::testing::ptx;

#ifdef GANGWAY_COMPILED_PTX

namespace {

// The form of a kernel that is not preemptible: its first parameter says where it notes that it has started.
class OriginalForm : public CompiledKernel {
 public:
  OriginalForm(const std::string& name, std::uint32_t blocks, std::uint64_t region)
      : CompiledKernel(name, "preemptible8original", {blocks}, 256), notes_(64), region_(region) {
    input(0, notes_);
    std::memcpy(kernel().parameters.data() + 8, kernel().parameters.data(), 8);
  }
  void output(std::size_t parameter) { regions(parameter, region_); }

 private:
  std::vector<std::uint64_t> notes_;
  std::uint64_t region_;
};

template <typename T>
std::vector<T> random_values(std::size_t count, std::uint32_t seed, std::uint32_t below) {
  std::mt19937 random(seed);
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(random() % below) / T{3};
  return values;
}

}  // namespace

TEST_CASE("compiled vector addition, on the interpreter") {
  OriginalForm va("va", 3, 4 * 2048);
  const auto a = random_values<float>(3 * 2048, 1, 1000), b = random_values<float>(3 * 2048, 2, 1000);
  va.input(1, a);
  va.input(2, b);
  va.output(3);
  va.given<std::uint64_t>(4, a.size() - 100);  // the last block is not full
  va.given<std::uint32_t>(5, 8);
  const auto sums = va.played<float>();
  for (std::size_t i = 0; i < a.size() - 100; ++i) REQUIRE(sums[i] == a[i] + b[i]);
}

TEST_CASE("a compiled reduction, on the interpreter") {
  OriginalForm red("red", 5, 4);
  const auto in = random_values<std::uint32_t>(5 * 4096, 3, 12000);
  red.input(1, in);
  red.output(2);
  red.given<std::uint64_t>(3, in.size() - 1000);
  red.given<std::uint32_t>(4, 16);
  const auto sums = red.played<std::uint32_t>();
  for (std::size_t block = 0; block < 5; ++block) {
    const auto first = in.begin() + static_cast<std::ptrdiff_t>(block * 4096);
    CHECK(sums[block] == std::accumulate(first, block == 4 ? in.end() - 1000 : first + 4096, 0u));
  }
}

TEST_CASE("a compiled histogram, on the interpreter") {
  OriginalForm hst("hst256", 3, 1024);
  std::mt19937 random(4);
  std::vector<std::uint32_t> in(3 * 256 * 32 / 4);
  for (std::uint32_t& word : in) word = static_cast<std::uint32_t>(random()) & 0x3F3F3FFF;
  hst.input(1, in);
  hst.output(2);
  hst.given<std::uint64_t>(3, 4 * in.size() - 77);
  hst.given<std::uint32_t>(4, 32);
  const auto bins = hst.played<std::uint32_t>();
  std::vector<std::uint32_t> expected(3 * 256);
  for (std::size_t i = 0; i < 4 * in.size() - 77; ++i)
    ++expected[i / (256 * 32) * 256 + (in[i / 4] >> 8 * (i % 4) & 255)];
  CHECK(bins == expected);
}

TEST_CASE("compiled paths through a grid, on the interpreter") {
  constexpr int kRows = 5, kOwn = 256 - 2 * kRows, kColumns = 3 * kOwn;
  OriginalForm pf("pf", 3, 4 * kOwn);
  const auto before = random_values<std::int32_t>(kColumns, 5, 100),
             walls = random_values<std::int32_t>(kColumns * kRows, 6, 100);
  pf.input(1, before);
  pf.input(2, walls);
  pf.output(3);
  pf.given<std::int32_t>(4, kColumns);
  pf.given<std::int32_t>(5, kRows);
  std::vector<std::int32_t> costs = before;
  for (int row = 0; row < kRows; ++row) {
    std::vector<std::int32_t> next(kColumns);
    for (int c = 0; c < kColumns; ++c)
      next[c] = std::min({costs[std::max(c - 1, 0)], costs[c], costs[std::min(c + 1, kColumns - 1)]}) +
                walls[row * kColumns + c];
    costs = next;
  }
  CHECK(pf.played<std::int32_t>() == costs);
}

#else

TEST_CASE("compiled kernels, on the interpreter") { WARN("skipped: no CUDA toolkit"); }

#endif
