// The real halves of mechanisms: how the scheduler's commands reach a launch on a real device, and which
// device code its blocks run. One self-registering file each in hw/mechanisms/, named like the simulated half
// (models/mechanism/).
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "hw/cuda/without_cuda.hpp"
#include "hw/protocol.hpp"
#include "models/error.hpp"
#include "models/quantity.hpp"
#include "models/registry.hpp"

namespace gangway {

namespace preemptible {
class Session;  // hw/cuda/session.cuh
}

// Properties of a mechanism on every device.
class RealMechanism {
 public:
  virtual ~RealMechanism() = default;
  // Persistent blocks, 1 to `room`, for a launch of `block_tasks` >= 1 on a device that holds `room` >= 1
  // blocks of the kernel. Called before each launch; neither waits nor allocates.
  virtual std::uint32_t blocks(std::uint32_t room, std::uint32_t block_tasks) const {
    return std::min(room, block_tasks);
  }
  // Fewest blocks that must fit; a kernel with less room is refused.
  virtual std::uint32_t least_room() const { return 1; }
  // How blocks learn that they must leave. `none`: a launch consists of the original kernel's blocks, one per
  // block-task, however many fit at once.
  virtual PollingForm polling() const { return PollingForm::claim; }
  // Under `proxy`: intended interval between a block's looks; 0: before each block-task.
  virtual Duration look_interval() const { return {}; }
};

// The default: every device supports it, and only its commands must be measured.
inline constexpr const char* kUsualMechanism = "flag-copy";

// On CPU cores, scheduler and workers share memory, so a command is a store.
using HostMechanism = RealMechanism;

// On a GPU. Only the constructor waits. All throw preemptible::Error.
class CudaMechanism : public RealMechanism {
 public:
  // Orders an eviction. No effect once the launch is gone.
  virtual void evict(preemptible::Session& session) = 0;
  // Once gone: requested, then known. Finished block-tasks of the kernel in total.
  virtual void ask_pending_work(const preemptible::Session& session) = 0;
  virtual std::optional<std::uint32_t> pending_work(const preemptible::Session& session) = 0;
};

struct RealMechanismEntry {
  std::string name;
  // Parameters of the simulated half that reach the device, through the constructors below.
  std::vector<std::string> obeyed;
  // Parameters that describe a device's behaviour to the simulator, as measured by calibration. They have no
  // effect on a real device. Any other parameter must have its default there.
  std::vector<std::string> descriptive;
  // Null: the device does not support the mechanism.
  std::unique_ptr<HostMechanism> (*on_host)(const ParameterValues&) = nullptr;
  std::unique_ptr<CudaMechanism> (*on_cuda)(const ParameterValues&) = nullptr;
};
using RealMechanisms = Registry<RealMechanismEntry>;

template <typename Base, typename Half>
std::unique_ptr<Base> make_half([[maybe_unused]] const ParameterValues& values) {
  if constexpr (std::is_constructible_v<Half, const ParameterValues&>)
    return std::make_unique<Half>(values);
  else
    return std::make_unique<Half>();
}

#ifdef __CUDACC__
template <typename Half>
std::unique_ptr<CudaMechanism> make_cuda_half(const ParameterValues& values) {
  return make_half<CudaMechanism, Half>(values);
}
#else  // names are known in every build
template <typename Half>
std::unique_ptr<CudaMechanism> make_cuda_half(const ParameterValues&) {
  throw RunError(kBuiltWithoutCuda);
}
#endif

// `const RealMechanismRegistration<HostMechanism, FlagCopy> registered{{"flag-copy", {}, {"useful"}}};`
// Either half may be void. Without CUDA the second is only declared.
template <typename OnHost, typename OnCuda>
struct RealMechanismRegistration : Registration<RealMechanismEntry> {
  explicit RealMechanismRegistration(RealMechanismEntry entry,
                                     const std::source_location& where = std::source_location::current())
      : Registration<RealMechanismEntry>(with_halves(std::move(entry)), where) {}

 private:
  static RealMechanismEntry with_halves(RealMechanismEntry entry) {
    if constexpr (!std::is_void_v<OnHost>) entry.on_host = make_half<HostMechanism, OnHost>;
    if constexpr (!std::is_void_v<OnCuda>) entry.on_cuda = make_cuda_half<OnCuda>;
    return entry;
  }
};

}  // namespace gangway
