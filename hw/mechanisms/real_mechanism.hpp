// The real halves of mechanisms: how the scheduler's commands reach a launch on a real device, and which
// device code its blocks run. One self-registering file each in hw/mechanisms/, under the name of the
// simulated half (models/mechanism/).
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

// What a mechanism settles on every device.
class RealMechanism {
 public:
  virtual ~RealMechanism() = default;
  // Persistent blocks of a launch of `block_tasks` >= 1 block-tasks on a device that holds `room` >= 1 of the
  // kernel's blocks at once; 1 to `room`. Asked before each launch, so it neither waits nor allocates.
  virtual std::uint32_t blocks(std::uint32_t room, std::uint32_t block_tasks) const {
    return std::min(room, block_tasks);
  }
  // Of which so many have to fit. Of a kernel with less room the device makes nothing.
  virtual std::uint32_t least_room() const { return 1; }
  // How these blocks find out that they have to leave. `none`: a launch is blocks of the original kernel, one
  // for each block-task, however many fit at once.
  virtual PollingForm polling() const { return PollingForm::claim; }
  // Under `proxy`: how far apart two looks of a block are to be; 0: one before each block-task.
  virtual Duration look_interval() const { return {}; }
};

// Where nobody says which: every device has it, and needs no more than commands to be measured for it.
inline constexpr const char* kUsualMechanism = "flag-copy";

// On CPU cores nothing more is needed: scheduler and workers share memory, so the command is a store.
using HostMechanism = RealMechanism;

// On a GPU. No call but the constructor waits. All throw preemptible::Error.
class CudaMechanism : public RealMechanism {
 public:
  // Orders the launch off the device. Without effect once it is gone.
  virtual void evict(preemptible::Session& session) = 0;
  // Once gone: asked, then known. Block-tasks of the kernel done in all.
  virtual void ask_pending_work(const preemptible::Session& session) = 0;
  virtual std::optional<std::uint32_t> pending_work(const preemptible::Session& session) = 0;
};

struct RealMechanismEntry {
  std::string name;
  // Parameters of the simulated half that reach the device: the constructors below are given them.
  std::vector<std::string> obeyed;
  // Those that tell the simulator what a device does by itself, as calibration measures it. On a real device
  // they change nothing. Any other parameter is refused there unless it has its default.
  std::vector<std::string> descriptive;
  // None: the mechanism is not for that device.
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
#else  // the names are known wherever the program was built
template <typename Half>
std::unique_ptr<CudaMechanism> make_cuda_half(const ParameterValues&) {
  throw RunError(kBuiltWithoutCuda);
}
#endif

// `const RealMechanismRegistration<HostMechanism, FlagCopy> registered{{"flag-copy", {}, {"useful"}}};`
// Either half may be void. The second is only declared where there is no CUDA.
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
