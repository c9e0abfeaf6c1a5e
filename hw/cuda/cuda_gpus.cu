// Several GPUs as one device: the block-tasks of each launch are divided among them, and the outputs come
// together on the first when the kernel's last ones are done.
#include "hw/cuda/cuda_device.hpp"

#ifdef __CUDACC__

#include <map>
#include <tuple>
#include <utility>

#include "hw/cuda/merged_outputs.cuh"

namespace gangway {
namespace {

class CudaGpus : public RealDevice, private DeviceLaunches, private DeviceCopies, private KernelMemory {
 public:
  explicit CudaGpus(const WorldSetup& setup) {
    int there = 0;
    cuda_check(cudaGetDeviceCount(&there), "cudaGetDeviceCount");
    const auto gpus = static_cast<int>(setup.device.gpus);
    if (there < gpus)
      throw RunError("the experiment wants " + std::to_string(gpus) + " GPUs, and this machine has " +
                     std::to_string(there));
    std::vector<int> others;
    for (int gpu = 0; gpu < gpus; ++gpu) {
      parts_.push_back(make_cuda_part(setup, gpu));
      if (gpu > 0) others.push_back(gpu);
    }
    if (!parts_.front()->one_at_a_time())
      throw InputError({"--world cuda", 0}, "mechanism", quote(setup.mechanism.entry().name),
                       "slice or microkernel on several GPUs, of which an eviction would leave no prefix");
    merged_ = std::make_unique<MergedOutputs>(0, others);
  }

  DeviceLaunches& launches() override { return *this; }
  DeviceCopies& copies() override { return *this; }
  KernelMemory& memory() override { return *this; }
  DeviceProbes& probes() override { return on(0).probes(); }
  void relax() override { parts_.front()->relax(); }
  Duration warm_up() const override { return parts_.front()->warm_up(); }

  std::string fault() override {
    for (std::size_t gpu = 0; gpu < parts_.size(); ++gpu)
      if (std::string wrong = on(gpu).fault(); !wrong.empty())
        return "GPU " + std::to_string(gpu) + ": " + wrong;
    return {};
  }
  bool settle(Duration limit) override {
    bool all = true;
    for (std::size_t gpu = 0; gpu < parts_.size(); ++gpu) all = on(gpu).settle(limit) && all;
    return all;
  }

 private:
  CudaPart& on(std::size_t gpu) {
    cuda_check(cudaSetDevice(static_cast<int>(gpu)), "cudaSetDevice");
    return *parts_[gpu];
  }
  std::uint32_t gpus() const { return static_cast<std::uint32_t>(parts_.size()); }

  // A kernel's first launch makes all versions of its outputs alike, unless a map says who has written what.
  void launch(KernelIndex kernel, BlockRange range) override {
    const bool begins = range.first.count == 0;
    const bool mapped = parts_.front()->problem(kernel).written({{0}, {0}}).has_value();
    running_.clear();
    kernel_ = kernel;
    last_ = range.last;
    phase_ = Phase::running;
    for (std::uint32_t gpu = 0; gpu < gpus(); ++gpu) {
      CudaPart& part = on(gpu);
      if (begins) written(kernel, gpu).clear();
      if (begins && !mapped) clear(part.problem(kernel));
      const BlockRange its = part_of(range, gpu, gpus());
      if (its.first.count == its.last.count) continue;
      part.launches().launch(kernel, its);
      note_written(gpu, its);
      running_.push_back(gpu);
    }
    cuda_check(cudaSetDevice(0), "cudaSetDevice");
  }
  void evict() override {}  // its mechanism has none
  bool started() override {
    for (const std::size_t gpu : running_)
      if (parts_[gpu]->launches().started()) return true;
    return false;
  }
  bool gone() override {
    if (phase_ == Phase::running) {
      for (const std::size_t gpu : running_)
        if (!parts_[gpu]->launches().gone()) return false;
      phase_ = Phase::gone;
      if (last_.count == parts_.front()->block_tasks(kernel_).count) merge();
    }
    if (phase_ == Phase::merging && merged_->over()) phase_ = Phase::gone;
    return phase_ == Phase::gone;
  }
  void ask_pending_work() override {}
  std::optional<BlockCount> pending_work() override { return last_; }

  // In the order of the device: the launch comes behind it in no stream, so it is waited for.
  static void clear(const CudaProblem& problem) {
    for (const OutputMemory& output : problem.outputs())
      cuda_check(cudaMemsetAsync(output.at, 0, output.bytes, nullptr), "cudaMemset of outputs");
    cuda_check(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
  }

  std::vector<BlockRange>& written(KernelIndex kernel, std::uint32_t gpu) {
    return written_[{kernel.client, kernel.kernel, gpu}];
  }

  // Ranges that follow each other are one.
  void note_written(std::uint32_t gpu, BlockRange range) {
    std::vector<BlockRange>& all = written(kernel_, gpu);
    if (!all.empty() && all.back().last.count == range.first.count)
      all.back().last = range.last;
    else
      all.push_back(range);
  }

  void merge() {
    cuda_check(cudaSetDevice(0), "cudaSetDevice");
    const CudaProblem& first = parts_.front()->problem(kernel_);
    const std::vector<OutputMemory> into = first.outputs();
    for (std::uint32_t gpu = 1; gpu < gpus(); ++gpu) {
      if (written(kernel_, gpu).empty()) continue;
      const CudaProblem& other = parts_[gpu]->problem(kernel_);
      const std::vector<OutputMemory> from = other.outputs();
      if (!first.written({{0}, {0}})) {
        for (std::size_t o = 0; o < into.size(); ++o)
          merged_->join(gpu - 1, static_cast<int>(gpu), into[o], from[o]);
        continue;
      }
      for (const BlockRange& range : written(kernel_, gpu)) {
        const auto parts = other.written(range);
        for (const WrittenBytes& part : *parts)
          merged_->take(static_cast<int>(gpu), into[part.output], from[part.output], part);
      }
    }
    merged_->ordered();
    phase_ = Phase::merging;
  }

  void copy(CopyDirection direction, Bytes size) override { on(0).copies().copy(direction, size); }
  bool copied(CopyDirection direction) override { return on(0).copies().copied(direction); }

  void poison(KernelIndex kernel) override {
    for (std::size_t gpu = 0; gpu < parts_.size(); ++gpu) on(gpu).memory().poison(kernel);
    cuda_check(cudaSetDevice(0), "cudaSetDevice");
  }
  std::string difference(KernelIndex kernel) override { return on(0).memory().difference(kernel); }

  enum class Phase { running, merging, gone };
  std::vector<std::unique_ptr<CudaPart>> parts_;  // by GPU
  std::unique_ptr<MergedOutputs> merged_;
  // By client, kernel and GPU, since the kernel's first launch: slices of several clients take turns.
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::vector<BlockRange>> written_;
  std::vector<std::size_t> running_;  // GPUs of this launch
  KernelIndex kernel_;
  BlockCount last_;
  Phase phase_ = Phase::gone;
};

}  // namespace

std::unique_ptr<RealDevice> make_cuda_gpus(const WorldSetup& setup) {
  return carried_out([&] { return std::make_unique<CudaGpus>(setup); });
}

}  // namespace gangway

#else

#include "hw/cuda/without_cuda.hpp"
#include "models/error.hpp"

namespace gangway {

std::unique_ptr<RealDevice> make_cuda_gpus(const WorldSetup&) { throw RunError(kBuiltWithoutCuda); }

}  // namespace gangway

#endif
