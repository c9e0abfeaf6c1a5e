// Child processes.
#pragma once

#include <fcntl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace gangway {

// This process's environment, overridden and extended by `more` (NAME=VALUE).
std::vector<std::string> environment_with(const std::vector<std::string>& more);

// Starts a command, found as a shell would, with these descriptors as standard input (below 0: this
// process's) and output. Returns 0 and the process number, or errno.
int start_child(const std::vector<std::string>& command, const std::vector<std::string>& environment, int in,
                int out, pid_t& child);

// What `ask` returns in a forked child, so that what it does to its process (initialise a driver, crash) does
// not happen to this one. None: the child ended without an answer.
template <typename Answer>
std::optional<Answer> asked_in_child(Answer (*ask)()) {
  static_assert(std::is_trivially_copyable_v<Answer>);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  const pid_t child = fork();
  if (child == 0) {
    const Answer answer = ask();
    const auto* at = reinterpret_cast<const char*>(&answer);
    for (std::size_t done = 0; done < sizeof answer;) {
      const ssize_t n = write(ends[1], at + done, sizeof answer - done);
      if (n < 0 && errno != EINTR) _exit(1);
      if (n > 0) done += static_cast<std::size_t>(n);
    }
    _exit(0);
  }
  close(ends[1]);
  Answer answer;
  std::size_t done = 0;
  while (child > 0 && done < sizeof answer) {
    const ssize_t n = read(ends[0], reinterpret_cast<char*>(&answer) + done, sizeof answer - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  close(ends[0]);
  while (child > 0 && waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (done < sizeof answer) return std::nullopt;
  return answer;
}

}  // namespace gangway
