#include "hw/live/checkpoint/driver_checkpoints.hpp"

#include <dlfcn.h>

#include <type_traits>

#include "hw/driver_facts.hpp"

namespace gangway::live {
namespace {

constexpr int kFirstVersion = 12080;
constexpr unsigned kLockTimeout = 10'000;  // ms

struct LockArguments {  // CUcheckpointLockArgs; the other calls take none
  unsigned timeout_ms = kLockTimeout, reserved = 0;
  unsigned long long more[7] = {};
};

}  // namespace

std::string DriverCheckpoints::open() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) return std::string("no CUDA driver found: ") + dlerror();
  const auto version_of = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDriverGetVersion"));
  int version = 0;
  if (version_of == nullptr || version_of(&version) != kSuccess) version = 0;
  if (version < kFirstVersion)
    return "the driver supports CUDA " + cuda_version_text(version) + ", and checkpoints need one for " +
           cuda_version_text(kFirstVersion) + " or newer";
  const auto take = [&](auto*& function, const char* symbol) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(driver, symbol));
    return function != nullptr;
  };
  if (!take(state_, "cuCheckpointProcessGetState") || !take(lock_, "cuCheckpointProcessLock") ||
      !take(checkpoint_, "cuCheckpointProcessCheckpoint") || !take(restore_, "cuCheckpointProcessRestore") ||
      !take(unlock_, "cuCheckpointProcessUnlock"))
    return "the driver lacks the functions for checkpoints";
  const auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
  const int failed = init != nullptr ? init(0) : -1;
  return failed == kSuccess ? "" : "the driver does not start: error " + std::to_string(failed);
}

int DriverCheckpoints::look(pid_t process, State& state) const {
  int found = 0;
  const int failed = state_(process, &found);
  state = static_cast<State>(found);
  return failed;
}

int DriverCheckpoints::save(pid_t process, bool& hopeless) const {
  hopeless = false;
  State state = State::running;
  if (const int failed = look(process, state)) return failed;
  if (state == State::checkpointed) return kSuccess;
  LockArguments arguments;
  if (state == State::running)
    if (const int failed = lock_(process, &arguments)) return failed;
  const int failed = checkpoint_(process, nullptr);
  if (failed == kSuccess) return kSuccess;
  hopeless = true;
  unlock_(process, nullptr);
  return failed;
}

int DriverCheckpoints::restore(pid_t process) const {
  State state = State::running;
  if (const int failed = look(process, state)) return failed;
  if (state == State::checkpointed)
    if (const int failed = restore_(process, nullptr)) return failed;
  if (state == State::running) return kSuccess;
  return unlock_(process, nullptr);
}

}  // namespace gangway::live
