// Who else uses the GPU.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace gangway::live {

// What every process with a CUDA context has open.
inline constexpr const char* kDeviceFile = "/dev/nvidia-uvm";

struct DeviceProcess {
  pid_t process = 0;
  std::string command;  // empty: it is not told
};

// Processes that have the file open, as far as this user may look; by number.
std::vector<DeviceProcess> processes_with(const std::string& file);

}  // namespace gangway::live
