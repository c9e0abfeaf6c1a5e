// Spmv: a sparse matrix, in compressed rows, times a vector. A warp takes one row after the other.
#include "shoc.hpp"

namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32, kRowsEach = 8;
constexpr int kRowsOfBlock = kWarps * kRowsEach;

}  // namespace

__global__ void spmv(const float* values, const int* columns, const int* begins, const float* x, float* y,
                     int rows) {
  const int lane = threadIdx.x % 32;
  int row = static_cast<int>(blockIdx.x) * kRowsOfBlock + static_cast<int>(threadIdx.x) / 32;
  for (int each = 0; each < kRowsEach; ++each, row += kWarps) {
    if (row >= rows) return;
    float sum = 0;
    for (int i = begins[row] + lane; i < begins[row + 1]; i += 32) sum += values[i] * x[columns[i]];
    for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_down_sync(~0U, sum, distance);
    if (lane == 0) y[row] = sum;
  }
}

namespace {

class Spmv final : public shoc::Benchmark {
 public:
  // 150 elements a nanosecond, as each takes a sector of the vector from the cache: 4.57 ms with 64 a row.
  explicit Spmv(double scale)
      : rows_(static_cast<int>(shoc::scaled(10.7e6, scale))),
        begins_of_(static_cast<std::size_t>(rows_) + 1),
        x_values_(shoc::pattern<float>(6, 16, kColumns)),
        x_(x_values_),
        y_(static_cast<std::size_t>(rows_)) {
    // The rows repeat after a prime number of them.
    std::vector<int> lengths(kRows);
    for (int row = 0; row < kRows; ++row) lengths[row] = 32 + static_cast<int>(shoc::mixed(row) % 65);
    for (int row = 0; row < rows_; ++row) begins_of_[row + 1] = begins_of_[row] + lengths[row % kRows];
    const auto pattern_size = static_cast<std::size_t>(begins_of_[std::min(rows_, static_cast<int>(kRows))]);
    values_of_.resize(pattern_size);
    columns_of_.resize(pattern_size);
    for (std::size_t i = 0; i < pattern_size; ++i) {
      const std::uint64_t drawn = shoc::mixed(i + 0x5137);
      values_of_[i] = static_cast<float>(static_cast<int>(drawn % 16) - 8);
      columns_of_[i] = static_cast<int>((drawn >> 8) % kColumns);
    }
    values_.repeat(values_of_);
    columns_.repeat(columns_of_);
    NEED(cudaMemcpy(begins_.data(), begins_of_.data(), begins_.bytes(), cudaMemcpyHostToDevice));
  }

  void launch() override {
    const auto blocks = static_cast<unsigned>((rows_ + kRowsOfBlock - 1) / kRowsOfBlock);
    spmv<<<blocks, kThreads>>>(values_.data(), columns_.data(), begins_.data(), x_.data(), y_.data(), rows_);
  }

  std::vector<shoc::Region> outputs() const override { return {shoc::region(y_)}; }

  // All rows: sums of so few small numbers are exact.
  void check(shoc::Sample&) override {
    const std::vector<float> found = y_.all();
    std::vector<float> expected(std::min<std::size_t>(kRows, found.size()));
    for (std::size_t row = 0; row < expected.size(); ++row)
      for (int i = begins_of_[row]; i < begins_of_[row + 1]; ++i)
        expected[row] += values_of_[i] * x_values_[columns_of_[i]];
    for (std::size_t row = 0; row < found.size(); ++row)
      shoc::need_equal("row", row, found[row], expected[row % kRows]);
  }

 private:
  static constexpr std::size_t kColumns = 1 << 20;
  static constexpr int kRows = 262'139;

  int rows_;
  std::vector<int> begins_of_, columns_of_;
  std::vector<float> values_of_, x_values_;
  shoc::Buffer<float> x_, y_;
  shoc::Buffer<int> begins_{begins_of_.size()}, columns_{elements()};
  shoc::Buffer<float> values_{elements()};

  // Not known before the rows' lengths are: those of all whole patterns, and at most 96 for each row of the
  // rest.
  std::size_t elements() const {
    std::size_t all = 0;
    for (int row = 0; row < rows_; ++row) all += 32 + shoc::mixed(row % kRows) % 65;
    return all;
  }
};

}  // namespace

int main(int argc, char** argv) { return shoc::run<Spmv>("spmv", argc, argv); }
