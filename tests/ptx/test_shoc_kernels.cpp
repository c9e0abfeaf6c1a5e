// The kernels of examples/shoc as nvcc compiles them, on the interpreter: they compute what they should, and
// their rewritten forms compute the same.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "tests/ptx/compiled_kernel.hpp"

using namespace gangway::testing::ptx;

#ifdef GANGWAY_COMPILED_PTX

namespace {

using Words = std::vector<std::uint32_t>;

template <typename T>
std::vector<T> drawn_values(std::size_t count, std::uint32_t seed, std::uint32_t below) {
  std::mt19937 random(seed);
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(random() % below);
  return values;
}

template <typename T>
std::vector<T> sums_before(const std::vector<T>& values) {
  std::vector<T> sums(values.size());
  for (std::size_t i = 1; i < values.size(); ++i) sums[i] = sums[i - 1] + values[i - 1];
  return sums;
}

template <typename T>
void check_first(const std::vector<T>& found, const std::vector<T>& expected) {
  REQUIRE(found.size() >= expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (found[i] != expected[i]) {
      INFO("element " << i);
      REQUIRE(found[i] == expected[i]);
    }
}

void check_close(double found, double expected) {
  CHECK(std::abs(found - expected) <= 1e-4 * (1 + std::abs(expected)));
}

constexpr std::uint32_t kPartOfSort = 4096;

std::uint32_t digit_of(std::uint32_t key) { return key >> 8 & 15; }

// How often each digit is in each part of the keys, digit by digit.
Words counts_of(const Words& keys) {
  const std::size_t parts = keys.size() / kPartOfSort;
  Words counts(16 * parts);
  for (std::size_t i = 0; i < keys.size(); ++i) ++counts[digit_of(keys[i]) * parts + i / kPartOfSort];
  return counts;
}

}  // namespace

TEST_CASE("triad of examples/shoc, on the interpreter") {
  CompiledKernel triad("triad", "triad", {3}, 256);
  const auto b = drawn_values<float>(3 * 2048 - 300, 1, 1000), c = drawn_values<float>(b.size(), 2, 1000);
  triad.regions(0, 4 * 2048);
  triad.input(1, b);
  triad.input(2, c);
  triad.given(3, 1.75F);
  triad.given<std::uint64_t>(4, b.size());
  std::vector<float> expected(b.size());
  for (std::size_t i = 0; i < b.size(); ++i) expected[i] = b[i] + 1.75F * c[i];
  check_first(triad.played<float>(), expected);
}

TEST_CASE("reduction of examples/shoc, on the interpreter") {
  CompiledKernel reduce("reduction", "reduce", {3}, 256);
  const auto in = drawn_values<float>(2 * 16'384 + 700, 3, 16);
  reduce.input(0, in);
  reduce.regions(1, 4);
  reduce.given<std::uint64_t>(2, in.size());
  std::vector<float> expected(3);
  for (std::size_t i = 0; i < in.size(); ++i) expected[i / 16'384] += in[i];
  check_first(reduce.played<float>(), expected);
}

TEST_CASE("scan of examples/shoc, on the interpreter") {
  const auto in = drawn_values<float>(8192 + 1000, 4, 16);
  const std::vector<float> sums = sums_before(in);

  CompiledKernel parts("scan", "sum_parts", {2}, 256);
  parts.input(0, in);
  parts.regions(1, 4);
  parts.given<std::uint64_t>(2, in.size());
  check_first(parts.played<float>(), {sums[8192], sums.back() + in.back() - sums[8192]});

  const auto more = drawn_values<float>(3000, 5, 100);
  CompiledKernel top("scan", "scan_sums", {1}, 1024);
  top.output(0, more);
  top.given<std::int32_t>(1, static_cast<std::int32_t>(more.size()));
  check_first(top.played<float>(1), sums_before(more));

  const std::vector<float> before{0, sums[8192]};
  CompiledKernel scan("scan", "scan_parts", {2}, 256);
  scan.input(0, in);
  scan.input(1, before);
  scan.regions(2, 4 * 8192);
  scan.given<std::uint64_t>(3, in.size());
  check_first(scan.played<float>(), sums);
}

TEST_CASE("sort of examples/shoc, on the interpreter") {
  const Words keys = drawn_values<std::uint32_t>(2 * kPartOfSort, 6, 0xFFFFFFFF), counts = counts_of(keys);

  CompiledKernel count("sort", "count_digits", {2}, 256);
  count.input(0, keys);
  count.output(1, Words(counts.size()));
  count.given<std::int32_t>(2, 8);
  check_first(count.played<std::uint32_t>(), counts);

  const Words more = drawn_values<std::uint32_t>(5000, 7, 100);
  CompiledKernel scan("sort", "scan_counts", {1}, 1024);
  scan.output(0, more);
  scan.given<std::int32_t>(1, static_cast<std::int32_t>(more.size()));
  check_first(scan.played<std::uint32_t>(1), sums_before(more));

  Words values(keys.size()), order(keys.size());
  for (std::uint32_t i = 0; i < keys.size(); ++i) values[i] = 7 * i, order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return digit_of(keys[a]) < digit_of(keys[b]); });
  const Words places = sums_before(counts), nothing(keys.size());
  for (const std::size_t output : {3, 4}) {  // the keys, and then the values
    Words other(keys.size()), expected;
    CompiledKernel move("sort", "move_keys", {2}, 256);
    move.input(0, keys);
    move.input(1, values);
    move.input(2, places);
    move.input(7 - output, other);
    move.output(output, nothing);
    move.given<std::int32_t>(5, 8);
    for (const std::uint32_t i : order) expected.push_back(output == 3 ? keys[i] : values[i]);
    check_first(move.played<std::uint32_t>(output == 3 ? 3 : 1), expected);
  }
}

TEST_CASE("spmv of examples/shoc, on the interpreter") {
  constexpr std::int32_t kRows = 150;
  std::mt19937 random(8);
  std::vector<std::int32_t> begins{0}, columns;
  for (int row = 0; row < kRows; ++row)
    begins.push_back(begins.back() + static_cast<std::int32_t>(random() % 97));
  for (std::int32_t i = 0; i < begins.back(); ++i)
    columns.push_back(static_cast<std::int32_t>(random() % 500));
  const auto values = drawn_values<float>(columns.size(), 9, 16), x = drawn_values<float>(500, 10, 16);
  CompiledKernel spmv("spmv", "spmv", {3}, 256);
  spmv.input(0, values);
  spmv.input(1, columns);
  spmv.input(2, begins);
  spmv.input(3, x);
  spmv.regions(4, 4 * 64);
  spmv.given(5, kRows);
  std::vector<float> expected(kRows);
  for (int row = 0; row < kRows; ++row)
    for (std::int32_t i = begins[row]; i < begins[row + 1]; ++i) expected[row] += values[i] * x[columns[i]];
  check_first(spmv.played<float>(3, 2), expected);  // `loop` is not for warps that leave one by one
}

TEST_CASE("breadth-first search of examples/shoc, on the interpreter") {
  constexpr std::int32_t kVertices = 700, kNever = 0x7FFFFFFF, kDistance = 2;
  std::mt19937 random(11);
  Words begins{0};
  std::vector<std::int32_t> edges, distances(kVertices), any(1);
  for (int v = 0; v < kVertices; ++v)
    begins.push_back(begins.back() + static_cast<std::uint32_t>(random() % 70));
  for (std::uint32_t i = 0; i < begins.back(); ++i)
    edges.push_back(static_cast<std::int32_t>(random() % kVertices));
  for (std::int32_t& distance : distances)
    distance = random() % 40 == 0 ? kDistance : random() % 9 == 0 ? 1 : kNever;
  std::vector<std::int32_t> expected = distances;
  for (int v = 0; v < kVertices; ++v)
    for (std::uint32_t i = begins[v]; i < begins[v + 1] && distances[v] == kDistance; ++i)
      if (distances[edges[i]] == kNever) expected[edges[i]] = kDistance + 1;
  CompiledKernel expand("bfs", "expand", {3}, 256);
  expand.input(0, begins);
  expand.input(1, edges);
  expand.output(2, distances);
  expand.input(3, any);
  expand.given(4, kDistance);
  expand.given(5, kVertices);
  check_first(expand.played<std::int32_t>(), expected);
  CHECK(any[0] == 1);
}

TEST_CASE("FFT of examples/shoc, on the interpreter") {
  constexpr std::size_t kPoints = 512, kTransforms = 8;
  auto in = drawn_values<float>(2 * kPoints * kTransforms, 12, 2000);
  for (float& value : in) value = value / 1000 - 1;
  std::vector<float> roots;
  const auto angle = [](std::size_t k) {
    return -2 * std::numbers::pi * static_cast<double>(k % kPoints) / kPoints;
  };
  for (std::size_t k = 0; k < kPoints; ++k) {
    roots.push_back(static_cast<float>(std::cos(angle(k))));
    roots.push_back(static_cast<float>(std::sin(angle(k))));
  }
  CompiledKernel fft("fft", "fft512", {kTransforms / 4}, 256);
  fft.input(0, in);
  fft.regions(1, 8 * 4 * kPoints);
  fft.input(2, roots);
  const auto out = fft.played<float>();
  for (std::size_t at = 0; at < kPoints * kTransforms; at += 37) {
    const std::size_t first = at / kPoints * kPoints, k = at % kPoints;
    double re = 0, im = 0;
    for (std::size_t x = 0; x < kPoints; ++x) {
      const double a = in[2 * (first + x)], b = in[2 * (first + x) + 1], cosine = std::cos(angle(k * x)),
                   sine = std::sin(angle(k * x));
      re += a * cosine - b * sine;
      im += a * sine + b * cosine;
    }
    check_close(out[2 * at], re);
    check_close(out[2 * at + 1], im);
  }
}

TEST_CASE("molecular dynamics of examples/shoc, on the interpreter") {
  constexpr int kAtoms = 300, kNeighbours = 128;
  auto positions = drawn_values<float>(4 * kAtoms, 13, 4000);
  for (float& value : positions) value /= 1000;
  std::mt19937 random(14);
  std::vector<std::int32_t> list;
  for (int i = 0; i < kNeighbours * kAtoms; ++i)
    list.push_back((i % kAtoms + 1 + static_cast<std::int32_t>(random() % (kAtoms - 1))) % kAtoms);
  CompiledKernel forces("md", "lj_forces", {2}, 256);
  forces.input(0, positions);
  forces.input(1, list);
  forces.regions(2, 16 * 256);
  forces.given<std::int32_t>(3, kAtoms);
  const auto found = forces.played<float>(1);
  for (int i = 0; i < kAtoms; i += 7) {
    double force[3] = {}, largest = 0;
    for (int j = 0; j < kNeighbours; ++j) {
      double d[3], r2 = 0;
      for (int axis = 0; axis < 3; ++axis) {
        d[axis] = double{positions[4 * i + axis]} - positions[4 * list[j * kAtoms + i] + axis];
        r2 += d[axis] * d[axis];
      }
      if (r2 >= 13) continue;
      const double strength = (1.5 / std::pow(r2, 3) - 2) / std::pow(r2, 4);
      for (int axis = 0; axis < 3; ++axis) force[axis] += d[axis] * strength;
      largest = std::max(largest, std::abs(strength));
    }
    for (int axis = 0; axis < 3; ++axis)
      CHECK(std::abs(found[4 * i + axis] - force[axis]) <= 1e-4 * (1 + largest));
  }
}

TEST_CASE("MD5 of examples/shoc, on the interpreter") {
  // Of "baaaaaaa", by Python's hashlib; key 1, the first letter being the lowest digit.
  const struct { std::uint32_t word[4]; } digest{{0x456d970e, 0x31b2c841, 0xc5e226ec, 0xaa41e822}};
  CompiledKernel search("md5hash", "search", {2}, 256);
  Words found(1, 99);
  search.given(0, digest);
  search.regions(1, 8);
  search.input(2, found);
  const auto nearest = search.played<std::uint32_t>(1);
  CHECK(found[0] == 1);
  CHECK((nearest[0] == 0 && nearest[1] == 1));
  CHECK((nearest[2] == 458043 && nearest[3] == 3725));
}

TEST_CASE("a neural network of examples/shoc, on the interpreter") {
  constexpr std::size_t kNeurons = 256, kBatch = 32;
  auto in = drawn_values<float>(kBatch * kNeurons, 15, 100),
       weights = drawn_values<float>(kNeurons * kNeurons, 16, 100);
  auto bias = drawn_values<float>(kNeurons, 17, 100);
  for (float& weight : weights) weight = (weight - 50) / 1000;
  for (float& value : in) value /= 100;
  CompiledKernel feed("neuralnet", "feed_forward", {kNeurons / 32, kBatch / 32}, 256);
  feed.input(0, in);
  feed.input(1, weights);
  feed.input(2, bias);
  feed.output(3, std::vector<float>(kBatch * kNeurons));
  const auto out = feed.played<float>(1);
  for (std::size_t at = 0; at < out.size(); at += 61) {
    double sum = bias[at % kNeurons];
    for (std::size_t from = 0; from < kNeurons; ++from)
      sum += double{in[at / kNeurons * kNeurons + from]} * weights[from * kNeurons + at % kNeurons];
    check_close(out[at], 1 / (1 + std::exp(-sum)));
  }
}

TEST_CASE("a stencil of examples/shoc, on the interpreter") {
  constexpr std::int32_t kColumns = 200, kRows = 40;  // tiles of 128 by 32
  const auto from = drawn_values<float>(kColumns * kRows, 18, 1000);
  CompiledKernel stencil("stencil2d", "stencil", {2, 2}, 256);
  stencil.input(0, from);
  stencil.output(1, std::vector<float>(from.size()));
  stencil.given(2, kColumns);
  stencil.given(3, kRows);
  const auto to = stencil.played<float>(1);
  for (int at = 0; at < kColumns * kRows; ++at) {
    const int x = at % kColumns, y = at / kColumns;
    double expected = from[at];
    if (x > 0 && y > 0 && x < kColumns - 1 && y < kRows - 1) {
      const double sides = from[at - 1] + from[at + 1] + from[at - kColumns] + from[at + kColumns];
      const double corners = from[at - kColumns - 1] + from[at - kColumns + 1] + from[at + kColumns - 1] +
                             from[at + kColumns + 1];
      expected = 0.5 * from[at] + 0.075 * sides + 0.05 * corners;
    }
    if (std::abs(to[at] - expected) > 1e-2) {
      INFO("point " << x << ", " << y);
      REQUIRE(to[at] == expected);
    }
  }
}

#else

TEST_CASE("kernels of examples/shoc, on the interpreter") { WARN("skipped: no CUDA toolkit"); }

#endif
