// Stencil2D: each point becomes a weighted sum of itself and its eight neighbours, again and again. Points at
// the grid's edge keep their value.
#include "shoc.hpp"

namespace {

constexpr int kThreads = 256, kWidth = 128, kHeight = 32;  // of a block's tile
constexpr float kCentre = 0.5F, kSide = 0.075F, kCorner = 0.05F;

}  // namespace

__global__ void stencil(const float* from, float* to, int columns, int rows) {
  __shared__ float tile[kHeight + 2][kWidth + 2];
  const int left = static_cast<int>(blockIdx.x) * kWidth, top = static_cast<int>(blockIdx.y) * kHeight;
  for (int i = threadIdx.x; i < (kHeight + 2) * (kWidth + 2); i += kThreads) {
    const int tile_x = i % (kWidth + 2), tile_y = i / (kWidth + 2);
    const int x = min(max(left + tile_x - 1, 0), columns - 1), y = min(max(top + tile_y - 1, 0), rows - 1);
    tile[tile_y][tile_x] = from[static_cast<std::size_t>(y) * columns + x];
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kHeight * kWidth; i += kThreads) {
    const int x = i % kWidth + 1, y = i / kWidth + 1, column = left + x - 1, row = top + y - 1;
    if (column >= columns || row >= rows) continue;
    const float sides = tile[y - 1][x] + tile[y + 1][x] + tile[y][x - 1] + tile[y][x + 1];
    const float corners = tile[y - 1][x - 1] + tile[y - 1][x + 1] + tile[y + 1][x - 1] + tile[y + 1][x + 1];
    const bool edge = column == 0 || row == 0 || column == columns - 1 || row == rows - 1;
    to[static_cast<std::size_t>(row) * columns + column] =
        edge ? tile[y][x] : kCentre * tile[y][x] + kSide * sides + kCorner * corners;
  }
}

namespace {

class Stencil2d final : public shoc::Benchmark {
 public:
  // 8 bytes a point and step at 2.7 TB/s: 28.4 ms in 12 steps.
  explicit Stencil2d(double scale)
      : rows_(static_cast<int>(shoc::scaled(24'384, scale, kHeight))),
        first_(static_cast<std::size_t>(kColumns) * static_cast<std::size_t>(rows_)) {
    first_.repeat(values_);
  }

  void launch() override {
    const dim3 blocks(kColumns / kWidth, static_cast<unsigned>(rows_ / kHeight));
    const float* from = first_.data();
    for (int step = 0; step < kSteps; ++step) {
      stencil<<<blocks, kThreads>>>(from, grids_[step % 2].data(), kColumns, rows_);
      from = grids_[step % 2].data();
    }
  }

  std::vector<shoc::Region> outputs() const override {
    return {shoc::region(grids_[0]), shoc::region(grids_[1])};
  }

  void check(shoc::Sample& sample) override {
    for (int i = 0; i < 512; ++i) {
      const int x = static_cast<int>(shoc::drawn(sample, kColumns)),
                y = static_cast<int>(shoc::drawn(sample, rows_));
      const std::size_t at = place(x, y);
      shoc::need_close("point", at, grids_[(kSteps - 1) % 2].part(at, 1)[0], expected(x, y), 1e-5);
    }
  }

 private:
  static constexpr int kColumns = 32'768, kSteps = 12;

  static std::size_t place(int x, int y) {
    return static_cast<std::size_t>(y) * kColumns + static_cast<std::size_t>(x);
  }

  // From the points that are at most as many steps away.
  double expected(int x, int y) const {
    constexpr int kAcross = 2 * kSteps + 1;
    const auto inside = [&](int dx, int dy) {
      return x + dx > 0 && x + dx < kColumns - 1 && y + dy > 0 && y + dy < rows_ - 1;
    };
    std::vector<double> points(kAcross * kAcross), before;
    for (int dy = -kSteps; dy <= kSteps; ++dy)
      for (int dx = -kSteps; dx <= kSteps; ++dx)
        if (x + dx >= 0 && x + dx < kColumns && y + dy >= 0 && y + dy < rows_)
          points[(dy + kSteps) * kAcross + dx + kSteps] = values_[place(x + dx, y + dy) % shoc::kPattern];
    for (int reach = kSteps - 1; reach >= 0; --reach) {
      before = points;
      for (int dy = -reach; dy <= reach; ++dy)
        for (int dx = -reach; dx <= reach; ++dx) {
          if (!inside(dx, dy)) continue;
          const double* at = before.data() + (dy + kSteps) * kAcross + dx + kSteps;
          points[(dy + kSteps) * kAcross + dx + kSteps] =
              kCentre * at[0] + kSide * (at[-1] + at[1] + at[-kAcross] + at[kAcross]) +
              kCorner * (at[-kAcross - 1] + at[-kAcross + 1] + at[kAcross - 1] + at[kAcross + 1]);
        }
    }
    return points[kSteps * kAcross + kSteps];
  }

  int rows_;
  std::vector<float> values_ = shoc::pattern<float>(8, 1 << 16);
  shoc::Buffer<float> first_;
  shoc::Buffer<float> grids_[2] = {shoc::Buffer<float>(first_.size()), shoc::Buffer<float>(first_.size())};
};

}  // namespace

int main(int argc, char** argv) { return shoc::run<Stencil2d>("stencil2d", argc, argv); }
