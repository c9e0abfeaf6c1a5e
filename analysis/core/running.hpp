// Whether a run is in progress; then no policy may be defined, because runs look policies up.
#pragma once

namespace gangway::python {

class Running {
 public:
  Running();
  ~Running();
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  static bool any();
};

}  // namespace gangway::python
