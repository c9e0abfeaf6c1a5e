// Worker threads of a run.
#pragma once

#include <functional>
#include <string>

#include "models/error.hpp"

namespace gangway {

struct Crew {
  unsigned threads = 0;  // threads that worked, at least 1
  std::string note;      // one line if fewer than wanted; else empty
};

// Calls step() repeatedly on up to `wanted` threads until each returns false; meanwhile calls tick() on this
// thread about five times a second. If the system grants fewer threads, fewer work, in the extreme only this
// one.
//
// A step that throws std::bad_alloc must have returned its work. Its thread ends and others continue; if none
// is left, this thread does the work; if it runs out of memory too, RunError. Any other exception ends all
// threads after their current step; the first one is rethrown.
Crew work(unsigned wanted, const std::function<bool()>& step, const std::function<void()>& tick);

RunError out_of_memory();  // the error that reports it

}  // namespace gangway
