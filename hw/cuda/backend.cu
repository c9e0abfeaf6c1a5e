#include "hw/cuda/backend.hpp"

#ifdef __CUDACC__

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "hw/clock.hpp"
#include "hw/cuda/device_memory.cuh"
#include "hw/cuda/devices.hpp"
#include "hw/cuda/flag_writer.hpp"
#include "hw/cuda/kernels/throttle.hpp"
#include "models/kernel_code.hpp"

namespace gangway {

std::vector<std::string> cuda_mechanisms() { return FlagWriters::names(); }

namespace {

// Copies of the clients' data: only their time matters, so long ones pass a smaller buffer again and again.
class CopyLine {
 public:
  CopyLine(cudaMemcpyKind kind, Bytes longest)
      : kind_(kind), room_(std::min(longest.count, kRoom)), there_(room_) {
    cuda_check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    cuda_check(cudaEventCreateWithFlags(&copied_, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    if (room_ > 0)
      cuda_check(cudaHostAlloc(&here_, static_cast<std::size_t>(room_), cudaHostAllocDefault),
                 "cudaHostAlloc of a staging buffer");
  }
  ~CopyLine() {
    cudaFreeHost(here_);
    cudaEventDestroy(copied_);
    cudaStreamDestroy(stream_);
  }
  CopyLine(const CopyLine&) = delete;
  CopyLine& operator=(const CopyLine&) = delete;

  void copy(Bytes size) {
    if (size.count > 0 && room_ == 0) throw RunError("a copy larger than any of the workload");
    for (std::int64_t rest = size.count; rest > 0; rest -= room_) {
      const auto part = static_cast<std::size_t>(std::min(rest, room_));
      void* const to = kind_ == cudaMemcpyHostToDevice ? static_cast<void*>(there_.data()) : here_;
      const void* const from = kind_ == cudaMemcpyHostToDevice ? here_ : static_cast<void*>(there_.data());
      cuda_check(cudaMemcpyAsync(to, from, part, kind_, stream_), "cudaMemcpyAsync");
    }
    cuda_check(cudaEventRecord(copied_, stream_), "cudaEventRecord");
  }
  bool copied() const {
    const cudaError_t code = cudaEventQuery(copied_);
    if (code == cudaErrorNotReady) return false;
    cuda_check(code, "cudaEventQuery");
    return true;
  }
  cudaStream_t stream() const { return stream_; }

 private:
  static constexpr std::int64_t kRoom = 256 << 20;

  cudaMemcpyKind kind_;
  std::int64_t room_;
  DeviceArray<char> there_;
  void* here_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t copied_ = nullptr;
};

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
  explicit OnDevice(const WorldSetup& setup) {
    const FlagWriterEntry& mechanism = FlagWriters::named(setup.mechanism_name, "cuda", "mechanism");
    const Device device = describe_cuda_device(0);
    cuda_check(cudaSetDevice(0), "cudaSetDevice");
    session = std::make_unique<preemptible::Session>();
    writer = mechanism.make();
    const Bytes longest = longest_copy(setup.workload);
    to_device = std::make_unique<CopyLine>(cudaMemcpyHostToDevice, longest);
    to_host = std::make_unique<CopyLine>(cudaMemcpyDeviceToHost, longest);
    for (std::uint64_t c = 0; c < setup.workload.clients.size(); ++c) {
      auto& of_client = problems.emplace_back();
      for (std::uint64_t k = 0; k < setup.workload.clients[c].kernels.size(); ++k) {
        const Kernel& kernel = setup.workload.clients[c].kernels[k];
        const auto code = kernel.code ? kernel.code : throttle_like(kernel, throttle_room(device, kernel));
        of_client.push_back(
            {code->on_cuda(setup.input_seed + ((c + 1) << 32 | (k + 1))), code->block_tasks()});
      }
    }
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
  std::unique_ptr<FlagWriter> writer;
  std::unique_ptr<preemptible::Session> session;  // goes first: it waits for what runs
};

class CudaBackend : public Backend {
 public:
  explicit CudaBackend(const WorldSetup& setup)
      : on_(carried_out([&] { return std::make_unique<OnDevice>(setup); })) {
    try {
      first_steps();
    } catch (...) {
      settle(kPatience);
      throw;
    }
  }
  ~CudaBackend() override {
    if (on_) settle(kPatience);
  }
  CudaBackend(const CudaBackend&) = delete;
  CudaBackend& operator=(const CudaBackend&) = delete;

  void launch(KernelIndex kernel, BlockRange range) override {
    const OnDevice::Problem& problem = on_->of(kernel);
    on_->session->observe(problem.counts
                              ? preemptible::Observation{on_->lengths->data(), problem.counts->data()}
                              : preemptible::Observation{});
    last_ = kernel;
    first_ = range.first;
    observed_ = problem.counts != nullptr;
    carried_out([&] { problem.problem->launch(*on_->session, range); });
  }
  void launch_original(KernelIndex kernel) override {
    last_ = kernel;
    observed_ = false;
    carried_out([&] { on_->of(kernel).problem->launch_original(*on_->session); });
  }
  void evict() override {
    carried_out([&] { on_->writer->evict(*on_->session); });
  }
  bool started() override { return on_->session->started(); }
  bool gone() override { return on_->session->gone(); }

  void ask_pending_work() override {
    carried_out([&] { on_->writer->ask_pending_work(*on_->session); });
  }
  std::optional<BlockCount> pending_work() override {
    const auto done = carried_out([&] { return on_->writer->pending_work(*on_->session); });
    if (!done) return std::nullopt;
    return BlockCount{*done};
  }

  void relax() override { pause_briefly(); }
  Duration warm_up() const override { return Duration{300'000'000}; }

  void copy(Direction direction, Bytes size) override { line(direction).copy(size); }
  bool copied(Direction direction) override { return line(direction).copied(); }

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

  void observe(bool on) override {
    if (on && !on_->lengths)
      on_->lengths = std::make_unique<DeviceArray<std::uint32_t>>(preemptible::Observation::kMostLengths);
    for (auto& of_client : on_->problems)
      for (OnDevice::Problem& problem : of_client) {
        problem.counts.reset();
        if (!on) continue;
        problem.counts = std::make_unique<DeviceArray<std::uint32_t>>(problem.block_tasks.count);
        problem.counts->fill_bytes(0);
      }
  }
  Observed observed() override {
    Observed observed;
    const OnDevice::Problem& problem = on_->of(last_);
    if (problem.counts) {
      observed.counts.resize(problem.counts->size());
      cuda_check(cudaMemcpy(observed.counts.data(), problem.counts->data(), problem.counts->bytes(),
                            cudaMemcpyDeviceToHost),
                 "cudaMemcpy of counts");
    }
    if (observed_) {
      std::vector<std::uint32_t> lengths(std::min<std::size_t>(
          on_->session->done() - static_cast<std::size_t>(first_.count), on_->lengths->size()));
      cuda_check(cudaMemcpy(lengths.data(), on_->lengths->data(), lengths.size() * sizeof lengths[0],
                            cudaMemcpyDeviceToHost),
                 "cudaMemcpy of lengths");
      for (const std::uint32_t length : lengths) observed.lengths.push_back({length});
    }
    return observed;
  }
  Duration device_time() override { return {static_cast<std::int64_t>(on_->session->device_ns())}; }
  std::int64_t blocks(KernelIndex kernel) const override { return on_->of(kernel).problem->blocks(); }
  void poison(KernelIndex kernel) override { on_->of(kernel).problem->poison(); }
  std::string difference(KernelIndex kernel) override { return on_->of(kernel).problem->difference(); }

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
        launch({c, k}, {{0}, {1}});
        evict();
        const auto give_up = std::chrono::steady_clock::now() + std::chrono::nanoseconds(kPatience.ns);
        while (!gone()) {
          const std::string wrong = fault();
          if (!wrong.empty()) throw RunError(wrong);
          if (std::chrono::steady_clock::now() >= give_up)
            throw RunError("the GPU did not finish one block-task in 20 s");
        }
        ask_pending_work();
        while (!pending_work()) continue;
        poison({c, k});
      }
  }

  CopyLine& line(Direction direction) {
    return direction == Direction::restore ? *on_->to_device : *on_->to_host;
  }

  std::unique_ptr<OnDevice> on_;
  KernelIndex last_;
  BlockCount first_;
  bool observed_ = false;  // the last launch
};

}  // namespace

std::unique_ptr<Backend> make_cuda_backend(const WorldSetup& setup) {
  return std::make_unique<CudaBackend>(setup);
}

}  // namespace gangway

#else

#include "models/error.hpp"

namespace gangway {

std::unique_ptr<Backend> make_cuda_backend(const WorldSetup&) { throw RunError(kBuiltWithoutCuda); }
std::vector<std::string> cuda_mechanisms() { return {"flag-copy", "write-value"}; }

}  // namespace gangway

#endif
