// RCONV: separable convolution along rows, 17 taps (FRS paper, Table I). Reads each pixel from memory once
// and from shared memory for each tap.
#include "hw/kernels/image_problem.hpp"
#include "hw/kernels/separable_filter.hpp"

namespace gangway {
namespace {

constexpr int kTileColumns = 128, kTileRows = kImageThreadsY;

#ifdef __CUDACC__

GANGWAY_KERNEL(convolve_rows, const float* __restrict__ in, float* __restrict__ out, int width, int height,
               int rows) {
  constexpr int kWindowColumns = kTileColumns + 2 * kFilterRadius;
  constexpr int kParts = (kWindowColumns + kImageThreadsX - 1) / kImageThreadsX;
  __shared__ float window[kTileRows][kWindowColumns];
  const Image<float> image{in, width, height};
  const int left = static_cast<int>(blockIdx.x) * kTileColumns, top = static_cast<int>(blockIdx.y) * rows;
  const int bottom = min(top + rows, height), r = static_cast<int>(threadIdx.y),
            c = static_cast<int>(threadIdx.x);
  for (int tile = top; tile < bottom; tile += kTileRows) {
    // All reads come first, so that a thread waits for memory once.
    float pixels[kParts];
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      const int at = part * kImageThreadsX + c, x = left - kFilterRadius + at, y = tile + r;
      pixels[part] = at < kWindowColumns && image.has(x, y) ? image.at(x, y) : 0.0f;
    }
#pragma unroll
    for (int part = 0; part < kParts; ++part)
      if (const int at = part * kImageThreadsX + c; at < kWindowColumns) window[r][at] = pixels[part];
    __syncthreads();
#pragma unroll
    for (int part = 0; part < kTileColumns; part += kImageThreadsX) {
      float sum = 0;
#pragma unroll
      for (int tap = 0; tap < kFilterTaps; ++tap) sum += filter_weight(tap) * window[r][part + c + tap];
      if (left + part + c < width && tile + r < bottom)
        out[static_cast<std::size_t>(tile + r) * width + left + part + c] = sum;
    }
    __syncthreads();
  }
}

#endif

struct RowConvolution {
  using In = float;
  using Out = float;
  using Source = FilterSource;
  using Reference = FilterReference<1, 0>;
  static constexpr int kColumns = kTileColumns, kRows = kTileRows, kReads = kFilterTaps;
#ifdef __CUDACC__
  using Form = preemptible::Kernel<&convolve_rows, kImageThreadsX * kImageThreadsY, 8>;
#endif

  template <typename Put>
  static void compute(const Image<float>& image, const Strip& strip, Put put) {
    for (int y = strip.top; y < strip.bottom; ++y)
      for (int x = strip.left; x < strip.right; ++x) {
        float sum = 0;
        for (int tap = 0; tap < kFilterTaps; ++tap) {
          const int from = x + tap - kFilterRadius;
          if (image.has(from, y)) sum += filter_weight(tap) * image.at(from, y);
        }
        put(x, y, sum);
      }
  }
};

const KernelRegistration<ImageCode<RowConvolution>> registered{
    "conv_rows", "separable convolution along rows, 17 taps (RCONV)",
    // About 1.8 ms at 300 pixels a nanosecond, a guess at what shared memory allows, in block-tasks of about
    // 14 us. With conv_columns on an image of the same size, about 3.3 ms.
    image_parameters(24'576, 22'528, 32, kTileRows), "{width: 515, height: 101, rows: 16}"};

}  // namespace
}  // namespace gangway
