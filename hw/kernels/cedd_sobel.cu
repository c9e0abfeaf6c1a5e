// SCEDD: the second of Canny's four kernels, Sobel's gradient and its direction (FRS paper, Table I). 9 reads
// of shared memory and a root for each pixel, 5 bytes of memory.
#include <cmath>

#include "hw/kernels/image_gradient.hpp"
#include "hw/kernels/image_problem.hpp"

namespace gangway {
namespace {

constexpr int kTile = 32;

class GreySource {
 public:
  explicit GreySource(std::uint64_t seed) : inputs_(seed, 0) {}
  GANGWAY_ANYWHERE std::uint8_t operator[](std::uint64_t i) const {
    return static_cast<std::uint8_t>(inputs_.bits(i) >> 24);
  }

 private:
  Inputs inputs_;
};

// The tangent of 22.5 degrees is irrational; 408 / 985 stands for it exactly, as no fraction with a
// denominator up to 1020 lies between the two.
GANGWAY_ANYWHERE inline Gradient gradient(int gx, int gy) {
  const int ax = gx < 0 ? -gx : gx, ay = gy < 0 ? -gy : gy;
  const int direction = 985 * ay <= 408 * ax ? 0 : 985 * ax <= 408 * ay ? 2 : (gx < 0) == (gy < 0) ? 1 : 3;
  // Below 2^24, so the root is that of an integer, rounded correctly everywhere.
  return {static_cast<std::uint16_t>(sqrtf(static_cast<float>(gx * gx + gy * gy))),
          static_cast<std::uint16_t>(direction)};
}

#ifdef __CUDACC__

GANGWAY_KERNEL(find_gradient, const std::uint8_t* __restrict__ in, Gradient* __restrict__ out, int width,
               int height, int rows) {
  __shared__ std::uint8_t window[kTile + 2][kTile + 2];
  const Image<std::uint8_t> image{in, width, height};
  const int left = static_cast<int>(blockIdx.x) * kTile, top = static_cast<int>(blockIdx.y) * rows;
  const int bottom = min(top + rows, height), c = static_cast<int>(threadIdx.x);
  for (int tile = top; tile < bottom; tile += kTile) {
    load_window(window, left - 1, tile - 1, [&](int x, int y) { return image.nearest(x, y); });
    __syncthreads();
#pragma unroll
    for (int part = 0; part < kTile; part += kImageThreadsY) {
      const int r = part + static_cast<int>(threadIdx.y);
      const int gx = window[r][c + 2] + 2 * window[r + 1][c + 2] + window[r + 2][c + 2] - window[r][c] -
                     2 * window[r + 1][c] - window[r + 2][c];
      const int gy = window[r + 2][c] + 2 * window[r + 2][c + 1] + window[r + 2][c + 2] - window[r][c] -
                     2 * window[r][c + 1] - window[r][c + 2];
      if (left + c < width && tile + r < bottom)
        out[static_cast<std::size_t>(tile + r) * width + left + c] = gradient(gx, gy);
    }
    __syncthreads();
  }
}

#endif

struct Sobel {
  using In = std::uint8_t;
  using Out = Gradient;
  using Source = GreySource;
  static constexpr int kColumns = kTile, kRows = kTile, kReads = 9;
#ifdef __CUDACC__
  // 8 blocks on an SM would not leave the registers that it needs.
  using Form = preemptible::Kernel<&find_gradient, kImageThreadsX * kImageThreadsY, 6>;
#endif

  template <typename Put>
  static void compute(const Image<In>& image, const Strip& strip, Put put) {
    for (int y = strip.top; y < strip.bottom; ++y)
      for (int x = strip.left; x < strip.right; ++x) {
        const auto pixel = [&](int dx, int dy) { return int{image.nearest(x + dx, y + dy)}; };
        const int gx =
            pixel(1, -1) + 2 * pixel(1, 0) + pixel(1, 1) - pixel(-1, -1) - 2 * pixel(-1, 0) - pixel(-1, 1);
        const int gy =
            pixel(-1, 1) + 2 * pixel(0, 1) + pixel(1, 1) - pixel(-1, -1) - 2 * pixel(0, -1) - pixel(1, -1);
        put(x, y, gradient(gx, gy));
      }
  }

  // Equal: by the angle in doubles, which no gradient of integers has exactly between two directions. The
  // border is repeated outside.
  class Reference {
   public:
    Reference(const Source& source, int width, int height)
        : source_(source), width_(width), height_(height) {}
    std::string operator()(int x, int y, const Gradient& is) const {
      double along_x = 0, along_y = 0;
      for (int away = -1; away <= 1; ++away) {
        const int weight = 2 - std::abs(away);
        along_x += weight * (grey(x + 1, y + away) - grey(x - 1, y + away));
        along_y += weight * (grey(x + away, y + 1) - grey(x + away, y - 1));
      }
      const double eighths = std::atan2(along_y, along_x) / std::atan(1.0);
      const std::string direction =
          unequal(int{is.direction}, static_cast<int>(std::lround(eighths) + 4) % 4);
      if (!direction.empty()) return "has a direction that " + direction;
      const std::string magnitude =
          unequal(int{is.magnitude}, static_cast<int>(std::floor(std::hypot(along_x, along_y))));
      return magnitude.empty() ? magnitude : "has a magnitude that " + magnitude;
    }

   private:
    int grey(int x, int y) const {
      const std::int64_t column = std::clamp(x, 0, width_ - 1), row = std::clamp(y, 0, height_ - 1);
      return source_[static_cast<std::uint64_t>(row * width_ + column)];
    }

    Source source_;
    int width_, height_;
  };
};

const KernelRegistration<ImageCode<Sobel>> registered{
    "cedd_sobel", "Canny 2 of 4: Sobel's gradient and its direction (SCEDD)",
    // About 2 ms at 300 pixels a nanosecond, a guess, in block-tasks of about 14 us.
    image_parameters(24'576, 24'576, 128, kTile), "{width: 203, height: 101, rows: 64}"};

}  // namespace
}  // namespace gangway
