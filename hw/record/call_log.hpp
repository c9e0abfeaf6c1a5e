// The calls that a recorded program makes, as its own threads note them.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "hw/record/spool.hpp"

namespace gangway::spool {

// Of one thread: it puts, and somebody else takes from time to time.
class CallLog {
 public:
  // The calling thread's. It is kept until the thread has ended and what is in it was taken.
  static CallLog& mine();
  // Hands over what was put since by all threads of the process, thread by thread, each thread's calls in the
  // order of their ends. For one thread at a time.
  static void take_all(const std::function<void(const Call&)>& to);

  void put(const Call& call);

  const std::uint32_t thread;  // as the system numbers it
  // Of the runtime's functions that it is inside of: how many, and the outermost one's correlation.
  std::uint32_t depth = 0, outermost = 0;

 private:
  struct End;
  CallLog();

  std::mutex mutex_;
  std::vector<Call> calls_;
  bool ended_ = false;
};

}  // namespace gangway::spool
