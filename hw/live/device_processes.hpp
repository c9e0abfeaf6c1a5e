// Other processes that use the GPU.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace gangway::live {

// Every process with a CUDA context has this file open.
inline constexpr const char* kDeviceFile = "/dev/nvidia-uvm";

struct DeviceProcess {
  pid_t process = 0;
  std::string command;  // empty: unknown
};

// The processes, by number, that have the file open, as far as this user may see.
std::vector<DeviceProcess> processes_with(const std::string& file);

}  // namespace gangway::live
