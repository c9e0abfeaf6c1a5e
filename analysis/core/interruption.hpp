// Handles Ctrl-C and exceptions of callbacks while a run proceeds on other threads.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <exception>

namespace gangway::python {

namespace nb = nanobind;

class Interruption {
 public:
  // Set by the first interruption or exception.
  const std::atomic<bool>& stop() const { return stop_; }

  // Lets Python handle pending signals; on its main thread. The interpreter's lock must be held.
  void look() {
    guard([] {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    });
  }

  // Calls Python and stores its exception for raise().
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
