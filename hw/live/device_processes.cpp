#include "hw/live/device_processes.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>

namespace gangway::live {
namespace {

namespace fs = std::filesystem;

// None: this user may not look.
std::optional<bool> has_open(const fs::path& process, const fs::path& file) {
  std::error_code failed;
  for (fs::directory_iterator fd(process / "fd", failed), end; !failed && fd != end; fd.increment(failed)) {
    std::error_code gone;
    if (fs::read_symlink(fd->path(), gone) == file) return true;
  }
  if (failed == std::errc::permission_denied || failed == std::errc::operation_not_permitted)
    return std::nullopt;
  return false;
}

bool checkpoints(const fs::path& process) {
  std::ifstream in(process / "comm");
  std::string name;
  std::getline(in, name);
  return name == kHelperName;
}

std::string command_of(const fs::path& process) {
  std::ifstream in(process / "cmdline");
  std::string words{std::istreambuf_iterator<char>(in), {}};
  while (!words.empty() && words.back() == '\0') words.pop_back();
  std::replace(words.begin(), words.end(), '\0', ' ');
  return words;
}

}  // namespace

DeviceProcesses processes_with(const std::string& file) {
  DeviceProcesses all;
  std::error_code failed;
  for (fs::directory_iterator process("/proc", failed), end; !failed && process != end;
       process.increment(failed)) {
    const std::string name = process->path().filename().string();
    if (!std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c) != 0; }))
      continue;
    const auto open = has_open(process->path(), file);
    if (!open) ++all.not_looked_at;
    if (open.value_or(false) && !checkpoints(process->path()))
      all.found.push_back({static_cast<pid_t>(std::stol(name)), command_of(process->path())});
  }
  std::sort(all.found.begin(), all.found.end(),
            [](const DeviceProcess& a, const DeviceProcess& b) { return a.process < b.process; });
  return all;
}

}  // namespace gangway::live
