// `gangway exec`: starts a program behind the look-alike of libcuda.so.1, as a client of the daemon.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/quantity.hpp"

namespace gangway::live {

struct ExecSettings {
  std::string socket;
  // The only GPU that the program sees. If the daemon has several GPUs, the number is the daemon's; otherwise
  // it counts the GPUs that the program would see. None: a daemon of several chooses; otherwise all are
  // visible.
  std::optional<unsigned> gpu;
  std::string name;   // empty: the program's name
  std::string group;  // programs of one group are one client; empty: each its own
  std::int32_t priority = 0;
  double weight = 1;           // share of the device
  Duration slo = {};           // latency objective of its jobs; 0: none
  std::string jobs = {};       // what counts as a job: sync, nvtx:NAME or whole; empty: the daemon's choice
  bool preload = false;        // for programs whose own search path finds the driver before LD_LIBRARY_PATH
  bool native_memory = false;  // its memory stays on the device, whatever the daemon does with others'
  std::vector<std::uint64_t> read_only = {};  // sizes of allocations that no kernel of it writes to
  bool check_read_only = false;
  std::vector<std::string> command;
};

// Path of the look-alike library. RunError if it is not beside this program.
std::string lookalike_library();

// Returns the program's exit code, or dies of the same signal. 127: not found; 126: not executable. RunError:
// no daemon, driver or look-alike.
int execute(const ExecSettings& settings);

}  // namespace gangway::live
