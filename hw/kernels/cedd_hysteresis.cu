// HCEDD: the last of Canny's four kernels, thresholds with hysteresis within a tile (FRS paper, Table I). A
// pixel is an edge if it is strong, or weak and joined to a strong one through weak pixels (8 neighbours) of
// its tile of 32 x 32 and the rim of one pixel around that. So what a block-task finds depends on its input
// only. Bound by sweeps over shared memory, as many as the longest way through weak pixels is long.
#include <array>

#include "hw/kernels/image_gradient.hpp"
#include "hw/kernels/image_problem.hpp"

namespace gangway {
namespace {

constexpr int kTile = 32, kSide = kTile + 2;  // with the rim
constexpr int kWeak = 1080, kStrong = 1370;   // of the inputs 20 and 5 in a hundred

// Pixels of a window.
enum State : std::uint8_t { none, weak, edge };

GANGWAY_ANYWHERE constexpr State state_of(int magnitude) {
  return magnitude >= kStrong ? edge : magnitude >= kWeak ? weak : none;
}

class MagnitudeSource {
 public:
  explicit MagnitudeSource(std::uint64_t seed) : inputs_(seed, 0) {}
  GANGWAY_ANYWHERE std::uint16_t operator[](std::uint64_t i) const {
    return static_cast<std::uint16_t>(inputs_.bits(i) % (kMostMagnitude + 1));
  }

 private:
  Inputs inputs_;
};

// The window with one more pixel around, which is none, so that every pixel of it has 8 neighbours.
constexpr int kFramed = kSide + 2;

GANGWAY_ANYWHERE inline bool beside_edge(const std::uint8_t (&window)[kFramed][kFramed], int r, int c) {
  return window[r - 1][c - 1] == edge || window[r - 1][c] == edge || window[r - 1][c + 1] == edge ||
         window[r][c - 1] == edge || window[r][c + 1] == edge || window[r + 1][c - 1] == edge ||
         window[r + 1][c] == edge || window[r + 1][c + 1] == edge;
}

GANGWAY_ANYWHERE constexpr bool in_frame(int r, int c) {
  return r == 0 || r == kFramed - 1 || c == 0 || c == kFramed - 1;
}

#ifdef __CUDACC__

GANGWAY_KERNEL(join_edges, const std::uint16_t* __restrict__ in, std::uint8_t* __restrict__ out, int width,
               int height, int rows) {
  constexpr int kThreads = kImageThreadsX * kImageThreadsY;
  constexpr int kOfThread = (kFramed * kFramed + kThreads - 1) / kThreads;
  __shared__ std::uint8_t window[kFramed][kFramed];
  const Image<std::uint16_t> image{in, width, height};
  const int left = static_cast<int>(blockIdx.x) * kTile, top = static_cast<int>(blockIdx.y) * rows;
  const int bottom = min(top + rows, height), c = static_cast<int>(threadIdx.x);
  const int thread = static_cast<int>(threadIdx.y) * kImageThreadsX + c;
  for (int tile = top; tile < bottom; tile += kTile) {
    load_window(window, left - 2, tile - 2, [&](int x, int y) -> std::uint8_t {
      if (in_frame(y - tile + 2, x - left + 2) || !image.has(x, y)) return none;
      return state_of(image.at(x, y));
    });
    __syncthreads();
    for (;;) {
      // All decide before any writes, so that no thread reads what another one writes.
      unsigned joined = 0;
#pragma unroll
      for (int k = 0; k < kOfThread; ++k) {
        const int i = k * kThreads + thread, row = i / kFramed, column = i % kFramed;
        if (i < kFramed * kFramed && window[row][column] == weak && beside_edge(window, row, column))
          joined |= 1u << k;
      }
      if (__syncthreads_or(joined != 0) == 0) break;
#pragma unroll
      for (int k = 0; k < kOfThread; ++k) {
        const int i = k * kThreads + thread;
        if ((joined >> k & 1) != 0) window[i / kFramed][i % kFramed] = edge;
      }
      __syncthreads();
    }
#pragma unroll
    for (int part = 0; part < kTile; part += kImageThreadsY) {
      const int r = part + static_cast<int>(threadIdx.y);
      if (left + c < width && tile + r < bottom)
        out[static_cast<std::size_t>(tile + r) * width + left + c] = window[r + 2][c + 2] == edge;
    }
    __syncthreads();
  }
}

#endif

struct Hysteresis {
  using In = std::uint16_t;
  using Out = std::uint8_t;  // 1: edge, 0: none
  using Source = MagnitudeSource;
  static constexpr int kColumns = kTile, kRows = kTile;
  static constexpr int kReads = 2 * kSide * kSide;  // the reference looks at a whole window
#ifdef __CUDACC__
  using Form = preemptible::Kernel<&join_edges, kImageThreadsX * kImageThreadsY, 8>;
#endif

  // Sweeps over each tile until nothing changes.
  template <typename Put>
  static void compute(const Image<In>& image, const Strip& strip, Put put) {
    std::uint8_t window[kFramed][kFramed];
    for (int tile = strip.top; tile < strip.bottom; tile += kTile) {
      for (int r = 0; r < kFramed; ++r)
        for (int c = 0; c < kFramed; ++c) {
          const int x = strip.left - 2 + c, y = tile - 2 + r;
          window[r][c] = in_frame(r, c) || !image.has(x, y) ? none : state_of(image.at(x, y));
        }
      for (bool changed = true; changed;) {
        changed = false;
        for (int r = 1; r <= kSide; ++r)
          for (int c = 1; c <= kSide; ++c)
            if (window[r][c] == weak && beside_edge(window, r, c)) {
              window[r][c] = edge;
              changed = true;
            }
      }
      for (int y = tile; y < std::min(tile + kTile, strip.bottom); ++y)
        for (int x = strip.left; x < strip.right; ++x)
          put(x, y, window[y - tile + 2][x - strip.left + 2] == edge);
    }
  }

  // Equal. Goes from each strong pixel of the window as far as weak ones lead.
  class Reference {
   public:
    Reference(const Source& source, int width, int height)
        : source_(source), width_(width), height_(height) {}
    std::string operator()(int x, int y, Out is) {
      const int left = x / kTile * kTile - 1, top = y / kTile * kTile - 1;
      if (left != left_ || top != top_) explore(left, top);
      return unequal(int{is}, reached_[y - top][x - left] ? 1 : 0);
    }

   private:
    void explore(int left, int top) {
      left_ = left;
      top_ = top;
      std::array<std::array<int, kSide>, kSide> magnitudes;
      std::vector<std::pair<int, int>> to_visit;
      for (int r = 0; r < kSide; ++r)
        for (int c = 0; c < kSide; ++c) {
          const std::int64_t x = left + c, y = top + r;
          const bool inside = x >= 0 && x < width_ && y >= 0 && y < height_;
          magnitudes[r][c] = inside ? source_[static_cast<std::uint64_t>(y * width_ + x)] : -1;
          reached_[r][c] = magnitudes[r][c] >= kStrong;
          if (reached_[r][c]) to_visit.emplace_back(r, c);
        }
      while (!to_visit.empty()) {
        const auto [row, column] = to_visit.back();
        to_visit.pop_back();
        for (int r = std::max(row - 1, 0); r <= std::min(row + 1, kSide - 1); ++r)
          for (int c = std::max(column - 1, 0); c <= std::min(column + 1, kSide - 1); ++c)
            if (!reached_[r][c] && magnitudes[r][c] >= kWeak) {
              reached_[r][c] = true;
              to_visit.emplace_back(r, c);
            }
      }
    }

    Source source_;
    int width_, height_;
    int left_ = -2, top_ = -2;  // of the window that was explored last; none yet
    std::array<std::array<bool, kSide>, kSide> reached_;
  };
};

const KernelRegistration<ImageCode<Hysteresis>> registered{
    "cedd_hysteresis", "Canny 4 of 4: thresholds with hysteresis in tiles of 32 x 32 pixels (HCEDD)",
    // About 7.5 ms at 80 pixels a nanosecond, a guess, in block-tasks of about 54 us.
    image_parameters(24'576, 24'576, 128, kTile), "{width: 203, height: 101, rows: 64}"};

}  // namespace
}  // namespace gangway
