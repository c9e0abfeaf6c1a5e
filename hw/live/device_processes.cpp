#include "hw/live/device_processes.hpp"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

namespace gangway::live {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestCommand = 256;

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

bool earlier_number(const DeviceProcess& a, const DeviceProcess& b) { return a.process < b.process; }

}  // namespace

std::string command_of(const std::string& process) {
  std::ifstream in(process + "/cmdline");
  std::string words(kLongestCommand, '\0');
  in.read(words.data(), static_cast<std::streamsize>(words.size()));
  words.resize(static_cast<std::size_t>(in.gcount()));
  while (!words.empty() && words.back() == '\0') words.pop_back();
  std::replace(words.begin(), words.end(), '\0', ' ');
  return words;
}

DeviceProcesses processes_with(const std::string& file) {
  DeviceProcesses all;
  std::error_code failed;
  if (!fs::exists(file, failed)) return all;
  for (fs::directory_iterator process("/proc", failed), end; !failed && process != end;
       process.increment(failed)) {
    const std::string name = process->path().filename().string();
    if (!std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c) != 0; }))
      continue;
    const auto open = has_open(process->path(), file);
    if (!open) ++all.not_looked_at;
    if (open.value_or(false) && !checkpoints(process->path()))
      all.found.push_back({static_cast<pid_t>(std::stol(name)), command_of(process->path().string())});
  }
  std::sort(all.found.begin(), all.found.end(), earlier_number);
  return all;
}

DeviceProcesses completed(DeviceProcesses own, const DeviceProcesses& earlier) {
  if (own.not_looked_at == 0) return own;
  for (const DeviceProcess& other : earlier.found) {
    const bool known = std::any_of(own.found.begin(), own.found.end(),
                                   [&](const DeviceProcess& one) { return one.process == other.process; });
    std::error_code failed;
    if (!known && fs::exists("/proc/" + std::to_string(other.process), failed)) own.found.push_back(other);
  }
  own.not_looked_at = std::min(own.not_looked_at, earlier.not_looked_at);
  std::sort(own.found.begin(), own.found.end(), earlier_number);
  return own;
}

DeviceWatch::DeviceWatch(std::string file, Duration pause) : file_(std::move(file)), pause_(pause) {
  // Signals are for the thread that waits for them.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

std::optional<DeviceProcesses> DeviceWatch::news() {
  if (!fresh_.load()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  fresh_.store(false);
  return std::move(found_);
}

void DeviceWatch::watch(const std::stop_token& stop) {
  constexpr int kLowest = 19;
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kLowest);
  while (!stop.stop_requested()) {
    DeviceProcesses seen = processes_with(file_);
    std::unique_lock lock(mutex_);
    found_ = std::move(seen);
    fresh_.store(true);
    ends_.wait_for(lock, stop, std::chrono::nanoseconds(pause_.ns), [] { return false; });
  }
}

}  // namespace gangway::live
