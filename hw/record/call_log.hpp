// Calls of a recorded program, logged by its own threads.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "hw/record/spool.hpp"

namespace gangway::spool {

// A thread's log: the thread appends, another one collects from time to time.
class CallLog {
 public:
  // The calling thread's log. It exists until the thread has ended and its content was collected.
  static CallLog& mine();
  // Passes on all calls since the last collection, thread by thread, each thread's in the order of their
  // ends. One caller at a time.
  static void take_all(const std::function<void(const Call&)>& to);

  void put(const Call& call);

  const std::uint32_t thread;  // the system's thread number
  // Nesting depth of runtime functions, and the outermost one's correlation.
  std::uint32_t depth = 0, outermost = 0;

 private:
  CallLog();
  static void thread_ends();

  std::mutex mutex_;
  std::vector<Call> calls_;
  bool ended_ = false;
};

}  // namespace gangway::spool
