// Problems with image input and output. A block-task computes a strip of the output, tile by tile from the
// top; the surroundings of a strip are read from the input only, so block-tasks are independent.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "hw/kernels/outputs.hpp"
#include "hw/kernels/shaped_code.hpp"
#ifdef __CUDACC__
#include "hw/cuda/device_array.cuh"
#endif

namespace gangway {

struct ImageShape {
  std::int64_t width, height;
  std::int64_t columns, rows;  // of a strip
  std::int64_t across() const { return (width + columns - 1) / columns; }
  std::int64_t down() const { return (height + rows - 1) / rows; }
  std::int64_t pixels() const { return width * height; }
};

// Output positions: [left, right) x [top, bottom).
struct Strip {
  int left, right, top, bottom;
};

template <typename T>
struct Image {
  const T* pixels;
  int width, height;

  GANGWAY_ANYWHERE T at(int x, int y) const { return pixels[static_cast<std::size_t>(y) * width + x]; }
  GANGWAY_ANYWHERE bool has(int x, int y) const { return x >= 0 && x < width && y >= 0 && y < height; }
  GANGWAY_ANYWHERE T nearest(int x, int y) const {
    x = x < 0 ? 0 : x < width ? x : width - 1;
    y = y < 0 ? 0 : y < height ? y : height - 1;
    return at(x, y);
  }
};

// Blocks of 32 x 8 threads.
inline constexpr int kImageThreadsX = 32, kImageThreadsY = 8;

// An operation O on images has
//   In, Out            types of pixels
//   kColumns, kRows    a tile; a strip is as wide, and some tiles high
//   kReads             about how many pixels of the input the reference reads for one of the output
//   Source(seed)       the input: source[i] is pixel i, computed by host and device
//   Reference(source, width, height)
//                      reference(x, y, value) says what is wrong with a pixel of the output, or nothing
//   compute(image, strip, put)
//                      the block-task on a CPU core; put(x, y, value) writes a pixel of the output
//   Form               on CUDA: a Kernel of (const In*, Out*, int width, int height, int rows)
template <typename O>
class ImageReference {
 public:
  ImageReference(const ImageShape& shape, std::uint64_t seed)
      : source(seed), shape_(shape), sample_(shape.pixels(), O::kReads, seed) {}

  std::string compare(const typename O::Out* out, std::uint64_t first, std::uint64_t count) const {
    const auto width = static_cast<std::uint64_t>(shape_.width);
    typename O::Reference reference(source, static_cast<int>(shape_.width), static_cast<int>(shape_.height));
    return sample_.compare(
        out, first, count, [width, reference](std::uint64_t i, const typename O::Out& value) mutable {
          return reference(static_cast<int>(i % width), static_cast<int>(i / width), value);
        });
  }

  typename O::Source source;

 private:
  ImageShape shape_;
  Sample sample_;
};

template <typename O>
class ImageOnHost : public HostProblem {
 public:
  ImageOnHost(const ImageShape& shape, std::uint64_t seed)
      : shape_(shape),
        reference_(shape, seed),
        in_(host_array<typename O::In>(shape.pixels())),
        out_(host_array<typename O::Out>(shape.pixels())) {
    for (std::size_t i = 0; i < in_.size(); ++i) in_[i] = reference_.source[i];
    poison_all(out_);
  }
  void block_task(std::uint32_t index) override {
    const std::int64_t left = index % shape_.across() * shape_.columns,
                       top = index / shape_.across() * shape_.rows;
    const Strip strip{static_cast<int>(left), static_cast<int>(std::min(left + shape_.columns, shape_.width)),
                      static_cast<int>(top), static_cast<int>(std::min(top + shape_.rows, shape_.height))};
    const Image<typename O::In> image{in_.data(), static_cast<int>(shape_.width),
                                      static_cast<int>(shape_.height)};
    O::compute(image, strip, [&](int x, int y, typename O::Out value) {
      out_[static_cast<std::size_t>(y) * static_cast<std::size_t>(shape_.width) +
           static_cast<std::size_t>(x)] = value;
    });
  }
  void poison() override { poison_all(out_); }
  std::string difference() const override { return reference_.compare(out_.data(), 0, out_.size()); }

 private:
  ImageShape shape_;
  ImageReference<O> reference_;
  std::vector<typename O::In> in_;
  std::vector<typename O::Out> out_;
};

#ifdef __CUDACC__

// Called by all threads of a block: window[r][c] becomes pixel(left + c, top + r).
template <int kRows, int kColumns, typename T, typename Pixel>
__device__ __forceinline__ void load_window(T (&window)[kRows][kColumns], int left, int top, Pixel pixel) {
  constexpr int kThreads = kImageThreadsX * kImageThreadsY;
  for (int i = static_cast<int>(threadIdx.y) * kImageThreadsX + static_cast<int>(threadIdx.x);
       i < kRows * kColumns; i += kThreads)
    window[i / kColumns][i % kColumns] = pixel(left + i % kColumns, top + i / kColumns);
}

template <typename Source>
struct Pixels {
  Source source;
  __device__ auto operator()(std::uint64_t i) const { return source[i]; }
};

template <typename O>
class ImageOnCuda : public FormedProblem<typename O::Form> {
 public:
  ImageOnCuda(const ImageShape& shape, std::uint64_t seed)
      : FormedProblem<typename O::Form>(
            dim3(static_cast<unsigned>(shape.across()), static_cast<unsigned>(shape.down())),
            dim3(kImageThreadsX, kImageThreadsY)),
        width_(static_cast<int>(shape.width)),
        height_(static_cast<int>(shape.height)),
        rows_(static_cast<int>(shape.rows)),
        reference_(shape, seed),
        in_(shape.pixels()),
        out_(shape.pixels()) {
    fill(in_, Pixels<typename O::Source>{reference_.source});
    poison();
  }
  void launch(preemptible::Session& session, BlockRange range) const override {
    this->start(session, range, in_.data(), out_.data(), width_, height_, rows_);
  }
  void launch_original(preemptible::Session& session) const override {
    this->form().launch_original(session, in_.data(), out_.data(), width_, height_, rows_);
  }
  void poison() override { out_.fill_bytes(kPoison); }
  std::vector<OutputMemory> outputs() const override { return {memory_of(out_)}; }
  std::string difference() const override {
    return out_.in_parts([&](const typename O::Out* out, std::uint64_t first, std::uint64_t count) {
      return reference_.compare(out, first, count);
    });
  }

 private:
  int width_, height_, rows_;
  ImageReference<O> reference_;
  DeviceArray<typename O::In> in_;
  DeviceArray<typename O::Out> out_;
};

#else

template <typename O>
class ImageOnCuda;

#endif

template <typename O>
class ImageCode : public ShapedCode<ImageShape, ImageOnHost<O>, ImageOnCuda<O>> {
 public:
  explicit ImageCode(const ParameterValues& values)
      : ShapedCode<ImageShape, ImageOnHost<O>, ImageOnCuda<O>>(
            {values.integer("width"), values.integer("height"), O::kColumns, values.integer("rows")}) {
    if (this->shape_.rows % O::kRows != 0)
      throw std::invalid_argument("rows must be a multiple of " + std::to_string(O::kRows));
  }
  Dimensions grid() const override { return {this->shape_.across(), this->shape_.down(), 1}; }
  Dimensions block() const override { return {kImageThreadsX, kImageThreadsY, 1}; }
  Bytes memory() const override {
    return {this->shape_.pixels() *
            static_cast<std::int64_t>(sizeof(typename O::In) + sizeof(typename O::Out))};
  }
};

// Parameters of an operation whose tiles have `tile_rows` rows.
inline std::vector<Parameter> image_parameters(std::int64_t width, std::int64_t height, std::int64_t rows,
                                               std::int64_t tile_rows) {
  return {{"width", "of the image", Parameter::Integer{width, 1, 65'536}},
          {"height", "of the image", Parameter::Integer{height, 1, 65'536}},
          {"rows", "of the image that a block computes; a multiple of " + std::to_string(tile_rows),
           Parameter::Integer{rows, tile_rows, 4096}}};
}

}  // namespace gangway
