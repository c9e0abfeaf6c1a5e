#include "hw/live/memory/pinnable_memory.hpp"

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <string>

namespace gangway::live {
namespace {

std::uint64_t number_in(const std::string& path, std::uint64_t otherwise) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  return file >> value ? value : otherwise;
}

// The sum of the entries "KEY  NUMBER ..." with these keys. None of them: `otherwise`.
std::uint64_t entries_in(const std::string& path, std::initializer_list<const char*> keys,
                         std::uint64_t otherwise) {
  std::ifstream file(path);
  std::string key, rest;
  std::uint64_t value = 0, sum = 0;
  bool any = false;
  while (file >> key >> value) {
    std::getline(file, rest);
    for (const char* each : keys)
      if (key == each) any = true, sum += value;
  }
  return any ? sum : otherwise;
}

std::uint64_t of_machine(const char* key) {
  constexpr std::uint64_t kUnit = 1024;
  const std::uint64_t kibibytes = entries_in("/proc/meminfo", {key}, UINT64_MAX);
  return kibibytes > UINT64_MAX / kUnit ? UINT64_MAX : kibibytes * kUnit;
}

// Of control groups of both versions.
std::uint64_t most_of_group() {
  return std::min(number_in("/sys/fs/cgroup/memory.max", UINT64_MAX),
                  number_in("/sys/fs/cgroup/memory/memory.limit_in_bytes", UINT64_MAX));
}

// Without the files' pages that the group can give back.
std::uint64_t used_by_group() {
  const std::uint64_t used = std::max(number_in("/sys/fs/cgroup/memory.current", 0),
                                      number_in("/sys/fs/cgroup/memory/memory.usage_in_bytes", 0));
  const std::uint64_t files = std::max(
      entries_in("/sys/fs/cgroup/memory.stat", {"inactive_file", "active_file"}, 0),
      entries_in("/sys/fs/cgroup/memory/memory.stat", {"total_inactive_file", "total_active_file"}, 0));
  return used > files ? used - files : 0;
}

}  // namespace

std::uint64_t host_memory_left() {
  const std::uint64_t most = most_of_group(), used = used_by_group();
  return std::min(of_machine("MemAvailable:"), most > used ? most - used : 0);
}

std::uint64_t host_memory_in_all() { return std::min(of_machine("MemTotal:"), most_of_group()); }

std::uint64_t host_memory_to_pin() { return host_memory_left() / 5 * 4; }

}  // namespace gangway::live
