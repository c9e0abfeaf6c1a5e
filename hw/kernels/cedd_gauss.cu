// GCEDD: the first of Canny's four kernels, smoothing by a Gaussian of 5 x 5 (FRS paper, Table I; weights of
// the usual integer form, which add up to 159). Bound by reads of shared memory, 25 a pixel.
#include <cmath>

#include "hw/kernels/image_problem.hpp"

namespace gangway {
namespace {

constexpr int kTile = 32, kRadius = 2, kSum = 159;

// Grey values up to 254, so that no mean of them looks like poison.
class GreySource {
 public:
  explicit GreySource(std::uint64_t seed) : inputs_(seed, 0) {}
  GANGWAY_ANYWHERE std::uint8_t operator[](std::uint64_t i) const {
    return static_cast<std::uint8_t>(inputs_.bits(i) % 255);
  }

 private:
  Inputs inputs_;
};

GANGWAY_ANYWHERE constexpr int weight(int dx, int dy) {
  constexpr int kWeights[5][5] = {
      {2, 4, 5, 4, 2}, {4, 9, 12, 9, 4}, {5, 12, 15, 12, 5}, {4, 9, 12, 9, 4}, {2, 4, 5, 4, 2}};
  return kWeights[dy + kRadius][dx + kRadius];
}

// Rounded to the nearest integer.
GANGWAY_ANYWHERE constexpr std::uint8_t mean_of(int sum) {
  return static_cast<std::uint8_t>((sum + kSum / 2) / kSum);
}

#ifdef __CUDACC__

GANGWAY_KERNEL(smooth, const std::uint8_t* __restrict__ in, std::uint8_t* __restrict__ out, int width,
               int height, int rows) {
  __shared__ std::uint8_t window[kTile + 2 * kRadius][kTile + 2 * kRadius];
  const Image<std::uint8_t> image{in, width, height};
  const int left = static_cast<int>(blockIdx.x) * kTile, top = static_cast<int>(blockIdx.y) * rows;
  const int bottom = min(top + rows, height), c = static_cast<int>(threadIdx.x);
  for (int tile = top; tile < bottom; tile += kTile) {
    load_window(window, left - kRadius, tile - kRadius, [&](int x, int y) { return image.nearest(x, y); });
    __syncthreads();
#pragma unroll
    for (int part = 0; part < kTile; part += kImageThreadsY) {
      const int r = part + static_cast<int>(threadIdx.y);
      int sum = 0;
#pragma unroll
      for (int dy = -kRadius; dy <= kRadius; ++dy)
#pragma unroll
        for (int dx = -kRadius; dx <= kRadius; ++dx)
          sum += weight(dx, dy) * window[r + kRadius + dy][c + kRadius + dx];
      if (left + c < width && tile + r < bottom)
        out[static_cast<std::size_t>(tile + r) * width + left + c] = mean_of(sum);
    }
    __syncthreads();
  }
}

#endif

struct Smoothing {
  using In = std::uint8_t;
  using Out = std::uint8_t;
  using Source = GreySource;
  static constexpr int kColumns = kTile, kRows = kTile, kReads = 25;
#ifdef __CUDACC__
  using Form = preemptible::Kernel<&smooth, kImageThreadsX * kImageThreadsY, 8>;
#endif

  template <typename Put>
  static void compute(const Image<In>& image, const Strip& strip, Put put) {
    for (int y = strip.top; y < strip.bottom; ++y)
      for (int x = strip.left; x < strip.right; ++x) {
        int sum = 0;
        for (int dy = -kRadius; dy <= kRadius; ++dy)
          for (int dx = -kRadius; dx <= kRadius; ++dx) sum += weight(dx, dy) * image.nearest(x + dx, y + dy);
        put(x, y, mean_of(sum));
      }
  }

  // Equal, as a sum of integers is. Weights by the distance from the middle; the border is repeated outside.
  class Reference {
   public:
    Reference(const Source& source, int width, int height)
        : source_(source), width_(width), height_(height) {}
    std::string operator()(int x, int y, Out is) const {
      double sum = 0;
      for (int dy = -2; dy <= 2; ++dy)
        for (int dx = -2; dx <= 2; ++dx) sum += weight_at(dx * dx + dy * dy) * grey(x + dx, y + dy);
      return unequal(int{is}, static_cast<int>(std::lround(sum / 159)));
    }

   private:
    static int weight_at(int distance_squared) {
      switch (distance_squared) {
        case 0:
          return 15;
        case 1:
          return 12;
        case 2:
          return 9;
        case 4:
          return 5;
        case 5:
          return 4;
        default:
          return 2;
      }
    }
    int grey(int x, int y) const {
      const std::int64_t column = std::clamp(x, 0, width_ - 1), row = std::clamp(y, 0, height_ - 1);
      return source_[static_cast<std::uint64_t>(row * width_ + column)];
    }

    Source source_;
    int width_, height_;
  };
};

const KernelRegistration<ImageCode<Smoothing>> registered{
    "cedd_gauss", "Canny 1 of 4: smoothing by a Gaussian of 5 x 5 pixels (GCEDD)",
    // About 2.5 ms at 240 pixels a nanosecond, a guess at what shared memory allows, in block-tasks of about
    // 18 us. With the other three on images of the same size, about 13.6 ms.
    image_parameters(24'576, 24'576, 128, kTile), "{width: 203, height: 101, rows: 64}"};

}  // namespace
}  // namespace gangway
