// RED: reduction, here one sum for each block-task, so that doing one again gives the same (FRS paper, Table
// I). Bound by memory bandwidth: 4 bytes an element.
#include "hw/kernels/outputs.hpp"
#include "hw/kernels/shaped_code.hpp"
#ifdef __CUDACC__
#include "hw/cuda/device_array.cuh"
#endif

namespace gangway {
namespace {

constexpr std::int64_t kThreads = 256;

// From 1 to 4095, so that no sum of a block-task comes near 2^32.
GANGWAY_ANYWHERE constexpr std::uint32_t element(const Inputs& inputs, std::uint64_t i) {
  return inputs.bits(i) >> 20 | 1;
}

struct Shape {
  std::int64_t elements, per_thread;
  std::uint64_t each() const { return static_cast<std::uint64_t>(kThreads * per_thread); }
  std::int64_t block_tasks() const { return blocks_for(elements, kThreads * per_thread); }
};

class Reference {
 public:
  Reference(const Shape& shape, std::uint64_t seed)
      : inputs(seed, 0), shape_(shape), sample_(shape.block_tasks(), shape.each(), seed) {}

  std::string compare(const std::uint32_t* sums, std::uint64_t first, std::uint64_t count) const {
    return sample_.compare(sums, first, count, [&](std::uint64_t block_task, std::uint32_t sum) {
      const std::uint64_t begin = block_task * shape_.each();
      const std::uint64_t end = std::min(begin + shape_.each(), static_cast<std::uint64_t>(shape_.elements));
      std::uint32_t right = 0;
      for (std::uint64_t i = begin; i < end; ++i) right += element(inputs, i);
      return unequal(sum, right);
    });
  }

  Inputs inputs;

 private:
  Shape shape_;
  Sample sample_;
};

#ifdef __CUDACC__

GANGWAY_KERNEL(reduce, const std::uint32_t* __restrict__ in, std::uint32_t* __restrict__ sums,
               std::uint64_t elements, std::uint32_t per_thread) {
  __shared__ std::uint32_t of_warp[kThreads / 32];
  const std::uint64_t begin = std::uint64_t{blockIdx.x} * blockDim.x * per_thread;
  std::uint32_t sum = 0;
  if (begin + blockDim.x * per_thread > elements) {
    for (std::uint64_t i = begin + threadIdx.x; i < elements; i += blockDim.x) sum += in[i];
  } else {
    const auto* x = reinterpret_cast<const uint4*>(in + begin) + threadIdx.x;
    for (std::uint32_t quad = 0; quad < per_thread / 4; quad += 4) {
      uint4 four[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) four[i] = x[(quad + i) * blockDim.x];
#pragma unroll
      for (int i = 0; i < 4; ++i) sum += four[i].x + four[i].y + four[i].z + four[i].w;
    }
  }
  for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_down_sync(0xFFFFFFFFu, sum, lanes);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int warp = 1; warp < kThreads / 32; ++warp) sum += of_warp[warp];
    sums[blockIdx.x] = sum;
  }
}

using Form = preemptible::Kernel<&reduce, kThreads, 8>;

struct Elements {
  Inputs inputs;
  __device__ std::uint32_t operator()(std::uint64_t i) const { return element(inputs, i); }
};

class OnCuda : public FormedProblem<Form> {
 public:
  OnCuda(const Shape& shape, std::uint64_t seed)
      : FormedProblem(static_cast<unsigned>(shape.block_tasks()), static_cast<unsigned>(kThreads)),
        per_thread_(static_cast<std::uint32_t>(shape.per_thread)),
        reference_(shape, seed),
        in_(shape.elements),
        sums_(shape.block_tasks()) {
    fill(in_, Elements{reference_.inputs});
    poison();
  }
  void launch(preemptible::Session& session, BlockRange range) const override {
    start(session, range, in_.data(), sums_.data(), in_.size(), per_thread_);
  }
  void launch_original(preemptible::Session& session) const override {
    form().launch_original(session, in_.data(), sums_.data(), in_.size(), per_thread_);
  }
  void poison() override { sums_.fill_bytes(kPoison); }
  std::vector<OutputMemory> outputs() const override { return {memory_of(sums_)}; }
  std::optional<std::vector<WrittenBytes>> written(BlockRange blocks) const override {
    return pieces_written({{sums_.size(), sizeof(std::uint32_t)}}, 1, blocks);
  }
  std::string difference() const override {
    return sums_.in_parts([&](const std::uint32_t* sums, std::uint64_t first, std::uint64_t count) {
      return reference_.compare(sums, first, count);
    });
  }

 private:
  std::uint32_t per_thread_;
  Reference reference_;
  DeviceArray<std::uint32_t> in_, sums_;
};

#else

class OnCuda;

#endif

class OnHost : public HostProblem {
 public:
  OnHost(const Shape& shape, std::uint64_t seed)
      : each_(shape.each()),
        reference_(shape, seed),
        in_(host_array<std::uint32_t>(shape.elements)),
        sums_(host_array<std::uint32_t>(shape.block_tasks())) {
    for (std::size_t i = 0; i < in_.size(); ++i) in_[i] = element(reference_.inputs, i);
    poison_all(sums_);
  }
  void block_task(std::uint32_t index) override {
    const std::size_t end = std::min((index + std::size_t{1}) * each_, in_.size());
    std::uint32_t sum = 0;
    for (std::size_t i = index * each_; i < end; ++i) sum += in_[i];
    sums_[index] = sum;
  }
  void poison() override { poison_all(sums_); }
  std::string difference() const override { return reference_.compare(sums_.data(), 0, sums_.size()); }

 private:
  std::size_t each_;
  Reference reference_;
  std::vector<std::uint32_t> in_, sums_;
};

class Reduction : public ShapedCode<Shape, OnHost, OnCuda> {
 public:
  explicit Reduction(const ParameterValues& values)
      : ShapedCode({values.integer("elements"), values.integer("per_thread")}) {
    if (shape_.per_thread % 16 != 0) throw std::invalid_argument("per_thread must be a multiple of 16");
    (void)shape_.block_tasks();
  }
  Dimensions grid() const override { return {shape_.block_tasks(), 1, 1}; }
  Dimensions block() const override { return {kThreads, 1, 1}; }
  Bytes memory() const override { return {4 * (shape_.elements + shape_.block_tasks())}; }
};

const KernelRegistration<Reduction> registered{
    "RED",
    "sums of unsigned integers, one for each block of 256 threads",
    // About 0.87 ms at 4.3 TB/s, in block-tasks of about 16 us.
    {{"elements", "to be summed", Parameter::Integer{939'524'096, 1, std::int64_t{1} << 34}},
     {"per_thread", "elements that a thread adds up; a multiple of 16", Parameter::Integer{64, 16, 1024}}},
    "{elements: 500003, per_thread: 16}"};

}  // namespace
}  // namespace gangway
