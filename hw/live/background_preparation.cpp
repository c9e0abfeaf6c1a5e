#include "hw/live/background_preparation.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <utility>

namespace gangway::live {
namespace {

constexpr Duration kBetweenWishes{1'000'000'000};
constexpr Duration kAfterOne{2'000'000'000};  // if something is left then, another preparer is at work
constexpr Duration kFirstPause{60'000'000'000}, kLongestPause{3'600'000'000'000};

}  // namespace

BackgroundPreparation::BackgroundPreparation(std::string folder, std::function<void(const std::string&)> say)
    : folder_(std::move(folder)), say_(std::move(say)) {}

BackgroundPreparation::~BackgroundPreparation() {
  if (process_ == 0) return;
  kill(process_, SIGTERM);
  waitpid(process_, nullptr, 0);
}

void BackgroundPreparation::look(Time now) {
  if (now < next_) return;
  next_ = now + kBetweenWishes;
  if (process_ != 0) {
    int status = 0;
    if (waitpid(process_, &status, WNOHANG) != process_) return;
    process_ = 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
      pause_ = {};
      next_ = now + kAfterOne;
      return;
    }
    pause_ = pause_.ns == 0 ? kFirstPause : std::min(Duration{2 * pause_.ns}, kLongestPause);
    next_ = now + pause_;
    say_(fmt::format("modules could not be prepared; the next try is in {} s", pause_.ns / 1'000'000'000));
    return;
  }
  if (something_is_wanted() && !start()) next_ = now + kFirstPause;
}

bool BackgroundPreparation::something_is_wanted() const {
  std::error_code none;
  for (const auto& each : std::filesystem::directory_iterator(folder_, none))
    if (const auto ending = each.path().extension();
        ending == ".wanted" || ending == ".once" || ending == ".twice")
      return true;
  return false;
}

bool BackgroundPreparation::start() {
  std::string words[] = {"gangway", "prepare", "--wanted", "--background"};
  char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t no_signals;
  sigemptyset(&no_signals);
  posix_spawnattr_setsigmask(&attributes, &no_signals);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  const int failed = posix_spawn(&process_, "/proc/self/exe", &files, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0) process_ = 0;
  return failed == 0;
}

}  // namespace gangway::live
