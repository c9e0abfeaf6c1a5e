// The merging of a kernel's outputs from several GPUs, by the function that the GPU's threads run.
#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "hw/cuda/or_into.hpp"
#include "tests/cases.hpp"
#include "tests/catch.hpp"

namespace gangway {
namespace {

// So many bytes, aligned, with others behind them.
struct AlignedBytes {
  explicit AlignedBytes(std::uint64_t bytes) : words(bytes / sizeof(SixteenBytes) + 2) {}
  unsigned char* at() { return reinterpret_cast<unsigned char*>(words.data()); }
  std::uint64_t size() const { return words.size() * sizeof(SixteenBytes); }
  std::vector<SixteenBytes> words;
};

}  // namespace

TEST_CASE("outputs of several GPUs are merged byte by byte, by any number of threads in any order",
          "[merged-outputs][long]") {
  for (const int seed : testing::case_numbers(300, 20'000)) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    const std::uint64_t bytes = random() % (seed % 3 == 0 ? 20 : 700), threads = 1 + random() % 70;
    CAPTURE(seed, bytes, threads);
    AlignedBytes into(bytes), from(bytes), expected(bytes);
    for (std::uint64_t i = 0; i < into.size(); ++i) {
      into.at()[i] = static_cast<unsigned char>(random());
      from.at()[i] = static_cast<unsigned char>(random());
      expected.at()[i] = static_cast<unsigned char>(i < bytes ? into.at()[i] | from.at()[i] : into.at()[i]);
    }
    const AlignedBytes source = from;
    std::vector<std::uint64_t> order(threads);
    std::iota(order.begin(), order.end(), 0U);
    std::shuffle(order.begin(), order.end(), random);
    for (const std::uint64_t thread : order) or_share(into.at(), from.at(), bytes, thread, threads);
    REQUIRE(std::equal(into.at(), into.at() + into.size(), expected.at()));
    REQUIRE(std::equal(from.at(), from.at() + from.size(),
                       reinterpret_cast<const unsigned char*>(source.words.data())));
  }
}

}  // namespace gangway
