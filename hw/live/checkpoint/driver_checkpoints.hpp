// The driver's checkpoints, which take a process's memory off the GPU, called from outside that process.
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

  // Loads and initializes the driver. Returns an empty text, or why this machine cannot make checkpoints.
  std::string open();

  // Results are the driver's errors. All except look() may block for long.
  int look(pid_t process, State& state) const;
  // From any state to checkpointed. The driver waits up to 10 s for the process's calls to end. After an
  // error the process continues if possible. `hopeless`: trying again would fail, too.
  int save(pid_t process, bool& hopeless) const;
  // From any state to running. After an error it is still checkpointed, or locked.
  int restore(pid_t process) const;
  // From checkpointed to locked, on another GPU of the same kind. The driver needs a new GPU for each one
  // that the process sees; a program of `gangway exec` sees one. If the driver refuses that as an invalid
  // value, all GPUs of this machine are listed, with the two exchanged. After an error it is still
  // checkpointed.
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
