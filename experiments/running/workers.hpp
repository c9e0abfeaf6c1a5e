// Worker threads of a run.
#pragma once

#include <functional>
#include <string>

#include "models/error.hpp"

namespace gangway {

struct Crew {
  unsigned threads = 0;  // that worked, at least 1
  std::string note;      // one line where they were fewer than wanted; empty otherwise
};

// Calls step() again and again, on up to `wanted` threads at once, until each is told (false) that nothing is
// left; meanwhile calls tick() on this thread about five times a second. Where the system does not give so
// many threads, fewer work: one at least, this one if need be.
//
// A step that throws std::bad_alloc must have put its work back: its thread ends, the others do the work, and
// where none is left, this one; if that runs out of memory, too, RunError. Any other exception ends all
// threads after their step, and the first is thrown again from here.
Crew work(unsigned wanted, const std::function<bool()>& step, const std::function<void()>& tick);

RunError out_of_memory();  // the one that says so

}  // namespace gangway
