// dxtc: an image, compressed to half a byte a pixel (DXT1). Of each tile of 4 x 4 pixels 64 threads try all
// ways in which its pixels, in order of brightness, can have four colours on a line (CUDA SDK). Whole numbers
// only, so that the host finds the same. A launch has at most 768 tiles for each multiprocessor, as the
// SDK's.
#include "table1.hpp"

namespace {

constexpr int kPixels = 16, kWays = 969;  // three cuts of 16 pixels in order, some at one place
constexpr unsigned kTry = 64;
constexpr long kParts = 64;
constexpr std::size_t kTilesOfSm = 768;

// Red, green and blue in the lowest three bytes, smooth as images are: a corner's colour, a slope, and noise.
struct Pixel {  // of tile after tile
  __host__ __device__ std::uint32_t operator()(std::size_t i) const {
    const std::uint64_t tile = table1::mixed(i / kPixels), noise = table1::mixed(~i);
    const unsigned x = i % 4, y = i / 4 % 4;
    std::uint32_t pixel = 0;
    for (unsigned channel = 0; channel < 3; ++channel) {
      const unsigned corner = tile >> channel * 8 & 127, slope = tile >> (24 + channel * 8) & 15;
      const unsigned value = corner + slope * (channel == 1 ? y : x) + (noise >> channel * 8 & 31);
      pixel |= value << channel * 8;
    }
    return pixel;
  }
};

struct Colour {
  int of[3];
};
__host__ __device__ inline Colour colour_of(std::uint32_t pixel) {
  return {{static_cast<int>(pixel & 255), static_cast<int>(pixel >> 8 & 255),
           static_cast<int>(pixel >> 16 & 255)}};
}
__host__ __device__ inline int brightness(std::uint32_t pixel) {
  const Colour c = colour_of(pixel);
  return 3 * c.of[0] + 6 * c.of[1] + c.of[2];
}

__host__ __device__ inline int nearest(int value, int by) {  // value / by, by > 0, halves up
  const int twice = 2 * value + by;
  return twice >= 0 ? twice / (2 * by) : -((-twice + 2 * by - 1) / (2 * by));
}

// A colour with 5, 6 and 5 bits, and what it looks like.
struct Coarse {
  std::uint32_t bits;
  Colour looks;
};
__host__ __device__ inline Coarse coarse(const int (&channels)[3]) {
  Coarse made = {0, {}};
  for (int i = 0; i < 3; ++i) {
    const int width = i == 1 ? 6 : 5, most = (1 << width) - 1;
    const int limited = channels[i] < 0 ? 0 : channels[i] > 255 ? 255 : channels[i];
    const int level = nearest(limited * most, 255);
    made.bits |= static_cast<std::uint32_t>(level) << (i == 0 ? 11 : i == 1 ? 5 : 0);
    made.looks.of[i] = width == 5 ? level << 3 | level >> 2 : level << 2 | level >> 4;
  }
  return made;
}

struct Try {
  std::uint32_t error, way;
  std::uint64_t code;
  __host__ __device__ bool operator<(const Try& other) const {
    return error != other.error ? error < other.error : way < other.way;
  }
};

// The cuts of this way: pixels up to the first have the first colour, and so on.
__host__ __device__ inline void cuts_of(int way, int (&cuts)[3]) {
  for (cuts[0] = 0; cuts[0] <= kPixels; ++cuts[0]) {
    const int left = kPixels - cuts[0] + 1, ways = left * (left + 1) / 2;
    if (way < ways) break;
    way -= ways;
  }
  for (cuts[1] = cuts[0]; way >= kPixels - cuts[1] + 1; ++cuts[1]) way -= kPixels - cuts[1] + 1;
  cuts[2] = cuts[1] + way;
}

// The two ends of the line that come nearest to these pixels, and how near. `place` says where in the tile
// the pixels were.
__host__ __device__ inline Try tried(int way, const std::uint32_t* pixels, const std::uint8_t* place) {
  int cuts[3];
  cuts_of(way, cuts);
  int aa = 0, bb = 0, ab = 0, ax[3] = {}, bx[3] = {}, weights[kPixels];
  for (int p = 0; p < kPixels; ++p) {
    const int b = (p >= cuts[0]) + (p >= cuts[1]) + (p >= cuts[2]), a = 3 - b;
    weights[p] = b;
    aa += a * a, bb += b * b, ab += a * b;
    const Colour c = colour_of(pixels[p]);
    for (int i = 0; i < 3; ++i) ax[i] += a * c.of[i], bx[i] += b * c.of[i];
  }
  const int by = aa * bb - ab * ab;
  int first[3], second[3];
  for (int i = 0; i < 3; ++i) {
    first[i] = by != 0 ? nearest(3 * (bb * ax[i] - ab * bx[i]), by) : nearest(ax[i] + bx[i], 3 * kPixels);
    second[i] = by != 0 ? nearest(3 * (aa * bx[i] - ab * ax[i]), by) : first[i];
  }
  const Coarse one = coarse(first), other = coarse(second);
  Try made = {0, static_cast<std::uint32_t>(way), std::uint64_t{one.bits} | std::uint64_t{other.bits} << 16};
  for (int p = 0; p < kPixels; ++p) {
    const Colour c = colour_of(pixels[p]);
    for (int i = 0; i < 3; ++i) {
      const int off = 3 * c.of[i] - (3 - weights[p]) * one.looks.of[i] - weights[p] * other.looks.of[i];
      made.error += static_cast<std::uint32_t>(off * off);
    }
    const std::uint64_t index = weights[p] == 0 ? 0 : weights[p] == 3 ? 1 : weights[p] + 1;
    made.code |= index << (32 + 2 * place[p]);
  }
  return made;
}

// By brightness; of equals the first comes first.
__host__ __device__ inline int rank_of(const std::uint32_t* pixels, int p) {
  int rank = 0;
  for (int q = 0; q < kPixels; ++q) {
    const int more = brightness(pixels[q]) - brightness(pixels[p]);
    if (more < 0 || (more == 0 && q < p)) ++rank;
  }
  return rank;
}

}  // namespace

__global__ void compress(const std::uint32_t* image, std::uint64_t* compressed, std::size_t first,
                         std::size_t last) {
  __shared__ std::uint32_t tile[kPixels], in_order[kPixels];
  __shared__ std::uint8_t place[kPixels];
  __shared__ Try best[kTry];
  const unsigned thread = threadIdx.x;
  for (std::size_t t = first + blockIdx.x; t < last; t += gridDim.x) {
    if (thread < kPixels) tile[thread] = image[t * kPixels + thread];
    __syncthreads();
    if (thread < kPixels) {
      const int rank = rank_of(tile, static_cast<int>(thread));
      in_order[rank] = tile[thread];
      place[rank] = static_cast<std::uint8_t>(thread);
    }
    __syncthreads();
    Try mine = tried(static_cast<int>(thread), in_order, place);
    for (int way = static_cast<int>(thread + kTry); way < kWays; way += kTry)
      if (const Try next = tried(way, in_order, place); next < mine) mine = next;
    best[thread] = mine;
    __syncthreads();
    for (unsigned half = kTry / 2; half > 0; half /= 2) {
      if (thread < half && best[thread + half] < best[thread]) best[thread] = best[thread + half];
      __syncthreads();
    }
    if (thread == 0) compressed[t] = best[0].code;
    __syncthreads();
  }
}

namespace {

class Dxtc final : public table1::Problem {
 public:
  explicit Dxtc(std::size_t bytes)
      : tiles_(std::max<std::size_t>(1, bytes / (4 * kPixels + 8))),
        image_(tiles_ * kPixels),
        compressed_(tiles_) {
    table1::fill_all(image_, Pixel());
    int sms = 0;
    NEED(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    of_launch_ = kTilesOfSm * static_cast<std::size_t>(sms);
  }

  void job(long rounds) override {
    for (long r = 0; r < rounds; ++r, part_ = (part_ + 1) % kParts) {
      const std::size_t last = begin_of(part_ + 1);
      for (std::size_t first = begin_of(part_); first < last; first += of_launch_) {
        const std::size_t end = std::min(first + of_launch_, last);
        compress<<<static_cast<unsigned>(end - first), kTry>>>(image_.data(), compressed_.data(), first, end);
        LAUNCHED();
      }
      done_ = std::max(done_, last);
    }
  }

  void check(table1::Sample& sample) override {
    table1::need_all("pixels", image_, image_.size(), Pixel());
    for (int n = 0; n < 64 && done_ > 0; ++n) {
      const std::size_t tile = table1::drawn(sample, done_);
      std::uint32_t pixels[kPixels], in_order[kPixels];
      std::uint8_t place[kPixels];
      for (int p = 0; p < kPixels; ++p) pixels[p] = Pixel()(tile * kPixels + p);
      for (int p = 0; p < kPixels; ++p) {
        const int rank = rank_of(pixels, p);
        in_order[rank] = pixels[p];
        place[rank] = static_cast<std::uint8_t>(p);
      }
      Try best = tried(0, in_order, place);
      for (int way = 1; way < kWays; ++way)
        if (const Try next = tried(way, in_order, place); next < best) best = next;
      if (const std::uint64_t found = compressed_.at(tile); found != best.code)
        table1::fail("tile %zu is %016" PRIx64 ", expected %016" PRIx64, tile, found, best.code);
    }
  }

  std::uint64_t result() override { return table1::checksum(compressed_); }

 private:
  std::size_t begin_of(long part) const { return tiles_ * static_cast<std::size_t>(part) / kParts; }

  std::size_t tiles_, done_ = 0, of_launch_ = 0;
  long part_ = 0;
  table1::Buffer<std::uint32_t> image_;
  table1::Buffer<std::uint64_t> compressed_;
};

}  // namespace

int main(int argc, char** argv) { return table1::run<Dxtc>("dxtc", kParts, argc, argv); }
