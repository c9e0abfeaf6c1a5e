// The world `cuda`: the real-time executor on a real GPU.
#include "hw/cuda/backend.hpp"
#include "hw/executor.hpp"

namespace gangway {
namespace {

const Registration<WorldEntry> registered{
    WorldEntry{{"cuda", "preemptible kernels on an NVIDIA GPU, in real time", {}},
               {Capability::evict, Capability::ranges},
               [](const WorldSetup& setup) -> std::unique_ptr<World> {
                 return std::make_unique<RealTimeWorld>(setup, make_cuda_backend(setup));
               }}};

}  // namespace
}  // namespace gangway
