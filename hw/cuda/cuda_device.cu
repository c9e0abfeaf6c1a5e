#include "hw/cuda/cuda_device.hpp"

#ifdef __CUDACC__

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "hw/clock.hpp"
#include "hw/cuda/copy_line.cuh"
#include "hw/cuda/device_facts.hpp"
#include "hw/kernels/throttle.hpp"
#include "hw/real_time_refusals.hpp"
#include "models/kernel_code.hpp"

namespace gangway {

namespace {

Bytes longest_copy(const Workload& workload) {
  Bytes longest;
  for (const Client& client : workload.clients)
    longest = std::max({longest, client.copy_in, client.copy_out, client.memory});
  return longest;
}

std::int64_t throttle_room(const Device& device, const Kernel& kernel) {
  Kernel throttle = kernel;  // which needs few registers and no shared memory
  throttle.registers = 0;
  throttle.shared_memory = {};
  return resident_blocks(device, throttle);
}

// All that lives on the device, so that it can be left alone as one.
struct OnDevice {
  OnDevice(const WorldSetup& setup, int gpu) {
    const RealMechanismEntry& half =
        real_half(setup.mechanism, RealDevices::named("cuda", "world", "device"));
    const Device device = describe_cuda_device(gpu);
    cuda_check(cudaSetDevice(gpu), "cudaSetDevice");
    session = std::make_unique<preemptible::Session>();
    mechanism = half.on_cuda(setup.mechanism.values());
    session->persist({mechanism->polling(),
                      [this](std::uint32_t room, std::uint32_t block_tasks) {
                        return mechanism->blocks(room, block_tasks);
                      },
                      static_cast<std::uint64_t>(mechanism->look_interval().ns)});
    const Bytes longest = longest_copy(setup.workload);
    to_device = std::make_unique<CopyLine>(cudaMemcpyHostToDevice, longest);
    to_host = std::make_unique<CopyLine>(cudaMemcpyDeviceToHost, longest);
    for (std::uint64_t c = 0; c < setup.workload.clients.size(); ++c) {
      auto& of_client = problems.emplace_back();
      for (std::uint64_t k = 0; k < setup.workload.clients[c].kernels.size(); ++k) {
        const Kernel& kernel = setup.workload.clients[c].kernels[k];
        const auto code = kernel.code
                              ? kernel.code
                              : throttle_like(kernel, throttle_room(device, kernel), mechanism->polling());
        of_client.push_back(
            {code->on_cuda(setup.input_seed + ((c + 1) << 32 | (k + 1))), code->block_tasks()});
        check_room(kernel, *of_client.back().problem);
      }
    }
  }

  void check_room(const Kernel& kernel, const CudaProblem& problem) const {
    const std::uint32_t room = problem.room(mechanism->polling()), least = mechanism->least_room();
    if (room < least)
      throw InputError(kernel.origin, kernel.name,
                       "room for " + std::to_string(room) + " of its blocks on the GPU",
                       "room for " + std::to_string(least) + " under this mechanism");
  }

  struct Problem {
    std::unique_ptr<CudaProblem> problem;
    BlockCount block_tasks;
    std::unique_ptr<DeviceArray<std::uint32_t>> counts = nullptr;  // while observed
  };

  const Problem& of(KernelIndex kernel) const { return problems[kernel.client][kernel.kernel]; }
  std::array<cudaStream_t, 4> streams() const {
    return {session->kernels(), session->commands(), to_device->stream(), to_host->stream()};
  }

  std::vector<std::vector<Problem>> problems;
  std::unique_ptr<DeviceArray<std::uint32_t>> lengths;  // while observed
  std::unique_ptr<CopyLine> to_device, to_host;
  std::unique_ptr<CudaMechanism> mechanism;
  std::unique_ptr<preemptible::Session> session;  // goes first: it waits for what runs
};

// A problem's kernels on the device, evicted by the mechanism.
class CudaLaunches : public DeviceLaunches, public DeviceProbes {
 public:
  explicit CudaLaunches(OnDevice& on) : on_(on) {}

  void launch(KernelIndex kernel, BlockRange range) override {
    const OnDevice::Problem& problem = on_.of(kernel);
    on_.session->observe(problem.counts
                             ? preemptible::Observation{on_.lengths->data(), problem.counts->data()}
                             : preemptible::Observation{});
    last_ = kernel;
    first_ = range.first;
    observed_ = problem.counts != nullptr;
    carried_out([&] { problem.problem->launch(*on_.session, range); });
  }
  void launch_original(KernelIndex kernel) override {
    last_ = kernel;
    observed_ = false;
    carried_out([&] { on_.of(kernel).problem->launch_original(*on_.session); });
  }
  void evict() override {
    carried_out([&] { on_.mechanism->evict(*on_.session); });
  }
  bool started() override { return on_.session->started(); }
  bool gone() override { return on_.session->gone(); }

  void ask_pending_work() override {
    carried_out([&] { on_.mechanism->ask_pending_work(*on_.session); });
  }
  std::optional<BlockCount> pending_work() override {
    const auto done = carried_out([&] { return on_.mechanism->pending_work(*on_.session); });
    if (!done) return std::nullopt;
    return BlockCount{*done};
  }

  void observe(bool on) override {
    if (on && !on_.lengths)
      on_.lengths = std::make_unique<DeviceArray<std::uint32_t>>(preemptible::Observation::kMostLengths);
    for (auto& of_client : on_.problems)
      for (OnDevice::Problem& problem : of_client) {
        problem.counts.reset();
        if (!on) continue;
        problem.counts = std::make_unique<DeviceArray<std::uint32_t>>(problem.block_tasks.count);
        problem.counts->fill_bytes(0);
      }
  }
  Observed observed() override {
    Observed observed;
    const OnDevice::Problem& problem = on_.of(last_);
    if (problem.counts) {
      observed.counts.resize(problem.counts->size());
      cuda_check(cudaMemcpy(observed.counts.data(), problem.counts->data(), problem.counts->bytes(),
                            cudaMemcpyDeviceToHost),
                 "cudaMemcpy of counts");
    }
    if (observed_) {
      std::vector<std::uint32_t> lengths(std::min<std::size_t>(
          on_.session->done() - static_cast<std::size_t>(first_.count), on_.lengths->size()));
      cuda_check(cudaMemcpy(lengths.data(), on_.lengths->data(), lengths.size() * sizeof lengths[0],
                            cudaMemcpyDeviceToHost),
                 "cudaMemcpy of lengths");
      for (const std::uint32_t length : lengths) observed.lengths.push_back({length});
    }
    return observed;
  }
  Duration device_time() override { return {static_cast<std::int64_t>(on_.session->device_ns())}; }
  std::optional<KernelForms> forms(KernelIndex kernel) const override {
    return carried_out([&] { return on_.of(kernel).problem->forms(on_.session->polling()); });
  }
  std::int64_t blocks(KernelIndex kernel) const override {
    const OnDevice::Problem& problem = on_.of(kernel);
    return on_.session->blocks(problem.problem->room(on_.session->polling()),
                               static_cast<std::uint32_t>(problem.block_tasks.count));
  }

 private:
  OnDevice& on_;
  KernelIndex last_;
  BlockCount first_;
  bool observed_ = false;  // the last launch
};

class CudaCopies : public DeviceCopies {
 public:
  explicit CudaCopies(OnDevice& on) : on_(on) {}
  void copy(CopyDirection direction, Bytes size) override { line(direction).copy(size); }
  bool copied(CopyDirection direction) override { return line(direction).copied(); }

 private:
  CopyLine& line(CopyDirection direction) {
    return direction == CopyDirection::to_device ? *on_.to_device : *on_.to_host;
  }
  OnDevice& on_;
};

class CudaMemory : public KernelMemory {
 public:
  explicit CudaMemory(OnDevice& on) : on_(on) {}
  void poison(KernelIndex kernel) override { on_.of(kernel).problem->poison(); }
  std::string difference(KernelIndex kernel) override { return on_.of(kernel).problem->difference(); }

 private:
  OnDevice& on_;
};

class CudaDevice : public CudaPart {
 public:
  CudaDevice(const WorldSetup& setup, int gpu)
      : on_(carried_out([&] { return std::make_unique<OnDevice>(setup, gpu); })),
        launches_(*on_),
        copies_(*on_),
        memory_(*on_) {
    try {
      first_steps();
    } catch (...) {
      settle(kPatience);
      throw;
    }
  }
  ~CudaDevice() override {
    if (on_) settle(kPatience);
  }
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  DeviceLaunches& launches() override { return launches_; }
  DeviceCopies& copies() override { return copies_; }
  KernelMemory& memory() override { return memory_; }
  DeviceProbes& probes() override { return launches_; }
  BlockCount block_tasks(KernelIndex kernel) const override { return on_->of(kernel).block_tasks; }
  const CudaProblem& problem(KernelIndex kernel) const override { return *on_->of(kernel).problem; }
  bool one_at_a_time() const override { return on_->session->polling() == PollingForm::none; }

  void relax() override { pause_briefly(); }
  Duration warm_up() const override { return Duration{300'000'000}; }

  std::string fault() override {
    for (const cudaStream_t stream : on_->streams()) {
      const cudaError_t code = cudaStreamQuery(stream);
      if (code != cudaSuccess && code != cudaErrorNotReady)
        return std::string("the GPU stopped: ") + cudaGetErrorString(code);
    }
    const cudaError_t code = cudaGetLastError();
    if (code == cudaSuccess || code == cudaErrorNotReady) return {};
    return std::string("a CUDA call failed: ") + cudaGetErrorString(code);
  }

  // What cannot be waited for is left on the device with everything it may touch, since freeing memory waits
  // for kernels and one that never ends would hold the program for ever.
  bool settle(Duration limit) override {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::nanoseconds(limit.ns);
    for (;;) {
      const Rest rest = at_rest();
      if (rest == Rest::yes) return true;
      if (rest == Rest::never || std::chrono::steady_clock::now() >= give_up) break;
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    (void)on_.release();
    return false;
  }

 private:
  static constexpr Duration kPatience{20'000'000'000};

  enum class Rest { yes, no, never };
  Rest at_rest() const {
    bool all = on_->session->gone();
    for (const cudaStream_t stream : on_->streams()) {
      const cudaError_t code = cudaStreamQuery(stream);
      if (code == cudaErrorNotReady)
        all = false;
      else if (code != cudaSuccess)
        return Rest::never;
    }
    return all ? Rest::yes : Rest::no;
  }

  // A block-task of each kernel, an eviction and a reading: what comes first is slow, as CUDA loads code and
  // makes queues then.
  void first_steps() {
    for (std::uint32_t c = 0; c < on_->problems.size(); ++c)
      for (std::uint32_t k = 0; k < on_->problems[c].size(); ++k) {
        launches_.launch({c, k}, {{0}, {1}});
        launches_.evict();
        const auto give_up = std::chrono::steady_clock::now() + std::chrono::nanoseconds(kPatience.ns);
        while (!launches_.gone()) {
          const std::string wrong = fault();
          if (!wrong.empty()) throw RunError(wrong);
          if (std::chrono::steady_clock::now() >= give_up)
            throw RunError("the GPU did not finish one block-task in 20 s");
        }
        launches_.ask_pending_work();
        while (!launches_.pending_work()) continue;
        memory_.poison({c, k});
      }
  }

  std::unique_ptr<OnDevice> on_;
  CudaLaunches launches_;
  CudaCopies copies_;
  CudaMemory memory_;
};

}  // namespace

std::unique_ptr<RealDevice> make_cuda_device(const WorldSetup& setup) { return make_cuda_part(setup, 0); }

std::unique_ptr<CudaPart> make_cuda_part(const WorldSetup& setup, int gpu) {
  return std::make_unique<CudaDevice>(setup, gpu);
}

}  // namespace gangway

#else

#include "hw/cuda/without_cuda.hpp"
#include "models/error.hpp"

namespace gangway {

std::unique_ptr<RealDevice> make_cuda_device(const WorldSetup&) { throw RunError(kBuiltWithoutCuda); }
std::unique_ptr<CudaPart> make_cuda_part(const WorldSetup&, int) { throw RunError(kBuiltWithoutCuda); }

}  // namespace gangway

#endif
