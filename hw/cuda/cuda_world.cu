// The device and the world `cuda`: the real-time executor on a real GPU, or native clients on its own queues.
#include "hw/cuda/cuda_device.hpp"
#include "hw/cuda/cuda_poll_probe.hpp"
#include "hw/cuda/cuda_sharing_probe.hpp"
#include "hw/cuda/device_facts.hpp"
#include "hw/cuda/native_player.hpp"
#include "hw/executor.hpp"
#include "hw/native/native_world.hpp"
#include "hw/native/plan.hpp"
#include "hw/native/process.hpp"
#include "hw/real_time_refusals.hpp"

namespace gangway {
namespace {

Machine machine() {
  const CudaFacts facts = cuda_facts(0);
  return {facts.device, "CUDA " + facts.driver + " driver, " + facts.runtime + " runtime, " + facts.clocks};
}

// Which of the two depends on the policy, which a world hears of when it runs.
class CudaWorld : public World {
 public:
  explicit CudaWorld(const WorldSetup& setup) : setup_(setup), as_one_(setup.device) { as_one_.gpus = 1; }

  std::uint64_t run(Policy& policy, const RunSeed& seed, std::span<const std::uint32_t> order,
                    TraceSink& trace) override {
    const bool native = policy.needs().has(Capability::native);
    if (!world_ || native != native_) {
      world_.reset();  // first: both may want much of the device's memory
      world_ =
          native ? make_native_world(setup_, make_native_cuda_player, native_process_command) : managed();
      native_ = native;
    }
    return world_->run(policy, seed, order, trace);
  }

 private:
  std::unique_ptr<World> managed() const {
    check_kernels(setup_);
    if (setup_.device.gpus == 1) return std::make_unique<RealTimeWorld>(setup_, make_cuda_device(setup_));
    const WorldSetup as_one{
        setup_.workload, as_one_,         setup_.mechanism,  setup_.standalone_transformed,
        setup_.horizon,  setup_.watchdog, setup_.input_seed, setup_.by_block,
        setup_.watch,    setup_.granting};
    return std::make_unique<RealTimeWorld>(as_one, make_cuda_gpus(setup_));
  }

  const WorldSetup setup_;
  Device as_one_;  // several GPUs, as policies see them
  std::unique_ptr<World> world_;
  bool native_ = false;
};

constexpr const char* kSummary = "preemptible kernels, or native clients, on an NVIDIA GPU in real time";

void check(const WorldRequest& request, const WorldEntry& world) {
  check_real_time(request, world);
  if (request.policy.needs().has(Capability::native)) check_native(request.setup);
}

const Registration<RealDeviceEntry> device{RealDeviceEntry{
    {"cuda", kSummary, {}},
    PreemptionLevel::block_task,
    [](const RealMechanismEntry& mechanism) { return mechanism.on_cuda != nullptr; },
    [](const RealMechanismEntry& a, const RealMechanismEntry& b) { return a.on_cuda == b.on_cuda; },
    make_cuda_device,
    [] { return describe_cuda_device(0); },
    machine,
    make_cuda_poll_probe,
    make_cuda_sharing_probe,
    make_cuda_gpus}};
const Registration<WorldEntry> world{WorldEntry{
    {"cuda", kSummary, {}},
    {Capability::evict, Capability::ranges, Capability::native},
    check,
    [](const WorldSetup& setup) -> std::unique_ptr<World> { return std::make_unique<CudaWorld>(setup); },
    true,
    machine}};

}  // namespace
}  // namespace gangway
