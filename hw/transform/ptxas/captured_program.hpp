// Programs whose output is kept.
#pragma once

#include <atomic>
#include <string>
#include <vector>

namespace gangway::transform {

struct Captured {
  int status = 0;  // of waitpid()
  bool started = false, interrupted = false;
  std::string out, error;  // what it wrote to its standard output and error
};

// Runs it with nothing on its standard input. Where `interrupted` is set meanwhile, it is killed.
Captured run_captured(const std::vector<std::string>& command, const std::atomic<bool>* interrupted);

}  // namespace gangway::transform
