// Reduction: sums of floats. Each block sums up its part; the host adds up what the blocks have found.
#include "shoc.hpp"

namespace {

constexpr int kThreads = 256;
constexpr std::size_t kPart = 16'384;  // elements of a block

}  // namespace

__global__ void reduce(const float* in, float* sums, std::size_t n) {
  __shared__ float shared[kThreads];
  const std::size_t first = static_cast<std::size_t>(blockIdx.x) * kPart;
  const std::size_t end = min(n, first + kPart);
  float sum = 0;
  for (std::size_t i = first + threadIdx.x; i < end; i += kThreads) sum += in[i];
  shared[threadIdx.x] = sum;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = shared[0];
}

namespace {

class Reduction final : public shoc::Benchmark {
 public:
  // 4 bytes an element at 3 TB/s: 2.06 ms.
  explicit Reduction(double scale)
      : n_(shoc::scaled(1545e6, scale)), in_(n_), sums_((n_ + kPart - 1) / kPart) {
    const auto values = shoc::pattern<float>(3, 16);
    in_.repeat(values);
    before_.resize(values.size() + 1);
    for (std::size_t i = 0; i < values.size(); ++i)
      before_[i + 1] = before_[i] + static_cast<std::uint64_t>(values[i]);
  }

  void launch() override {
    reduce<<<static_cast<unsigned>(sums_.size()), kThreads>>>(in_.data(), sums_.data(), n_);
  }

  std::vector<shoc::Region> outputs() const override { return {shoc::region(sums_)}; }

  // All of them: sums of so few small numbers are exact.
  void check(shoc::Sample&) override {
    const std::vector<float> sums = sums_.all();
    for (std::size_t block = 0; block < sums.size(); ++block) {
      const std::size_t first = block * kPart, end = std::min(n_, first + kPart);
      shoc::need_equal("sum", block, sums[block], static_cast<float>(sum_below(end) - sum_below(first)));
    }
  }

 private:
  std::uint64_t sum_below(std::size_t i) const {
    return i / shoc::kPattern * before_.back() + before_[i % shoc::kPattern];
  }

  std::size_t n_;
  std::vector<std::uint64_t> before_;  // sums of the pattern's first elements
  shoc::Buffer<float> in_, sums_;
};

}  // namespace

int main(int argc, char** argv) { return shoc::run<Reduction>("reduction", argc, argv); }
