// Other processes that use the GPU.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

namespace gangway::live {

// Every process with a CUDA context has this file open.
inline constexpr const char* kDeviceFile = "/dev/nvidia-uvm";

// What a process is called that makes checkpoints for a daemon (checkpoint/), and so has contexts.
inline constexpr const char* kHelperName = "gangway-helper";

struct DeviceProcess {
  pid_t process = 0;
  std::string command;  // empty: unknown
};

struct DeviceProcesses {
  std::vector<DeviceProcess> found;  // by number
  std::size_t not_looked_at = 0;     // others, into which this user may not look
};

// The processes that have the file open, but for those that daemons have for checkpoints.
DeviceProcesses processes_with(const std::string& file);

}  // namespace gangway::live
