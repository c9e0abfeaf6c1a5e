// Ctrl-C and exceptions of callbacks while a run is under way on other threads.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <exception>

namespace gangway::python {

namespace nb = nanobind;

class Interruption {
 public:
  // Set from the first interruption or exception on.
  const std::atomic<bool>& stop() const { return stop_; }

  // Lets Python handle signals that have come; on its main thread. The interpreter's lock must be held.
  void look() {
    guard([] {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    });
  }

  // Calls Python, and keeps what it throws for raise().
  template <typename Call>
  void guard(Call call) {
    try {
      call();
    } catch (...) {
      if (!thrown_) thrown_ = std::current_exception();
      stop_ = true;
    }
  }

  void raise() const {
    if (thrown_) std::rethrow_exception(thrown_);
  }

 private:
  std::atomic<bool> stop_ = false;
  std::exception_ptr thrown_;
};

}  // namespace gangway::python
