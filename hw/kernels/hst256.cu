// HST256: a histogram of bytes for each block-task (FRS paper, Table I); merging them would be another
// kernel. Bound by atomic additions in shared memory.
#include <array>

#include "hw/kernels/outputs.hpp"
#include "hw/kernels/shaped_code.hpp"
#ifdef __CUDACC__
#include "hw/cuda/device_array.cuh"
#endif

namespace gangway {
namespace {

constexpr std::int64_t kThreads = 256;

struct Histogram {
  std::uint32_t bins[256];
};

struct Shape {
  std::int64_t elements, per_thread;
  std::uint64_t each() const { return static_cast<std::uint64_t>(kThreads * per_thread); }
  std::int64_t block_tasks() const { return blocks_for(elements, kThreads * per_thread); }
  std::int64_t words() const { return (elements + 3) / 4; }  // bytes are kept in words, low byte first
};

class Reference {
 public:
  Reference(const Shape& shape, std::uint64_t seed)
      : inputs(seed, 0), shape_(shape), sample_(shape.block_tasks(), 2 * shape.each(), seed) {}

  std::string compare(const Histogram* histograms, std::uint64_t first, std::uint64_t count) const {
    return sample_.compare(
        histograms, first, count, [&](std::uint64_t block_task, const Histogram& histogram) {
          const std::uint64_t begin = block_task * shape_.each();
          const std::uint64_t end =
              std::min(begin + shape_.each(), static_cast<std::uint64_t>(shape_.elements));
          std::array<std::uint32_t, 256> right{};
          for (std::uint64_t i = begin; i < end; ++i) ++right[inputs.bits(i / 4) >> 8 * (i % 4) & 0xFF];
          for (std::size_t bin = 0; bin < right.size(); ++bin)
            if (histogram.bins[bin] != right[bin])
              return "has a bin " + std::to_string(bin) + " that " + unequal(histogram.bins[bin], right[bin]);
          return std::string();
        });
  }

  Inputs inputs;

 private:
  Shape shape_;
  Sample sample_;
};

#ifdef __CUDACC__

__device__ __forceinline__ void count_word(std::uint32_t* bins, std::uint32_t word) {
  atomicAdd(&bins[word & 0xFF], 1u);
  atomicAdd(&bins[word >> 8 & 0xFF], 1u);
  atomicAdd(&bins[word >> 16 & 0xFF], 1u);
  atomicAdd(&bins[word >> 24], 1u);
}

// A histogram for each warp, as in the CUDA SDK, so that warps do not wait for each other's bins.
GANGWAY_KERNEL(histogram256, const std::uint32_t* __restrict__ in, Histogram* __restrict__ histograms,
               std::uint64_t elements, std::uint32_t per_thread) {
  constexpr int kWarps = kThreads / 32;
  __shared__ std::uint32_t of_warp[kWarps][256];
#pragma unroll
  for (int warp = 0; warp < kWarps; ++warp) of_warp[warp][threadIdx.x] = 0;
  __syncthreads();

  std::uint32_t* bins = of_warp[threadIdx.x / 32];
  const std::uint64_t begin = std::uint64_t{blockIdx.x} * blockDim.x * per_thread;
  if (begin + blockDim.x * per_thread > elements) {
    for (std::uint64_t i = begin + threadIdx.x; i < elements; i += blockDim.x)
      atomicAdd(&bins[in[i / 4] >> 8 * (i % 4) & 0xFF], 1u);
  } else {
    const auto* x = reinterpret_cast<const uint4*>(in + begin / 4) + threadIdx.x;
    for (std::uint32_t sixteen = 0; sixteen < per_thread / 16; sixteen += 2) {
      const uint4 now = x[sixteen * blockDim.x], then = x[(sixteen + 1) * blockDim.x];
      count_word(bins, now.x);
      count_word(bins, now.y);
      count_word(bins, now.z);
      count_word(bins, now.w);
      count_word(bins, then.x);
      count_word(bins, then.y);
      count_word(bins, then.z);
      count_word(bins, then.w);
    }
  }
  __syncthreads();

  std::uint32_t sum = 0;
#pragma unroll
  for (int warp = 0; warp < kWarps; ++warp) sum += of_warp[warp][threadIdx.x];
  histograms[blockIdx.x].bins[threadIdx.x] = sum;
}

using Form = preemptible::Kernel<&histogram256, kThreads, 8>;

struct Words {
  Inputs inputs;
  __device__ std::uint32_t operator()(std::uint64_t i) const { return inputs.bits(i); }
};

class OnCuda : public FormedProblem<Form> {
 public:
  OnCuda(const Shape& shape, std::uint64_t seed)
      : FormedProblem(static_cast<unsigned>(shape.block_tasks()), static_cast<unsigned>(kThreads)),
        elements_(static_cast<std::uint64_t>(shape.elements)),
        per_thread_(static_cast<std::uint32_t>(shape.per_thread)),
        reference_(shape, seed),
        in_(shape.words()),
        histograms_(shape.block_tasks()) {
    fill(in_, Words{reference_.inputs});
    poison();
  }
  void launch(preemptible::Session& session, BlockRange range) const override {
    start(session, range, in_.data(), histograms_.data(), elements_, per_thread_);
  }
  void launch_original(preemptible::Session& session) const override {
    form().launch_original(session, in_.data(), histograms_.data(), elements_, per_thread_);
  }
  void poison() override { histograms_.fill_bytes(kPoison); }
  std::vector<OutputMemory> outputs() const override { return {memory_of(histograms_)}; }
  std::optional<std::vector<WrittenBytes>> written(BlockRange blocks) const override {
    return pieces_written({{histograms_.size(), sizeof(Histogram)}}, 1, blocks);
  }
  std::string difference() const override {
    return histograms_.in_parts([&](const Histogram* histograms, std::uint64_t first, std::uint64_t count) {
      return reference_.compare(histograms, first, count);
    });
  }

 private:
  std::uint64_t elements_;
  std::uint32_t per_thread_;
  Reference reference_;
  DeviceArray<std::uint32_t> in_;
  DeviceArray<Histogram> histograms_;
};

#else

class OnCuda;

#endif

class OnHost : public HostProblem {
 public:
  OnHost(const Shape& shape, std::uint64_t seed)
      : elements_(static_cast<std::size_t>(shape.elements)),
        each_(shape.each()),
        reference_(shape, seed),
        in_(host_array<std::uint32_t>(shape.words())),
        histograms_(host_array<Histogram>(shape.block_tasks())) {
    for (std::size_t i = 0; i < in_.size(); ++i) in_[i] = reference_.inputs.bits(i);
    poison_all(histograms_);
  }
  void block_task(std::uint32_t index) override {
    const std::size_t end = std::min((index + std::size_t{1}) * each_, elements_);
    Histogram histogram{};
    for (std::size_t i = index * each_; i < end; ++i) ++histogram.bins[in_[i / 4] >> 8 * (i % 4) & 0xFF];
    histograms_[index] = histogram;
  }
  void poison() override { poison_all(histograms_); }
  std::string difference() const override {
    return reference_.compare(histograms_.data(), 0, histograms_.size());
  }

 private:
  std::size_t elements_, each_;
  Reference reference_;
  std::vector<std::uint32_t> in_;
  std::vector<Histogram> histograms_;
};

class Histogram256 : public ShapedCode<Shape, OnHost, OnCuda> {
 public:
  explicit Histogram256(const ParameterValues& values)
      : ShapedCode({values.integer("elements"), values.integer("per_thread")}) {
    if (shape_.per_thread % 32 != 0) throw std::invalid_argument("per_thread must be a multiple of 32");
    (void)shape_.block_tasks();
  }
  Dimensions grid() const override { return {shape_.block_tasks(), 1, 1}; }
  Dimensions block() const override { return {kThreads, 1, 1}; }
  Bytes memory() const override {
    return {4 * shape_.words() + shape_.block_tasks() * static_cast<std::int64_t>(sizeof(Histogram))};
  }
};

const KernelRegistration<Histogram256> registered{
    "HST256",
    "256-bin histograms of bytes, one for each block of 256 threads",
    // About 1.3 ms at 0.8 TB/s, which is a guess at what shared-memory atomics allow.
    {{"elements", "bytes", Parameter::Integer{2'952'790'016, 1, std::int64_t{1} << 36}},
     {"per_thread", "bytes that a thread counts; a multiple of 32", Parameter::Integer{128, 32, 8192}}},
    "{elements: 300001, per_thread: 32}"};

}  // namespace
}  // namespace gangway
