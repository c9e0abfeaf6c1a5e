// MM: matrix multiplication in tiles kept in shared memory (FRS paper, Table I). The matrices are n x depth
// and depth x n, as the length of a block-task grows with the depth and their number with n.
#include <cmath>

#include "hw/kernels/cuda_problem.hpp"
#include "hw/kernels/host_problem.hpp"
#include "hw/kernels/outputs.hpp"
#ifdef __CUDACC__
#include "hw/cuda/device_array.cuh"
#endif

namespace gangway {
namespace {

struct Shape {
  std::int64_t n, depth, tile;
  std::int64_t tiles() const { return (n + tile - 1) / tile; }  // along one side of the product
};

class Reference {
 public:
  Reference(const Shape& shape, std::uint64_t seed)
      : a(seed, 0),
        b(seed, 1),
        n_(static_cast<std::uint64_t>(shape.n)),
        depth_(static_cast<std::uint64_t>(shape.depth)),
        sample_(n_ * n_, 2 * depth_, seed) {}

  // Of a sum of `depth` positive products in floats, added in any order, the relative rounding error is below
  // depth * 2^-23. A missing product is noticed up to a depth of about 1,400.
  std::string compare(const float* product, std::uint64_t first, std::uint64_t count) const {
    return sample_.compare(product, first, count, [&](std::uint64_t i, float is) {
      const std::uint64_t row = i / n_, column = i % n_;
      double right = 0;
      for (std::uint64_t k = 0; k < depth_; ++k)
        right += static_cast<double>(a.real(row * depth_ + k)) * static_cast<double>(b.real(k * n_ + column));
      const double error = std::abs(static_cast<double>(is) - right);
      if (error <= right * static_cast<double>(depth_) * 0x1p-23) return std::string();
      return unequal(static_cast<double>(is), right);
    });
  }

  Inputs a, b;

 private:
  std::uint64_t n_, depth_;
  Sample sample_;
};

#ifdef __CUDACC__

template <int kTile>
GANGWAY_KERNEL(multiply, const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
               int n, int depth) {
  __shared__ float of_a[kTile][kTile], of_b[kTile][kTile];
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  const int row = static_cast<int>(blockIdx.y) * kTile + y, column = static_cast<int>(blockIdx.x) * kTile + x;
  float sum = 0;
  for (int k = 0; k < depth; k += kTile) {
    of_a[y][x] = row < n && k + x < depth ? a[row * depth + k + x] : 0;
    of_b[y][x] = k + y < depth && column < n ? b[(k + y) * n + column] : 0;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kTile; ++i) sum += of_a[y][i] * of_b[i][x];
    __syncthreads();
  }
  if (row < n && column < n) c[row * n + column] = sum;
}

template <int kTile>
using Form = preemptible::Kernel<&multiply<kTile>, kTile * kTile, 2048 / (kTile * kTile)>;

template <int kTile>
class OnCuda : public FormedProblem<Form<kTile>> {
 public:
  OnCuda(const Shape& shape, std::uint64_t seed)
      : FormedProblem<Form<kTile>>(
            dim3(static_cast<unsigned>(shape.tiles()), static_cast<unsigned>(shape.tiles())),
            dim3(kTile, kTile)),
        n_(static_cast<int>(shape.n)),
        depth_(static_cast<int>(shape.depth)),
        reference_(shape, seed),
        a_(shape.n * shape.depth),
        b_(shape.depth * shape.n),
        c_(shape.n * shape.n) {
    fill(a_, Reals{reference_.a});
    fill(b_, Reals{reference_.b});
    poison();
  }
  void launch(preemptible::Session& session, BlockRange range) const override {
    this->start(session, range, a_.data(), b_.data(), c_.data(), n_, depth_);
  }
  void launch_original(preemptible::Session& session) const override {
    this->form().launch_original(session, a_.data(), b_.data(), c_.data(), n_, depth_);
  }
  void poison() override { c_.fill_bytes(kPoison); }
  std::vector<OutputMemory> outputs() const override { return {memory_of(c_)}; }
  std::string difference() const override {
    return c_.in_parts([&](const float* product, std::uint64_t first, std::uint64_t count) {
      return reference_.compare(product, first, count);
    });
  }

 private:
  int n_, depth_;
  Reference reference_;
  DeviceArray<float> a_, b_, c_;
};

#endif

class OnHost : public HostProblem {
 public:
  OnHost(const Shape& shape, std::uint64_t seed)
      : n_(static_cast<std::size_t>(shape.n)),
        depth_(static_cast<std::size_t>(shape.depth)),
        tile_(static_cast<std::size_t>(shape.tile)),
        tiles_(static_cast<std::size_t>(shape.tiles())),
        reference_(shape, seed),
        a_(host_array<float>(n_ * depth_)),
        b_(host_array<float>(depth_ * n_)),
        c_(host_array<float>(n_ * n_)) {
    for (std::size_t i = 0; i < a_.size(); ++i) {
      a_[i] = reference_.a.real(i);
      b_[i] = reference_.b.real(i);
    }
    poison_all(c_);
  }
  void block_task(std::uint32_t index) override {
    const std::size_t top = index / tiles_ * tile_, left = index % tiles_ * tile_;
    const std::size_t bottom = std::min(top + tile_, n_), right = std::min(left + tile_, n_);
    for (std::size_t row = top; row < bottom; ++row)
      for (std::size_t column = left; column < right; ++column) {
        float sum = 0;
        for (std::size_t k = 0; k < depth_; ++k) sum += a_[row * depth_ + k] * b_[k * n_ + column];
        c_[row * n_ + column] = sum;
      }
  }
  void poison() override { poison_all(c_); }
  std::string difference() const override { return reference_.compare(c_.data(), 0, c_.size()); }

 private:
  std::size_t n_, depth_, tile_, tiles_;
  Reference reference_;
  std::vector<float> a_, b_, c_;
};

class MatrixMultiplication : public KernelCode {
 public:
  explicit MatrixMultiplication(const ParameterValues& values)
      : shape_{values.integer("n"), values.integer("depth"), values.choice("tile") == "16" ? 16 : 32} {}

  Dimensions grid() const override { return {shape_.tiles(), shape_.tiles(), 1}; }
  Dimensions block() const override { return {shape_.tile, shape_.tile, 1}; }
  Bytes memory() const override { return {4 * (2 * shape_.n * shape_.depth + shape_.n * shape_.n)}; }
  std::unique_ptr<HostProblem> on_host(std::uint64_t seed) const override {
    return std::make_unique<OnHost>(shape_, seed);
  }
  std::unique_ptr<CudaProblem> on_cuda([[maybe_unused]] std::uint64_t seed) const override {
#ifdef __CUDACC__
    if (shape_.tile == 16) return std::make_unique<OnCuda<16>>(shape_, seed);
    return std::make_unique<OnCuda<32>>(shape_, seed);
#else
    return nullptr;
#endif
  }

 private:
  Shape shape_;
};

const KernelRegistration<MatrixMultiplication> registered{
    "MM",
    "matrix multiplication in tiles, one for each block",
    // About 1.4 ms at 8 TFLOP/s, in block-tasks of about 43 us.
    {{"n", "rows and columns of the product", Parameter::Integer{2976, 1, 32'768}},
     {"depth", "columns of the first matrix, rows of the second", Parameter::Integer{640, 1, 32'768}},
     {"tile", "side of the square that a block computes", Parameter::Choice{{"32", "16"}}}},
    "{n: 200, depth: 70}"};

}  // namespace
}  // namespace gangway
