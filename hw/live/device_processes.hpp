// Other processes that use the GPU.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "models/quantity.hpp"

namespace gangway::live {

// Every process with a CUDA context has this file open.
inline constexpr const char* kDeviceFile = "/dev/nvidia-uvm";

// What a process is called that makes checkpoints for a daemon (checkpoint/), and so has contexts.
inline constexpr const char* kHelperName = "gangway-helper";

struct DeviceProcess {
  pid_t process = 0;
  std::string command;  // its first 256 bytes; empty: unknown
};

struct DeviceProcesses {
  std::vector<DeviceProcess> found;  // by number
  std::size_t not_looked_at = 0;     // others, into which this user may not look
};

// The command of a process, by its folder in /proc, as in DeviceProcess.
std::string command_of(const std::string& process);

// The processes that have the file open, but for those that daemons have for checkpoints. Nobody has a file
// open that does not exist.
DeviceProcesses processes_with(const std::string& file);

// What `own` lacks because its user may not look everywhere, from somebody else's earlier look: processes
// that are still there.
DeviceProcesses completed(DeviceProcesses own, const DeviceProcesses& earlier);

// Looks for such processes at intervals, in a thread of the lowest priority: a look takes milliseconds.
class DeviceWatch {
 public:
  DeviceWatch(std::string file, Duration pause);
  std::optional<DeviceProcesses> news();  // what the latest look found, once; does not wait for one

 private:
  void watch(const std::stop_token& stop);

  const std::string file_;
  const Duration pause_;
  std::mutex mutex_;
  std::condition_variable_any ends_;
  DeviceProcesses found_;
  std::atomic<bool> fresh_{false};  // `found_` is news
  std::jthread thread_;             // last, as it uses the rest until it has ended
};

}  // namespace gangway::live
