// `gangway exec`: starts a program behind the look-alike of libcuda.so.1, as one of the daemon's programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/quantity.hpp"

namespace gangway::live {

struct ExecSettings {
  std::string socket;
  std::optional<unsigned> gpu;  // of those that it would see, the only one that it sees
  std::string name;             // empty: that of the program
  std::string group;            // programs of one group are one client; empty: each its own
  std::int32_t priority = 0;
  double weight = 1;          // of its share
  Duration slo = {};          // objective for the latency of its jobs; 0: none
  std::string jobs = "sync";  // what a job is: sync, nvtx:NAME or whole
  bool preload = false;  // for programs whose own search path finds the driver before LD_LIBRARY_PATH does
  bool native_memory = false;  // its memory stays on the device, whatever the daemon does with others'
  std::vector<std::string> command;
};

// The look-alike, behind which programs are started. RunError where it is not beside this program.
std::string lookalike_library();

// Returns the program's exit code, or dies of the signal that it died of. 127: not found; 126: it cannot be
// executed. RunError: no daemon, no driver, no look-alike.
int execute(const ExecSettings& settings);

}  // namespace gangway::live
