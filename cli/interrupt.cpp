#include "cli/interrupt.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>

#include "models/run/policy_watch.hpp"
#include "models/standard_error.hpp"

namespace gangway {
namespace {

constexpr int kInterrupted = 130;

std::atomic<bool> interrupted = false;

extern "C" void note_signal(int) {
  if (interrupted.exchange(true)) _exit(kInterrupted);
}

// Threads at work are left where they are: nothing they have begun stands under a final name.
[[noreturn]] void end(const LongCall& call) {
  const bool stuck = call.why == LongCall::Why::stuck;
  const char* clear = isatty(STDERR_FILENO) != 0 ? "\r\033[K" : "";
  to_stderr("{}{}: {}\n", clear, stuck ? "error" : "interrupted", call.message);
  _exit(stuck ? 1 : kInterrupted);
}

}  // namespace

const std::atomic<bool>& catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = note_signal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  static const PolicyWatchman watchman(end);
  return interrupted;
}

}  // namespace gangway
