// The device and the world `cuda`: the real-time executor on a real GPU.
#include "hw/cuda/backend.hpp"
#include "hw/cuda/devices.hpp"
#include "hw/executor.hpp"

namespace gangway {
namespace {

Machine machine() {
  const CudaFacts facts = cuda_facts(0);
  return {facts.device, "CUDA " + facts.driver + " driver, " + facts.runtime + " runtime, " + facts.clocks};
}

constexpr const char* kSummary = "preemptible kernels on an NVIDIA GPU, in real time";

const Registration<BackendEntry> device{
    BackendEntry{{"cuda", kSummary, {}}, make_cuda_backend, [] { return describe_cuda_device(0); }, machine}};
const Registration<WorldEntry> world{WorldEntry{
    {"cuda", kSummary, {}},
    RealTimeWorld::kCapabilities,
    [](const WorldSetup& setup) -> std::unique_ptr<World> {
      return std::make_unique<RealTimeWorld>(setup, make_cuda_backend(RealTimeWorld::checked(setup)));
    },
    true,
    machine,
    cuda_mechanisms}};

}  // namespace
}  // namespace gangway
