// Runs programs and captures their output.
#pragma once

#include <atomic>
#include <string>
#include <vector>

namespace gangway::transform {

struct Captured {
  int status = 0;  // from waitpid()
  bool started = false, interrupted = false;
  std::string out, error;  // its standard output and error
};

// Runs a program with empty standard input. Kills it when `interrupted` is set.
Captured run_captured(const std::vector<std::string>& command, const std::atomic<bool>* interrupted);

}  // namespace gangway::transform
