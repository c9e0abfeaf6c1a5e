// CCONV: separable convolution along columns, 17 taps (FRS paper, Table I). Bound by memory bandwidth and
// shared memory alike: 8 bytes and up to 17 reads a pixel.
#include "hw/kernels/image_problem.hpp"
#include "hw/kernels/separable_filter.hpp"

namespace gangway {
namespace {

constexpr int kTileColumns = kImageThreadsX, kTileRows = 64;

#ifdef __CUDACC__

GANGWAY_KERNEL(convolve_columns, const float* __restrict__ in, float* __restrict__ out, int width, int height,
               int rows) {
  __shared__ float window[kTileRows + 2 * kFilterRadius][kTileColumns];
  const Image<float> image{in, width, height};
  const int left = static_cast<int>(blockIdx.x) * kTileColumns, top = static_cast<int>(blockIdx.y) * rows;
  const int bottom = min(top + rows, height), c = static_cast<int>(threadIdx.x);
  for (int tile = top; tile < bottom; tile += kTileRows) {
    load_window(window, left, tile - kFilterRadius,
                [&](int x, int y) { return image.has(x, y) ? image.at(x, y) : 0.0f; });
    __syncthreads();
#pragma unroll
    for (int part = 0; part < kTileRows; part += kImageThreadsY) {
      const int r = part + static_cast<int>(threadIdx.y);
      float sum = 0;
#pragma unroll
      for (int tap = 0; tap < kFilterTaps; ++tap) sum += filter_weight(tap) * window[r + tap][c];
      if (left + c < width && tile + r < bottom)
        out[static_cast<std::size_t>(tile + r) * width + left + c] = sum;
    }
    __syncthreads();
  }
}

#endif

struct ColumnConvolution {
  using In = float;
  using Out = float;
  using Source = FilterSource;
  using Reference = FilterReference<0, 1>;
  static constexpr int kColumns = kTileColumns, kRows = kTileRows, kReads = kFilterTaps;
#ifdef __CUDACC__
  using Form = preemptible::Kernel<&convolve_columns, kImageThreadsX * kImageThreadsY, 8>;
#endif

  template <typename Put>
  static void compute(const Image<float>& image, const Strip& strip, Put put) {
    for (int y = strip.top; y < strip.bottom; ++y)
      for (int x = strip.left; x < strip.right; ++x) {
        float sum = 0;
        for (int tap = 0; tap < kFilterTaps; ++tap) {
          const int from = y + tap - kFilterRadius;
          if (image.has(x, from)) sum += filter_weight(tap) * image.at(x, from);
        }
        put(x, y, sum);
      }
  }
};

const KernelRegistration<ImageCode<ColumnConvolution>> registered{
    "conv_columns", "separable convolution along columns, 17 taps (CCONV)",
    // About 1.5 ms at 370 pixels a nanosecond, a guess at what memory allows, in block-tasks of about 12 us.
    image_parameters(24'576, 22'528, 128, kTileRows), "{width: 203, height: 201, rows: 128}"};

}  // namespace
}  // namespace gangway
