#include "hw/live/gpu_claims.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "hw/live/device_processes.hpp"
#include "models/utf8.hpp"

namespace gangway::live {
namespace {

constexpr mode_t kReadByAll = 0444;

// Made by whoever comes first. Only to read: the kernel may refuse O_CREAT of another user's file there.
Descriptor claim_file(const std::string& path) {
  constexpr int kHow = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  for (int tries = 0; tries < 2; ++tries) {
    Descriptor file(open(path.c_str(), kHow));
    if (file || errno != ENOENT) return file;
    file = Descriptor(open(path.c_str(), kHow | O_CREAT | O_EXCL, kReadByAll));
    if (file) fchmod(file.get(), kReadByAll);  // whatever the umask
    if (file || errno != EEXIST) return file;
  }
  return {};
}

struct flock lock_of_all(short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

// One that has it locked. 0: nobody; -1: one of another container, whose number is not known here.
pid_t other_holder(int file) {
  struct flock lock = lock_of_all(F_WRLCK);
  if (fcntl(file, F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) return 0;
  return lock.l_pid > 0 ? lock.l_pid : -1;
}

std::string text_of_process(pid_t process) {
  if (process < 0) return "a process of another container";
  const std::string folder = "/proc/" + std::to_string(process);
  std::string user, command = in_one_line(command_of(folder));
  if (struct stat status{}; stat(folder.c_str(), &status) == 0) {
    const passwd* known = getpwuid(status.st_uid);
    user = fmt::format(" of {}", known != nullptr ? known->pw_name : "user " + std::to_string(status.st_uid));
  }
  return fmt::format("process {}{}{}", process, user, command.empty() ? "" : " (" + command + ")");
}

std::string text_of_numbers(const std::vector<unsigned>& gpus) {
  return fmt::format("GPU{} {}", gpus.size() == 1 ? "" : "s", fmt::join(gpus, ", "));
}

}  // namespace

GpuClaims::GpuClaims(const std::vector<GpuFacts>& gpus, const std::string& folder) {
  std::map<pid_t, std::vector<unsigned>> others;
  for (const GpuFacts& gpu : gpus) {
    if (gpu.uuid == kNoGpu) continue;
    const std::string path = folder + "/gangway-" + text_of(gpu.uuid);
    Descriptor file = claim_file(path);
    std::string problem = file ? "" : std::strerror(errno);
    if (struct stat status{}; file && (fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)))
      problem = "not a regular file";
    if (!problem.empty()) {
      notes_.push_back(fmt::format("{}: {}, so this daemon and others on GPU {} do not see each other", path,
                                   problem, gpu.number));
      continue;
    }
    // First its own: of two that come at once, one at least sees the other.
    struct flock own = lock_of_all(F_RDLCK);
    fcntl(file.get(), F_SETLK,
          &own);  // fails if somebody has locked it alone; the next line finds its holder
    if (const pid_t other = other_holder(file.get()); other != 0) others[other].push_back(gpu.number);
    files_.push_back(std::move(file));
  }
  for (const auto& [process, numbers] : others)
    notes_.push_back(fmt::format(
        "{} schedules {}, too: while both have programs there, neither policy has the GPU to itself",
        text_of_process(process), text_of_numbers(numbers)));
}

}  // namespace gangway::live
