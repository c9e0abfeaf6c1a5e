// The driver's own way of taking a process's memory off the GPU, as it is called from outside that process.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "hw/live/gpus/gpu_name.hpp"

namespace gangway::live {

class DriverCheckpoints {
 public:
  static constexpr int kSuccess = 0, kNoMemory = 2;
  enum class State : int { running, locked, checkpointed, failed };  // CUprocessState

  // Loads the driver and initializes it. Empty, or why this machine cannot.
  std::string open();

  // Results are the driver's errors. All of them may block for long, but for look().
  int look(pid_t process, State& state) const;
  // From any state to checkpointed. The driver waits so long for the process's calls to end. After an error
  // the process goes on where it can. `hopeless`: the driver could not do it, and will not another time
  // either.
  int save(pid_t process, bool& hopeless) const;
  // From any state to running. After an error it is still checkpointed, or locked.
  int restore(pid_t process) const;
  // From checkpointed to locked, on another GPU of the same kind. The driver wants a new GPU for every one
  // that the process sees: a program of `gangway exec` sees the one. Where that is refused as an invalid
  // value, every GPU of this machine is listed, the two exchanged. After an error it is still checkpointed.
  int restore_on(pid_t process, const GpuUuid& from, const GpuUuid& to) const;

 private:
  struct GpuPair {  // CUcheckpointGpuPair
    GpuUuid old_uuid, new_uuid;
  };
  struct RestoreArguments;
  int restore_pairs(pid_t process, std::vector<GpuPair> pairs) const;

  std::vector<GpuUuid> gpus_;  // of the machine
  int (*state_)(int, int*) = nullptr;
  int (*lock_)(int, void*) = nullptr;
  int (*checkpoint_)(int, void*) = nullptr;
  int (*restore_)(int, void*) = nullptr;
  int (*unlock_)(int, void*) = nullptr;
};

}  // namespace gangway::live
