// NCEDD: the third of Canny's four kernels, suppression of what is no maximum along its gradient (FRS paper,
// Table I). Bound by memory bandwidth: 6 bytes a pixel.
#include "hw/kernels/image_gradient.hpp"
#include "hw/kernels/image_problem.hpp"

namespace gangway {
namespace {

constexpr int kTile = 32;

class GradientSource {
 public:
  explicit GradientSource(std::uint64_t seed) : inputs_(seed, 0) {}
  GANGWAY_ANYWHERE Gradient operator[](std::uint64_t i) const {
    const std::uint32_t bits = inputs_.bits(i);
    return {static_cast<std::uint16_t>((bits >> 2) % (kMostMagnitude + 1)),
            static_cast<std::uint16_t>(bits & 3)};
  }

 private:
  Inputs inputs_;
};

// The neighbour along the gradient; the other one is opposite.
GANGWAY_ANYWHERE constexpr int step_x(int direction) { return direction == 2 ? 0 : direction == 3 ? -1 : 1; }
GANGWAY_ANYWHERE constexpr int step_y(int direction) { return direction == 0 ? 0 : 1; }

// The magnitude, or 0 where a neighbour's is larger. Of equal ones in a row only the first stays.
GANGWAY_ANYWHERE constexpr std::uint16_t maximum(std::uint16_t here, int before, int behind) {
  return here > before && here >= behind ? here : std::uint16_t{0};
}

#ifdef __CUDACC__

GANGWAY_KERNEL(suppress, const Gradient* __restrict__ in, std::uint16_t* __restrict__ out, int width,
               int height, int rows) {
  __shared__ Gradient window[kTile + 2][kTile + 2];
  const Image<Gradient> image{in, width, height};
  const int left = static_cast<int>(blockIdx.x) * kTile, top = static_cast<int>(blockIdx.y) * rows;
  const int bottom = min(top + rows, height), c = static_cast<int>(threadIdx.x);
  for (int tile = top; tile < bottom; tile += kTile) {
    load_window(window, left - 1, tile - 1, [&](int x, int y) {
      return image.has(x, y) ? image.at(x, y) : Gradient{0, 0};
    });
    __syncthreads();
#pragma unroll
    for (int part = 0; part < kTile; part += kImageThreadsY) {
      const int r = part + static_cast<int>(threadIdx.y);
      const Gradient here = window[r + 1][c + 1];
      const int dx = step_x(here.direction), dy = step_y(here.direction);
      if (left + c < width && tile + r < bottom)
        out[static_cast<std::size_t>(tile + r) * width + left + c] =
            maximum(here.magnitude, window[r + 1 - dy][c + 1 - dx].magnitude,
                    window[r + 1 + dy][c + 1 + dx].magnitude);
    }
    __syncthreads();
  }
}

#endif

struct Suppression {
  using In = Gradient;
  using Out = std::uint16_t;
  using Source = GradientSource;
  static constexpr int kColumns = kTile, kRows = kTile, kReads = 3;
#ifdef __CUDACC__
  using Form = preemptible::Kernel<&suppress, kImageThreadsX * kImageThreadsY, 8>;
#endif

  template <typename Put>
  static void compute(const Image<In>& image, const Strip& strip, Put put) {
    for (int y = strip.top; y < strip.bottom; ++y)
      for (int x = strip.left; x < strip.right; ++x) {
        const auto magnitude = [&](int column, int row) {
          return image.has(column, row) ? int{image.at(column, row).magnitude} : 0;
        };
        const Gradient here = image.at(x, y);
        const int dx = step_x(here.direction), dy = step_y(here.direction);
        put(x, y, maximum(here.magnitude, magnitude(x - dx, y - dy), magnitude(x + dx, y + dy)));
      }
  }

  class Reference {
   public:
    Reference(const Source& source, int width, int height)
        : source_(source), width_(width), height_(height) {}
    std::string operator()(int x, int y, Out is) const {
      // The neighbour behind, in the image's order of rows but for direction 0, where it is the one to the
      // right.
      static constexpr int kNeighbour[4][2] = {{1, 0}, {1, 1}, {0, 1}, {-1, 1}};
      const auto [dx, dy] = kNeighbour[at(x, y).direction];
      const int here = at(x, y).magnitude, before = at(x - dx, y - dy).magnitude,
                behind = at(x + dx, y + dy).magnitude;
      return unequal(int{is}, here <= before || here < behind ? 0 : here);
    }

   private:
    Gradient at(std::int64_t x, std::int64_t y) const {
      if (x < 0 || x >= width_ || y < 0 || y >= height_) return {0, 0};
      return source_[static_cast<std::uint64_t>(y * width_ + x)];
    }

    Source source_;
    int width_, height_;
  };
};

const KernelRegistration<ImageCode<Suppression>> registered{
    "cedd_nms", "Canny 3 of 4: suppression of non-maxima along the gradient (NCEDD)",
    // About 1.5 ms at 400 pixels a nanosecond, a guess, in block-tasks of about 11 us.
    image_parameters(24'576, 24'576, 128, kTile), "{width: 203, height: 101, rows: 64}"};

}  // namespace
}  // namespace gangway
