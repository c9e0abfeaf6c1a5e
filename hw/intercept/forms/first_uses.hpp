// Functions of the driver load a kernel when it is first used, and then may wait for all that the context has
// under way (CUDA's "lazy loading"); so may a launch whose kernel needs more local memory than others before.
// Such calls have to be made alone (hw/live/launch_keeper.hpp).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>

#include "hw/intercept/forms/real_calls.hpp"

namespace gangway::intercept {

class FirstUses {
 public:
  enum class Use : std::uint8_t { launch, question };
  // Whether a kernel (CUfunction or CUkernel) is used so for the first time in a context. By any thread,
  // without a lock; of more kernels than there are places for, never.
  bool first(const void* function, std::uint64_t context, Use use);
  void forget();  // handles may mean something else from now on

  // Whether it has much local memory: asked once, noted by note().
  bool needs_much_local(const void* function);
  // `function`: the handle, or what it is in the current context. False: that is no function of a context.
  bool note(const void* handle, CUfunction function);

 private:
  static constexpr std::size_t kPlaces = std::size_t{1} << 15;
  std::array<std::atomic<std::uint64_t>, kPlaces> seen_{};
  std::mutex mutex_;
  std::set<const void*> much_local_;
  std::atomic<bool> some_{false};
};

}  // namespace gangway::intercept
