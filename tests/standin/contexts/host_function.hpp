// In a function that the device calls in a stream's order, a thread has no contexts: what needs the current
// one, or a device, is not permitted; streams and events that have theirs can be asked, as an H100 showed.
#pragma once

#include "tests/standin/engine/failure.hpp"

namespace gangway::standin {

class InHostFunction {
 public:
  InHostFunction() { inside() = true; }
  InHostFunction(const InHostFunction&) = delete;
  InHostFunction& operator=(const InHostFunction&) = delete;
  ~InHostFunction() { inside() = false; }

  static void refuse() { require(!inside(), CUDA_ERROR_NOT_PERMITTED); }

 private:
  static bool& inside() {
    thread_local bool value = false;
    return value;
  }
};

}  // namespace gangway::standin
