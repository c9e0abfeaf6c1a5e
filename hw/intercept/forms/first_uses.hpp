// The driver loads a kernel when it is first used, and may then wait for all of the context's work (CUDA's
// "lazy loading"). So may a launch whose kernel needs more local memory than earlier ones. Such calls must be
// made alone (hw/live/launch_keeper.hpp).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "hw/intercept/forms/real_calls.hpp"

namespace gangway::intercept {

class FirstUses {
 public:
  enum class Use : std::uint8_t { launch, question };
  // Whether nobody has said used() of the kernel (CUfunction or CUkernel) in the context. Any thread may call
  // it; takes no lock.
  bool first(const void* function, std::uint64_t context, Use use) const;
  void used(const void* function, std::uint64_t context, Use use);
  // The driver gave the program this handle. If something was unloaded since it last did, the handle may mean
  // another kernel now, whose first use is still to come.
  void given(const void* function);
  // A module or library is about to go, or is gone. Handles that nobody saw the program get may mean other
  // kernels from now on.
  void unloaded();
  // Likewise a context, whose handle may be used again, too.
  void forget();

  // Whether note() found that the kernel needs much local memory.
  bool needs_much_local(const void* function);
  // Asks the driver for a kernel's local memory. `function`: the handle, or its function in the current
  // context. False: the driver does not know the function.
  bool note(const void* handle, CUfunction function);

 private:
  static constexpr std::size_t kPlaces = std::size_t{1} << 15;
  struct Handle {
    std::vector<std::uint64_t> uses;     // keys in the table
    std::optional<std::uint64_t> given;  // how much had been unloaded when the program got it
  };
  void forget(const void* function, Handle& handle);
  void forget_all();

  std::array<std::atomic<std::uint64_t>, kPlaces> seen_{};
  std::mutex mutex_;
  std::map<const void*, Handle> handles_;
  std::uint64_t unloaded_ = 0;
  std::set<const void*> much_local_;
  std::atomic<bool> some_{false};
};

}  // namespace gangway::intercept
