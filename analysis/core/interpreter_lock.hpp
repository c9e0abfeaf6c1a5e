// The interpreter's lock, for calls of Python from threads of ours.
#pragma once

#include <nanobind/nanobind.h>

namespace gangway::python {

// The state that the interpreter has of this thread. It lasts as long as the thread: a new one for each call
// takes longer than most calls.
class ThreadOfInterpreter {
 public:
  ThreadOfInterpreter() {
    if (PyGILState_GetThisThreadState() != nullptr) return;  // a thread of Python's
    before_ = PyGILState_Ensure();
    own_ = PyEval_SaveThread();
  }
  ~ThreadOfInterpreter() {
    if (own_ == nullptr || !Py_IsInitialized()) return;
    PyEval_RestoreThread(own_);
    PyGILState_Release(before_);
  }
  ThreadOfInterpreter(const ThreadOfInterpreter&) = delete;
  ThreadOfInterpreter& operator=(const ThreadOfInterpreter&) = delete;

 private:
  PyGILState_STATE before_{};
  PyThreadState* own_ = nullptr;
};

class InterpreterLock {
 public:
  InterpreterLock() : thread_(of_this_thread()) {}
  InterpreterLock(const InterpreterLock&) = delete;
  InterpreterLock& operator=(const InterpreterLock&) = delete;

 private:
  static const ThreadOfInterpreter& of_this_thread() {
    thread_local const ThreadOfInterpreter own;
    return own;
  }
  [[maybe_unused]] const ThreadOfInterpreter& thread_;  // before the lock
  const nanobind::gil_scoped_acquire held_;
};

}  // namespace gangway::python
