// SPMV: product of a sparse matrix in CSR and a vector, one warp for each row (FRS paper, Table I). Bound by
// memory: 8 bytes an element that is read once, and 4 of the vector from anywhere.
#include <cmath>

#include "hw/kernels/outputs.hpp"
#include "hw/kernels/shaped_code.hpp"
#ifdef __CUDACC__
#include "hw/cuda/device_array.cuh"
#endif

namespace gangway {
namespace {

constexpr std::int64_t kThreads = 256, kWarps = kThreads / 32;

struct Shape {
  std::int64_t rows, columns, mean, per_block;
  std::int64_t block_tasks() const { return blocks_for(rows, per_block); }
  std::int64_t elements() const { return rows * mean; }
};

// Rows have 0 to 2 * mean elements. The two rows of a pair have 2 * mean together, so that each row's place
// follows without adding up those before it.
struct Offsets {
  Inputs lengths;
  std::uint32_t rows, mean;
  GANGWAY_ANYWHERE std::uint32_t operator()(std::uint64_t row) const {
    const auto even = static_cast<std::uint32_t>(row / 2 * 2) * mean;
    if (row % 2 == 0) return even;
    return row == rows ? even + mean : even + lengths.bits(row / 2) % (2 * mean + 1);
  }
};

struct Columns {
  Inputs inputs;
  std::uint32_t columns;
  GANGWAY_ANYWHERE std::uint32_t operator()(std::uint64_t i) const { return inputs.bits(i) % columns; }
};

class Reference {
 public:
  Reference(const Shape& shape, std::uint64_t seed)
      : offsets{{seed, 0}, static_cast<std::uint32_t>(shape.rows), static_cast<std::uint32_t>(shape.mean)},
        columns{{seed, 1}, static_cast<std::uint32_t>(shape.columns)},
        values(seed, 2),
        x(seed, 3),
        sample_(shape.rows, 2 * shape.mean, seed) {}

  // Each of 32 lanes adds up every 32nd of the row's positive products, so the relative rounding error is
  // below (length / 32 + 8) * 2^-23. A missing product is noticed up to a length of about 8,000.
  std::string compare(const float* y, std::uint64_t first, std::uint64_t count) const {
    return sample_.compare(y, first, count, [&](std::uint64_t row, float is) {
      const std::uint32_t begin = offsets(row), end = offsets(row + 1);
      double right = 0;
      for (std::uint32_t i = begin; i < end; ++i)
        right += static_cast<double>(values.real(i)) * static_cast<double>(x.real(columns(i)));
      const double error = std::abs(static_cast<double>(is) - right);
      if (error <= right * ((end - begin) / 32 + 8) * 0x1p-23) return std::string();
      return unequal(static_cast<double>(is), right);
    });
  }

  Offsets offsets;
  Columns columns;
  Inputs values, x;

 private:
  Sample sample_;
};

#ifdef __CUDACC__

GANGWAY_KERNEL(multiply_rows, const std::uint32_t* __restrict__ offsets,
               const std::uint32_t* __restrict__ columns, const float* __restrict__ values,
               const float* __restrict__ x, float* __restrict__ y, std::uint32_t rows,
               std::uint32_t per_block) {
  const std::uint32_t first = blockIdx.x * per_block, lane = threadIdx.x % 32;
  const std::uint32_t last = min(first + per_block, rows);
  for (std::uint32_t row = first + threadIdx.x / 32; row < last; row += kWarps) {
    const std::uint32_t end = offsets[row + 1];
    float sum = 0;
#pragma unroll 4
    for (std::uint32_t i = offsets[row] + lane; i < end; i += 32) sum += values[i] * x[columns[i]];
    for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_down_sync(0xFFFFFFFFu, sum, lanes);
    if (lane == 0) y[row] = sum;
  }
}

using Form = preemptible::Kernel<&multiply_rows, kThreads, 8>;

class OnCuda : public FormedProblem<Form> {
 public:
  OnCuda(const Shape& shape, std::uint64_t seed)
      : FormedProblem(static_cast<unsigned>(shape.block_tasks()), static_cast<unsigned>(kThreads)),
        rows_(static_cast<std::uint32_t>(shape.rows)),
        per_block_(static_cast<std::uint32_t>(shape.per_block)),
        reference_(shape, seed),
        offsets_(shape.rows + 1),
        columns_(shape.elements()),
        values_(shape.elements()),
        x_(shape.columns),
        y_(shape.rows) {
    fill(offsets_, reference_.offsets);
    fill(columns_, reference_.columns);
    fill(values_, Reals{reference_.values});
    fill(x_, Reals{reference_.x});
    poison();
  }
  void launch(preemptible::Session& session, BlockRange range) const override {
    start(session, range, offsets_.data(), columns_.data(), values_.data(), x_.data(), y_.data(), rows_,
          per_block_);
  }
  void launch_original(preemptible::Session& session) const override {
    form().launch_original(session, offsets_.data(), columns_.data(), values_.data(), x_.data(), y_.data(),
                           rows_, per_block_);
  }
  void poison() override { y_.fill_bytes(kPoison); }
  std::vector<OutputMemory> outputs() const override { return {memory_of(y_)}; }
  std::string difference() const override {
    return y_.in_parts([&](const float* y, std::uint64_t first, std::uint64_t count) {
      return reference_.compare(y, first, count);
    });
  }

 private:
  std::uint32_t rows_, per_block_;
  Reference reference_;
  DeviceArray<std::uint32_t> offsets_, columns_;
  DeviceArray<float> values_, x_, y_;
};

#else

class OnCuda;

#endif

class OnHost : public HostProblem {
 public:
  OnHost(const Shape& shape, std::uint64_t seed)
      : each_(static_cast<std::size_t>(shape.per_block)),
        reference_(shape, seed),
        offsets_(host_array<std::uint32_t>(shape.rows + 1)),
        columns_(host_array<std::uint32_t>(shape.elements())),
        values_(host_array<float>(shape.elements())),
        x_(host_array<float>(shape.columns)),
        y_(host_array<float>(shape.rows)) {
    for (std::size_t row = 0; row < offsets_.size(); ++row) offsets_[row] = reference_.offsets(row);
    for (std::size_t i = 0; i < values_.size(); ++i) {
      columns_[i] = reference_.columns(i);
      values_[i] = reference_.values.real(i);
    }
    for (std::size_t i = 0; i < x_.size(); ++i) x_[i] = reference_.x.real(i);
    poison_all(y_);
  }
  void block_task(std::uint32_t index) override {
    const std::size_t last = std::min((index + std::size_t{1}) * each_, y_.size());
    for (std::size_t row = index * each_; row < last; ++row) {
      float of_lane[32] = {};  // in the warp's order, as the tolerance counts on short sums
      for (std::uint32_t i = offsets_[row]; i < offsets_[row + 1]; ++i)
        of_lane[(i - offsets_[row]) % 32] += values_[i] * x_[columns_[i]];
      for (int lanes = 16; lanes > 0; lanes /= 2)
        for (int lane = 0; lane < lanes; ++lane) of_lane[lane] += of_lane[lane + lanes];
      y_[row] = of_lane[0];
    }
  }
  void poison() override { poison_all(y_); }
  std::string difference() const override { return reference_.compare(y_.data(), 0, y_.size()); }

 private:
  std::size_t each_;
  Reference reference_;
  std::vector<std::uint32_t> offsets_, columns_;
  std::vector<float> values_, x_, y_;
};

class SparseMatrixVector : public ShapedCode<Shape, OnHost, OnCuda> {
 public:
  explicit SparseMatrixVector(const ParameterValues& values)
      : ShapedCode({values.integer("rows"), values.integer("columns"), values.integer("mean"),
                    values.integer("per_block")}) {
    if (shape_.per_block % kWarps != 0) throw std::invalid_argument("per_block must be a multiple of 8");
    if (shape_.elements() >= std::int64_t{1} << 31)
      throw std::invalid_argument("rows * mean must be below 2^31");
  }
  Dimensions grid() const override { return {shape_.block_tasks(), 1, 1}; }
  Dimensions block() const override { return {kThreads, 1, 1}; }
  Bytes memory() const override {
    return {4 * (2 * shape_.elements() + 2 * shape_.rows + 1 + shape_.columns)};
  }
};

const KernelRegistration<SparseMatrixVector> registered{
    "SPMV",
    "product of a sparse matrix (CSR) and a vector, one warp for each row",
    // About 8.4 ms at 150 elements a nanosecond, which is a guess at what reads of the vector from the second
    // cache allow; block-tasks of about 70 us.
    {{"rows", "of the matrix", Parameter::Integer{1'048'576, 1, std::int64_t{1} << 28}},
     {"columns", "of the matrix", Parameter::Integer{1'048'576, 1, std::int64_t{1} << 30}},
     {"mean", "elements of a row; rows have 0 to twice as many", Parameter::Integer{1200, 1, 65'536}},
     {"per_block", "rows that a block multiplies; a multiple of 8", Parameter::Integer{8, 8, 8192}}},
    "{rows: 4003, columns: 1009, mean: 45, per_block: 16}"};

}  // namespace
}  // namespace gangway
