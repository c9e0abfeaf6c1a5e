// Whether something is being played: then no policy is defined, as others look for theirs.
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
