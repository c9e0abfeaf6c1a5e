// What a program's jobs take if nobody else is there and nobody records it.
#pragma once

#include <string>
#include <vector>

#include "models/quantity.hpp"

namespace gangway::live {

struct JobsAlone {
  int status = 0, refused = 0;  // as of run_program (hw/program.hpp)
  std::vector<Duration> jobs;   // in order; of the first process that uses a GPU
};

// Runs the command once, at a gate that is always open. `rule`: what a job is, as for `gangway exec --jobs`.
// Its input and output are this process's. A program that reaches the driver in another way has no jobs.
// RunError if there is no driver, or no library for the gate.
JobsAlone run_alone(const std::vector<std::string>& command, const std::string& rule);

}  // namespace gangway::live
