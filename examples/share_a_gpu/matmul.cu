// matMul: C = A B, by tiles in shared memory (CUDA SDK), of small whole numbers, so that sums are exact. A
// launch computes one of 64 bands of C's rows.
#include "table1.hpp"

namespace {

constexpr unsigned kTile = 64, kDepth = 16, kEach = 4;  // a thread has 4 x 4 entries of a tile of C
constexpr long kBands = 64;

struct Small {
  std::uint64_t seed;
  __host__ __device__ float operator()(std::size_t i) const {
    return static_cast<float>(table1::mixed(seed + i) >> 61);
  }
};
constexpr Small kA{1ULL << 60}, kB{1ULL << 61};

}  // namespace

// Rows [first, last) of C; A has k columns, B and C have n.
__global__ void multiply(const float* a, const float* b, float* c, std::size_t first, std::size_t last,
                         std::size_t k, std::size_t n) {
  __shared__ float of_a[kDepth][kTile + 1], of_b[kDepth][kTile];
  const std::size_t across = (n + kTile - 1) / kTile, down = (last - first + kTile - 1) / kTile;
  const unsigned thread = threadIdx.x, x = thread % kDepth * kEach, y = thread / kDepth * kEach;
  for (std::size_t t = blockIdx.x; t < across * down; t += gridDim.x) {
    const std::size_t top = first + t / across * kTile, left = t % across * kTile;
    float sums[kEach][kEach] = {};
    for (std::size_t at = 0; at < k; at += kDepth) {
      for (unsigned i = thread; i < kTile * kDepth; i += blockDim.x) {
        const std::size_t row = top + i / kDepth, inner = at + i % kDepth;
        of_a[i % kDepth][i / kDepth] = row < last && inner < k ? a[row * k + inner] : 0;
        const std::size_t column = left + i % kTile, depth = at + i / kTile;
        of_b[i / kTile][i % kTile] = column < n && depth < k ? b[depth * n + column] : 0;
      }
      __syncthreads();
#pragma unroll
      for (unsigned d = 0; d < kDepth; ++d)
#pragma unroll
        for (unsigned r = 0; r < kEach; ++r)
#pragma unroll
          for (unsigned s = 0; s < kEach; ++s) sums[r][s] += of_a[d][y + r] * of_b[d][x + s];
      __syncthreads();
    }
    for (unsigned r = 0; r < kEach; ++r)
      for (unsigned s = 0; s < kEach; ++s)
        if (top + y + r < last && left + x + s < n) c[(top + y + r) * n + left + x + s] = sums[r][s];
  }
}

namespace {

class MatMul final : public table1::Problem {
 public:
  // A has five rows where B has four, as in Table I: 25k x 20k and 20k x 20k.
  explicit MatMul(std::size_t bytes)
      : k_(std::max<std::size_t>(1, std::sqrt(bytes / 4.0 / 3.5))),
        rows_(std::max<std::size_t>(1, (bytes / 4 - std::min(bytes / 4, k_ * k_)) / (2 * k_))),
        a_(rows_ * k_),
        b_(k_ * k_),
        c_(rows_ * k_) {
    table1::fill_all(a_, kA);
    table1::fill_all(b_, kB);
  }

  void job(long rounds) override {
    for (long r = 0; r < rounds; ++r, band_ = (band_ + 1) % kBands) {
      const std::size_t first = begin_of(band_), last = begin_of(band_ + 1);
      done_ = std::max(done_, last);
      if (first == last) continue;
      const std::size_t tiles = (last - first + kTile - 1) / kTile * ((k_ + kTile - 1) / kTile);
      multiply<<<table1::blocks(tiles, 1), kTile * kTile / kEach / kEach>>>(a_.data(), b_.data(), c_.data(),
                                                                            first, last, k_, k_);
      LAUNCHED();
    }
  }

  void check(table1::Sample& sample) override {
    table1::need_all("entries of A", a_, a_.size(), kA);
    table1::need_all("entries of B", b_, b_.size(), kB);
    for (int n = 0; n < 64 && done_ > 0; ++n) {
      const std::size_t row = table1::drawn(sample, done_), column = table1::drawn(sample, k_);
      double expected = 0;
      for (std::size_t i = 0; i < k_; ++i) expected += double{kA(row * k_ + i)} * kB(i * k_ + column);
      const float found = c_.at(row * k_ + column);
      table1::need(found == expected, "entry of C", row * k_ + column, found, expected);
    }
  }

  std::uint64_t result() override { return table1::checksum(c_); }

 private:
  std::size_t begin_of(long band) const { return rows_ * static_cast<std::size_t>(band) / kBands; }

  std::size_t k_, rows_, done_ = 0;
  long band_ = 0;
  table1::Buffer<float> a_, b_, c_;
};

}  // namespace

int main(int argc, char** argv) { return table1::run<MatMul>("matmul", kBands, argc, argv); }
