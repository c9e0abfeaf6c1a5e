#include "hw/transform/ptxas/captured_program.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "hw/program.hpp"
#include "models/error.hpp"

namespace gangway::transform {
namespace {

constexpr int kLookMs = 50;  // how often an interruption is looked for

class Pipe {
 public:
  Pipe() {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0) throw RunError("cannot create a pipe");
  }
  ~Pipe() {
    close_write();
    close(ends_[0]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int reading() const { return ends_[0]; }
  int writing() const { return ends_[1]; }
  void close_write() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

// What is there to be read; false: nothing more will be.
bool take(int from, std::string& out) {
  std::array<char, 65536> part{};
  const ssize_t size = read(from, part.data(), part.size());
  if (size > 0) out.append(part.data(), static_cast<std::size_t>(size));
  return size > 0 || (size < 0 && (errno == EINTR || errno == EAGAIN));
}

}  // namespace

Captured run_captured(const std::vector<std::string>& command, const std::atomic<bool>* interrupted) {
  await_children();
  Captured done;
  Pipe out, error;
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions{};
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.writing(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, error.writing(), STDERR_FILENO);
  pid_t child = -1;
  done.started = posix_spawn(&child, words[0], &actions, nullptr, words.data(), environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  if (!done.started) return done;
  out.close_write();
  error.close_write();
  std::array<pollfd, 2> open{pollfd{out.reading(), POLLIN, 0}, pollfd{error.reading(), POLLIN, 0}};
  while (open[0].fd >= 0 || open[1].fd >= 0) {
    if (interrupted != nullptr && interrupted->load()) {
      done.interrupted = true;
      kill(child, SIGKILL);
      break;
    }
    if (poll(open.data(), open.size(), kLookMs) <= 0) continue;
    if (open[0].revents != 0 && !take(open[0].fd, done.out)) open[0].fd = -1;
    if (open[1].revents != 0 && !take(open[1].fd, done.error)) open[1].fd = -1;
  }
  while (waitpid(child, &done.status, 0) < 0 && errno == EINTR) {
  }
  return done;
}

}  // namespace gangway::transform
