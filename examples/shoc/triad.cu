// Triad: a = b + s c, as STREAM has it.
#include "shoc.hpp"

namespace {

constexpr int kThreads = 256, kEach = 8;

}  // namespace

__global__ void triad(float* a, const float* b, const float* c, float s, std::size_t n) {
  std::size_t i = static_cast<std::size_t>(blockIdx.x) * (kThreads * kEach) + threadIdx.x;
#pragma unroll
  for (int each = 0; each < kEach; ++each, i += kThreads)
    if (i < n) a[i] = b[i] + s * c[i];
}

namespace {

class Triad final : public shoc::Benchmark {
 public:
  // 12 bytes an element at 3 TB/s: 1.22 ms.
  explicit Triad(double scale) : n_(shoc::scaled(305e6, scale)), a_(n_), b_(n_), c_(n_) {
    b_.repeat(b_values_);
    c_.repeat(c_values_);
  }

  void launch() override {
    const auto blocks = static_cast<unsigned>((n_ + kThreads * kEach - 1) / (kThreads * kEach));
    triad<<<blocks, kThreads>>>(a_.data(), b_.data(), c_.data(), kFactor, n_);
  }

  std::vector<shoc::Region> outputs() const override { return {shoc::region(a_)}; }

  void check(shoc::Sample& sample) override {
    constexpr std::size_t kRun = 4096;  // elements that are fetched together
    for (int runs = 0; runs < 256; ++runs) {
      const std::size_t first = shoc::drawn(sample, n_), count = std::min(kRun, n_ - first);
      const std::vector<float> found = a_.part(first, count);
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t at = (first + i) % shoc::kPattern;
        shoc::need_equal("element", first + i, found[i], b_values_[at] + kFactor * c_values_[at]);
      }
    }
  }

 private:
  static constexpr float kFactor = 1.75F;  // of numbers below 2^20: exact, fused or not
  std::size_t n_;
  std::vector<float> b_values_ = shoc::pattern<float>(1, 1 << 20),
                     c_values_ = shoc::pattern<float>(2, 1 << 20);
  shoc::Buffer<float> a_, b_, c_;
};

}  // namespace

int main(int argc, char** argv) { return shoc::run<Triad>("triad", argc, argv); }
