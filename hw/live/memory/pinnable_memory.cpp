#include "hw/live/memory/pinnable_memory.hpp"

#include <algorithm>
#include <fstream>
#include <string>

namespace gangway::live {
namespace {

std::uint64_t number_in(const std::string& path, std::uint64_t otherwise) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  return file >> value ? value : otherwise;
}

// Of the machine: "MemAvailable:  1234 kB".
std::uint64_t available() {
  std::ifstream file("/proc/meminfo");
  std::string key, unit;
  std::uint64_t value = 0;
  while (file >> key >> value) {
    std::getline(file, unit);
    if (key == "MemAvailable:") return value * 1024;
  }
  return UINT64_MAX;
}

}  // namespace

std::uint64_t host_memory_to_pin() {
  const std::string group = "/sys/fs/cgroup/memory";
  const std::uint64_t most = std::min(number_in("/sys/fs/cgroup/memory.max", UINT64_MAX),
                                      number_in(group + "/memory.limit_in_bytes", UINT64_MAX));
  const std::uint64_t used =
      std::max(number_in("/sys/fs/cgroup/memory.current", 0), number_in(group + "/memory.usage_in_bytes", 0));
  const std::uint64_t left = most > used ? most - used : 0;
  return std::min(available(), left) / 5 * 4;
}

}  // namespace gangway::live
