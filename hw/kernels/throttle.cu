// Keeps its blocks busy for a given time and stamps each block-task (after NEON's Throttle).
#include <algorithm>
#include <chrono>

#include "hw/kernels/outputs.hpp"
#include "hw/kernels/shaped_code.hpp"
#include "hw/kernels/throttle.hpp"
#ifdef __CUDACC__
#include "hw/cuda/device_array.cuh"
#endif

namespace gangway {
namespace {

struct Shape {
  std::int64_t block_tasks, threads;
  Duration time;
};

// One bit short, so that it is never poison.
GANGWAY_ANYWHERE constexpr std::uint32_t stamp(const Inputs& inputs, std::uint32_t i) {
  return inputs.bits(i) >> 1;
}

std::string compare(const Inputs& inputs, const std::uint32_t* stamps, std::uint64_t first,
                    std::uint64_t count, const Sample& sample) {
  return sample.compare(stamps, first, count, [&](std::uint64_t i, std::uint32_t value) {
    return unequal(value, stamp(inputs, static_cast<std::uint32_t>(i)));
  });
}

#ifdef __CUDACC__

GANGWAY_KERNEL(throttle, std::uint32_t* stamps, Inputs inputs, unsigned long long ns) {
  if (threadIdx.x == 0) {
    const unsigned long long begin = preemptible::device::clock_ns();
    while (preemptible::device::clock_ns() - begin < ns) continue;
    stamps[blockIdx.x] = stamp(inputs, blockIdx.x);
  }
  // Warps that returned would leave their room on the SM to further blocks of the original form.
  __syncthreads();
}

using Form = preemptible::Kernel<&throttle>;

class OnCuda : public FormedProblem<Form> {
 public:
  OnCuda(const Shape& shape, std::uint64_t seed)
      : FormedProblem(static_cast<unsigned>(shape.block_tasks), static_cast<unsigned>(shape.threads)),
        ns_(static_cast<unsigned long long>(shape.time.ns)),
        inputs_(seed, 0),
        sample_(shape.block_tasks, 1, seed),
        stamps_(shape.block_tasks) {
    poison();
  }
  void launch(preemptible::Session& session, BlockRange range) const override {
    start(session, range, stamps_.data(), inputs_, ns_);
  }
  void launch_original(preemptible::Session& session) const override {
    form().launch_original(session, stamps_.data(), inputs_, ns_);
  }
  void poison() override { stamps_.fill_bytes(kPoison); }
  std::vector<OutputMemory> outputs() const override { return {memory_of(stamps_)}; }
  std::string difference() const override {
    return stamps_.in_parts([&](const std::uint32_t* stamps, std::uint64_t first, std::uint64_t count) {
      return compare(inputs_, stamps, first, count, sample_);
    });
  }

 private:
  unsigned long long ns_;
  Inputs inputs_;
  Sample sample_;
  DeviceArray<std::uint32_t> stamps_;
};

#else

class OnCuda;

#endif

class OnHost : public HostProblem {
 public:
  OnHost(const Shape& shape, std::uint64_t seed)
      : time_(shape.time.ns),
        inputs_(seed, 0),
        sample_(shape.block_tasks, 1, seed),
        stamps_(host_array<std::uint32_t>(shape.block_tasks)) {
    poison_all(stamps_);
  }
  void block_task(std::uint32_t index) override {
    using Clock = std::chrono::steady_clock;
    for (const auto begin = Clock::now(); Clock::now() - begin < time_;) continue;
    stamps_[index] = stamp(inputs_, index);
  }
  void poison() override { poison_all(stamps_); }
  std::string difference() const override {
    return compare(inputs_, stamps_.data(), 0, stamps_.size(), sample_);
  }

 private:
  std::chrono::nanoseconds time_;
  Inputs inputs_;
  Sample sample_;
  std::vector<std::uint32_t> stamps_;
};

class Throttle : public ShapedCode<Shape, OnHost, OnCuda> {
 public:
  using ShapedCode::ShapedCode;
  explicit Throttle(const ParameterValues& values)
      : ShapedCode({values.integer("block_tasks"), values.integer("threads"), values.duration("time")}) {}

  Dimensions grid() const override { return {shape_.block_tasks, 1, 1}; }
  Dimensions block() const override { return {shape_.threads, 1, 1}; }
  Bytes memory() const override { return {shape_.block_tasks * 4}; }
};

using namespace literals;
const KernelRegistration<Throttle> registered{
    "throttle",
    "keeps its blocks busy for a given time",
    {{"block_tasks", "blocks of the grid", Parameter::Integer{50'000, 1, kMostBlockTasks - 1}},
     {"threads", "of a block; one of them looks at the clock", Parameter::Integer{256, 1, 1024}},
     {"time", "of one block-task", Parameter::Time{20_us, 0_ns, 10_s}}},
    "{block_tasks: 150, time: 10 us}"};

}  // namespace

std::shared_ptr<const KernelCode> throttle_like(const Kernel& kernel, std::int64_t resident,
                                                PollingForm polling) {
  const std::int64_t at_once = std::min(resident, kernel.block_tasks.count);
  const bool as_busy = polling == PollingForm::none || kernel.block_task_length;
  const Duration time = as_busy ? kernel.time : kernel.transformed();
  return std::make_shared<Throttle>(
      Shape{kernel.block_tasks.count, kernel.threads(),
            Duration{mul_div_ceil(time.ns, at_once, kernel.block_tasks.count)}});
}

}  // namespace gangway
