// matTrans: the transpose of a matrix, in one launch, by tiles in shared memory (CUDA SDK).
#include "table1.hpp"

namespace {

constexpr unsigned kTile = 32, kRows = 8;  // a block's threads are a quarter of its tile

struct Entry {
  __host__ __device__ float operator()(std::size_t i) const {
    return static_cast<float>(table1::mixed(i) >> 40);
  }
};

struct Transposed {
  std::size_t rows, columns;  // of the matrix
  __host__ __device__ float operator()(std::size_t i) const { return Entry()(i % rows * columns + i / rows); }
};

}  // namespace

__global__ void transpose(const float* matrix, float* transposed, std::size_t rows, std::size_t columns) {
  __shared__ float tile[kTile][kTile + 1];
  const std::size_t across = (columns + kTile - 1) / kTile, down = (rows + kTile - 1) / kTile;
  for (std::size_t t = blockIdx.x; t < across * down; t += gridDim.x) {
    const std::size_t left = t % across * kTile, top = t / across * kTile;
    for (unsigned r = threadIdx.y; r < kTile; r += kRows)
      if (top + r < rows && left + threadIdx.x < columns)
        tile[r][threadIdx.x] = matrix[(top + r) * columns + left + threadIdx.x];
    __syncthreads();
    for (unsigned c = threadIdx.y; c < kTile; c += kRows)
      if (left + c < columns && top + threadIdx.x < rows)
        transposed[(left + c) * rows + top + threadIdx.x] = tile[threadIdx.x][c];
    __syncthreads();
  }
}

namespace {

class MatTrans final : public table1::Problem {
 public:
  explicit MatTrans(std::size_t bytes)
      : rows_(std::max<std::size_t>(1, std::sqrt(bytes / 8.0))),
        columns_(std::max<std::size_t>(1, bytes / 8 / rows_)),
        matrix_(rows_ * columns_),
        transposed_(rows_ * columns_) {
    table1::fill_all(matrix_, Entry());
  }

  void job(long rounds) override {
    const std::size_t tiles = (rows_ + kTile - 1) / kTile * ((columns_ + kTile - 1) / kTile);
    for (long r = 0; r < rounds; ++r) {
      transpose<<<table1::blocks(tiles, 1), dim3(kTile, kRows)>>>(matrix_.data(), transposed_.data(), rows_,
                                                                  columns_);
      LAUNCHED();
    }
  }

  void check(table1::Sample& sample) override {
    table1::need_all("entries", matrix_, matrix_.size(), Entry());
    table1::need_all("transposed entries", transposed_, transposed_.size(), Transposed{rows_, columns_});
    for (int n = 0; n < 32; ++n) {
      const std::size_t row = table1::drawn(sample, rows_), column = table1::drawn(sample, columns_);
      const float found = transposed_.at(column * rows_ + row), expected = Entry()(row * columns_ + column);
      table1::need(found == expected, "transposed entry", column * rows_ + row, found, expected);
    }
  }

  std::uint64_t result() override { return table1::checksum(transposed_); }

 private:
  std::size_t rows_, columns_;
  table1::Buffer<float> matrix_, transposed_;
};

}  // namespace

int main(int argc, char** argv) { return table1::run<MatTrans>("mattrans", 1, argc, argv); }
