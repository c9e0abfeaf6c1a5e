#include "cli/interrupt.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <system_error>
#include <thread>

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
[[noreturn]] void end(PolicyWatch::Why why, const std::string& message) {
  const bool stuck = why == PolicyWatch::Why::stuck;
  const char* clear = isatty(STDERR_FILENO) != 0 ? "\r\033[K" : "";
  to_stderr("{}{}: {}\n", clear, stuck ? "error" : "interrupted", message);
  _exit(stuck ? 1 : kInterrupted);
}

// Looks after policies as long as it lives. Where there is no thread to be had, nobody does.
class Watchman {
 public:
  Watchman() : watch_(interrupted, end) {
    try {
      thread_ = std::thread([this] { work(); });
    } catch (const std::system_error&) {
    }
  }
  ~Watchman() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }
  Watchman(const Watchman&) = delete;
  Watchman& operator=(const Watchman&) = delete;

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, std::chrono::nanoseconds(PolicyWatch::kInterval.ns),
                              [this] { return over_; }))
      watch_.look();
  }

  PolicyWatch watch_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace

const std::atomic<bool>& catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = note_signal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  static const Watchman watchman;
  return interrupted;
}

}  // namespace gangway
