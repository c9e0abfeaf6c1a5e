// FFT: many one-dimensional transforms of 512 complex numbers each, by 64 threads with eight numbers each, in
// three steps of radix 8 with shared memory between them.
#include "shoc.hpp"

namespace {

constexpr int kPoints = 512, kThreadsEach = 64, kTogether = 4, kThreads = kThreadsEach * kTogether;

}  // namespace

__device__ float2 operator+(float2 a, float2 b) { return {a.x + b.x, a.y + b.y}; }
__device__ float2 operator-(float2 a, float2 b) { return {a.x - b.x, a.y - b.y}; }
__device__ float2 times(float2 a, float2 b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }
__device__ float2 times_minus_i(float2 a) { return {a.y, -a.x}; }

// Every second of v, from `first` on, becomes the transform of four numbers.
__device__ void transform4(const float2 (&in)[4], float2 (&v)[8], int first) {
  const float2 a = in[0] + in[2], b = in[0] - in[2], c = in[1] + in[3], d = times_minus_i(in[1] - in[3]);
  v[first] = a + c;
  v[first + 2] = b + d;
  v[first + 4] = a - c;
  v[first + 6] = b - d;
}

__device__ void transform8(float2 (&v)[8]) {
  constexpr float kHalfRoot = 0.70710678118654752F;
  float2 even[4], odd[4];
  for (int i = 0; i < 4; ++i) even[i] = v[i] + v[i + 4], odd[i] = v[i] - v[i + 4];
  odd[1] = times(odd[1], {kHalfRoot, -kHalfRoot});
  odd[2] = times_minus_i(odd[2]);
  odd[3] = times(odd[3], {-kHalfRoot, -kHalfRoot});
  transform4(even, v, 0);
  transform4(odd, v, 1);
}

// roots[k] = exp(-2 pi i k / 512)
__global__ void fft512(const float2* in, float2* out, const float2* roots) {
  __shared__ float2 shared[kTogether * kPoints];
  const int t = threadIdx.x % kThreadsEach;
  float2* own = shared + threadIdx.x / kThreadsEach * kPoints;
  const std::size_t first =
      (static_cast<std::size_t>(blockIdx.x) * kTogether + threadIdx.x / kThreadsEach) * kPoints;
  float2 v[8];
  // x = 64 a + 8 b + c to k = k1 + 8 k2 + 64 k3: over a, then b, then c.
  for (int a = 0; a < 8; ++a) v[a] = in[first + 64 * a + t];
  transform8(v);
  for (int k1 = 0; k1 < 8; ++k1) own[64 * k1 + t] = times(v[k1], roots[t * k1]);
  __syncthreads();
  const int k1 = t / 8, c = t % 8;
  for (int b = 0; b < 8; ++b) v[b] = own[64 * k1 + 8 * b + c];
  transform8(v);
  for (int k2 = 0; k2 < 8; ++k2) own[64 * k1 + 8 * k2 + c] = times(v[k2], roots[8 * c * k2]);
  __syncthreads();
  const int last_k1 = t % 8, k2 = t / 8;
  for (int i = 0; i < 8; ++i) v[i] = own[64 * last_k1 + 8 * k2 + i];
  transform8(v);
  for (int k3 = 0; k3 < 8; ++k3) out[first + 64 * k3 + t] = v[k3];
}

namespace {

class Fft final : public shoc::Benchmark {
 public:
  // 8 KiB a transform at 2.7 TB/s: 1.17 ms.
  explicit Fft(double scale)
      : transforms_(shoc::scaled(386e3, scale, kTogether)), in_(transforms_ * kPoints), out_(in_.size()) {
    const auto drawn = shoc::pattern<std::uint32_t>(7, 1 << 20, 2 * kPattern);
    for (std::size_t i = 0; i < kPattern; ++i)
      values_.push_back({static_cast<float>(drawn[2 * i]) / (1 << 19) - 1,
                         static_cast<float>(drawn[2 * i + 1]) / (1 << 19) - 1});
    in_.repeat(values_);
  }

  void launch() override {
    fft512<<<static_cast<unsigned>(transforms_ / kTogether), kThreads>>>(in_.data(), out_.data(),
                                                                         roots_.data());
  }

  std::vector<shoc::Region> outputs() const override { return {shoc::region(out_)}; }

  void check(shoc::Sample& sample) override {
    for (int i = 0; i < 256; ++i) {
      const std::size_t first = shoc::drawn(sample, transforms_) * kPoints;
      const std::vector<float2> found = out_.part(first, kPoints);
      for (int each = 0; each < 16; ++each) {
        const std::size_t k = shoc::drawn(sample, kPoints);
        double re = 0, im = 0;
        for (std::size_t x = 0; x < kPoints; ++x) {
          const float2 value = values_[(first + x) % kPattern];
          const double angle = -2 * M_PI * static_cast<double>(k * x % kPoints) / kPoints,
                       cosine = std::cos(angle), sine = std::sin(angle);
          re += value.x * cosine - value.y * sine;
          im += value.x * sine + value.y * cosine;
        }
        shoc::need_close("real part", first + k, found[k].x, re, 1e-4);
        shoc::need_close("imaginary part", first + k, found[k].y, im, 1e-4);
      }
    }
  }

 private:
  static constexpr std::size_t kPattern = 4'194'301;  // a prime

  static std::vector<float2> roots() {
    std::vector<float2> made;
    for (int k = 0; k < kPoints; ++k)
      made.push_back({static_cast<float>(std::cos(2 * M_PI * k / kPoints)),
                      static_cast<float>(-std::sin(2 * M_PI * k / kPoints))});
    return made;
  }

  std::size_t transforms_;
  std::vector<float2> values_;
  shoc::Buffer<float2> in_, out_, roots_{roots()};
};

}  // namespace

int main(int argc, char** argv) { return shoc::run<Fft>("fft", argc, argv); }
