#include "hw/live/checkpoint/driver_checkpoints.hpp"

#include <dlfcn.h>

#include <type_traits>
#include <utility>

#include "hw/driver_facts.hpp"

namespace gangway::live {
namespace {

constexpr int kFirstVersion = 12080;
constexpr unsigned kLockTimeout = 10'000;  // ms

struct LockArguments {  // CUcheckpointLockArgs; the other calls take none
  unsigned timeout_ms = kLockTimeout, reserved = 0;
  unsigned long long more[7] = {};
};

constexpr int kInvalidValue = 1;

}  // namespace

struct DriverCheckpoints::RestoreArguments {  // CUcheckpointRestoreArgs
  GpuPair* pairs = nullptr;
  unsigned count = 0;
  char reserved[52 - sizeof(GpuPair*)] = {};
  unsigned long long more = 0;
};

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
  if (failed != kSuccess) return "the driver does not start: error " + std::to_string(failed);
  const auto count_of = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDeviceGetCount"));
  const auto uuid_of = reinterpret_cast<int (*)(unsigned char*, int)>(dlsym(driver, "cuDeviceGetUuid_v2"));
  int count = 0;
  if (count_of == nullptr || uuid_of == nullptr || count_of(&count) != kSuccess) count = 0;
  for (int gpu = 0; gpu < count; ++gpu)
    if (GpuUuid uuid{}; uuid_of(uuid.data(), gpu) == kSuccess) gpus_.push_back(uuid);
  return "";
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

int DriverCheckpoints::restore_on(pid_t process, const GpuUuid& from, const GpuUuid& to) const {
  const int failed = restore_pairs(process, {{from, to}});
  if (failed != kInvalidValue || gpus_.size() < 2) return failed;
  std::vector<GpuPair> pairs;
  for (const GpuUuid& gpu : gpus_) pairs.push_back({gpu, gpu == from ? to : gpu == to ? from : gpu});
  return restore_pairs(process, std::move(pairs));
}

int DriverCheckpoints::restore_pairs(pid_t process, std::vector<GpuPair> pairs) const {
  RestoreArguments arguments;
  arguments.pairs = pairs.data();
  arguments.count = static_cast<unsigned>(pairs.size());
  return restore_(process, &arguments);
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
