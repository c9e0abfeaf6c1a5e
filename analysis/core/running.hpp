// Whether a run is in progress; then no policy may be defined, because runs look policies up, and calls of
// policies in Python that do not return are ended.
#pragma once

namespace gangway::python {

class Running {
 public:
  // For both, the interpreter's lock must not be held.
  Running();
  ~Running();
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  static bool any();
  // In a child after fork(): the runs of its parent have no threads here.
  static void forget_all();

 private:
  struct All;
  static All*& all();
  All& all_;
};

}  // namespace gangway::python
