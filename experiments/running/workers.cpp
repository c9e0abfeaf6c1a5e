#include "experiments/running/workers.hpp"

#include <fmt/format.h>
#include <malloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace gangway {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kTick{200};

// Memory that threads cannot take while they are started; where there is not so much, none.
class Ballast {
 public:
  Ballast()
      : bytes_(::mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~Ballast() {
    if (bytes_ != MAP_FAILED) ::munmap(bytes_, kBytes);
  }
  Ballast(const Ballast&) = delete;
  Ballast& operator=(const Ballast&) = delete;

 private:
  static constexpr std::size_t kBytes = std::size_t{128} << 20;  // of addresses; nothing is ever there
  void* bytes_;
};

class Workers {
 public:
  Workers(unsigned wanted, const std::function<bool()>& step, const std::function<void()>& tick)
      : wanted_(std::max(wanted, 1u)), step_(step), tick_(tick) {}

  Crew run() {
    Crew crew;
    std::vector<std::thread> threads;
    {
      const Ballast ballast;
      start(threads, crew);
    }
    open_gate();
    wait();
    for (std::thread& thread : threads) thread.join();
    if (error_) std::rethrow_exception(error_);
    work_alone();  // what threads that ran out of memory left, or all of it
    crew.threads = left_ > 0 ? left_ : std::max(static_cast<unsigned>(threads.size()), 1u);
    if (short_of_memory_ && crew.note.empty())
      crew.note = "some threads ended early for lack of memory; the others did their work";
    return crew;
  }

 private:
  void start(std::vector<std::thread>& threads, Crew& crew) {
    std::string reason;
    try {
      threads.reserve(wanted_);
      while (threads.size() < wanted_ && !stopping_) {
        {
          const std::lock_guard lock(mutex_);
          ++alive_;
        }
        threads.emplace_back([this] { work_on(); });
      }
      return;
    } catch (const std::system_error& error) {
      reason = error.code().message();
    } catch (const std::bad_alloc&) {
      reason = "out of memory";
    }
    const std::lock_guard lock(mutex_);
    if (alive_ > 0) --alive_;  // the one that did not start
    // What is left is little: some of those that did start make room for the work of the others.
    retiring_ = static_cast<unsigned>(threads.size()) / 4;
    ::mallopt(M_ARENA_MAX, 1);  // each further heap of glibc's takes 64 MiB of addresses
    left_ = std::max(static_cast<unsigned>(threads.size()) - retiring_, 1u);
    crew.note = fmt::format("{} of {} threads could be started ({})", left_, wanted_, reason);
  }

  // Nobody works before all threads are there: those that are not must not take the work's memory.
  void open_gate() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    gate_.notify_all();
  }

  // Waits for the gate; whether to go on.
  bool enter() {
    std::unique_lock lock(mutex_);
    gate_.wait(lock, [this] { return open_; });
    if (retiring_ == 0) return true;
    --retiring_;
    return false;
  }

  // On a thread of its own.
  void work_on() {
    try {
      if (enter())
        while (!stopping_ && step_()) {
        }
    } catch (const std::bad_alloc&) {
      short_of_memory_ = true;
    } catch (...) {
      fail();
    }
    const std::lock_guard lock(mutex_);
    --alive_;
    over_.notify_all();
  }

  void fail() {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::current_exception();
    stopping_ = true;
  }

  void work_alone() {
    auto ticked = Clock::now();
    while (step_()) {
      if (Clock::now() - ticked < kTick) continue;
      tick_();
      ticked = Clock::now();
    }
  }

  void wait() {
    std::unique_lock lock(mutex_);
    while (alive_ > 0) {
      over_.wait_for(lock, kTick);
      lock.unlock();
      try {
        tick_();
      } catch (...) {
        fail();
      }
      lock.lock();
    }
  }

  const unsigned wanted_;
  const std::function<bool()>& step_;
  const std::function<void()>& tick_;
  std::mutex mutex_;
  std::condition_variable over_;
  unsigned alive_ = 0, left_ = 0;  // left_: after some did not start; 0: all did
  unsigned retiring_ = 0;
  std::condition_variable gate_;
  bool open_ = false;
  std::atomic<bool> stopping_ = false, short_of_memory_ = false;
  std::exception_ptr error_;
};

}  // namespace

Crew work(unsigned wanted, const std::function<bool()>& step, const std::function<void()>& tick) {
  try {
    return Workers(wanted, step, tick).run();
  } catch (const std::bad_alloc&) {
    throw out_of_memory();
  }
}

RunError out_of_memory() {
  return RunError(
      "out of memory; finished results are kept, and the same command, without --force, continues");
}

}  // namespace gangway
