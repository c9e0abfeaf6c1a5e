// Scan: exclusive prefix sums of floats, in three kernels: sums of parts, their prefix sums, and the parts'.
#include "shoc.hpp"

namespace {

constexpr int kThreads = 256, kEach = 32;
constexpr std::size_t kPart = kThreads * kEach;  // elements of a block
constexpr int kTopThreads = 1024;

}  // namespace

// Of a value for each thread; all threads of the block call it.
template <int Threads>
__device__ float sum_of_those_before(float value, float* shared) {
  shared[threadIdx.x] = value;
  __syncthreads();
  for (int distance = 1; distance < Threads; distance *= 2) {
    const float other = threadIdx.x >= distance ? shared[threadIdx.x - distance] : 0;
    __syncthreads();
    shared[threadIdx.x] += other;
    __syncthreads();
  }
  return shared[threadIdx.x] - value;
}

__global__ void sum_parts(const float* in, float* sums, std::size_t n) {
  __shared__ float shared[kThreads];
  const std::size_t first = static_cast<std::size_t>(blockIdx.x) * kPart;
  float sum = 0;
  for (int each = 0; each < kEach; ++each)
    if (const std::size_t i = first + each * kThreads + threadIdx.x; i < n) sum += in[i];
  const float before = sum_of_those_before<kThreads>(sum, shared);
  if (threadIdx.x == kThreads - 1) sums[blockIdx.x] = before + sum;
}

// In place, by one block.
__global__ void scan_sums(float* sums, int parts) {
  __shared__ float shared[kTopThreads];
  const int each = (parts + kTopThreads - 1) / kTopThreads;
  const int first = min(parts, static_cast<int>(threadIdx.x) * each), end = min(parts, first + each);
  float sum = 0;
  for (int i = first; i < end; ++i) sum += sums[i];
  float before = sum_of_those_before<kTopThreads>(sum, shared);
  for (int i = first; i < end; ++i) {
    const float value = sums[i];
    sums[i] = before;
    before += value;
  }
}

// Through shared memory, so that threads with successive elements read and write side by side.
__global__ void scan_parts(const float* in, const float* sums, float* out, std::size_t n) {
  __shared__ float elements[kThreads * (kEach + 1)];
  __shared__ float shared[kThreads];
  const std::size_t first = static_cast<std::size_t>(blockIdx.x) * kPart;
  for (int i = threadIdx.x; i < kPart; i += kThreads)
    elements[i + i / kEach] = first + i < n ? in[first + i] : 0;
  __syncthreads();
  float* own = elements + threadIdx.x * (kEach + 1);
  float sum = 0;
  for (int i = 0; i < kEach; ++i) sum += own[i];
  float before = sums[blockIdx.x] + sum_of_those_before<kThreads>(sum, shared);
  for (int i = 0; i < kEach; ++i) {
    const float value = own[i];
    own[i] = before;
    before += value;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kPart; i += kThreads)
    if (first + i < n) out[first + i] = elements[i + i / kEach];
}

namespace {

class Scan final : public shoc::Benchmark {
 public:
  // 12 bytes an element at 3 TB/s: 1.41 ms. A 64th of the elements is 1, the others 0: sums stay below 2^24,
  // so that they are exact.
  explicit Scan(double scale)
      : n_(shoc::scaled(350e6, scale)), in_(n_), out_(n_), sums_((n_ + kPart - 1) / kPart) {
    auto values = shoc::pattern<float>(4, 64);
    before_.resize(values.size() + 1);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = values[i] == 0 ? 1.0F : 0.0F;
      before_[i + 1] = before_[i] + static_cast<std::uint32_t>(values[i]);
    }
    in_.repeat(values);
  }

  void launch() override {
    const auto parts = static_cast<unsigned>(sums_.size());
    sum_parts<<<parts, kThreads>>>(in_.data(), sums_.data(), n_);
    scan_sums<<<1, kTopThreads>>>(sums_.data(), static_cast<int>(parts));
    scan_parts<<<parts, kThreads>>>(in_.data(), sums_.data(), out_.data(), n_);
  }

  std::vector<shoc::Region> outputs() const override { return {shoc::region(out_), shoc::region(sums_)}; }

  void check(shoc::Sample& sample) override {
    for (int runs = 0; runs < 256; ++runs) {
      const std::size_t first = shoc::drawn(sample, n_), count = std::min(kPart, n_ - first);
      const std::vector<float> found = out_.part(first, count);
      for (std::size_t i = first; i < first + count; ++i) {
        const std::uint64_t sum = i / shoc::kPattern * before_.back() + before_[i % shoc::kPattern];
        shoc::need_equal("element", i, found[i - first], static_cast<float>(sum));
      }
    }
  }

 private:
  std::size_t n_;
  std::vector<std::uint32_t> before_;  // sums of the pattern's first elements
  shoc::Buffer<float> in_, out_, sums_;
};

}  // namespace

int main(int argc, char** argv) { return shoc::run<Scan>("scan", argc, argv); }
