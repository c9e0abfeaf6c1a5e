// `gangway record`: runs a program with the injected library in it, and makes a recording of what it left.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/recording/jobs.hpp"

namespace gangway::spool {

struct RecordSettings {
  std::string out;
  bool replace = false;  // a file that is there
  recording::JobRule jobs;
  bool graph_nodes = false;  // runs the program once more, for the nodes of its graphs
  bool overhead = false;     // runs it twice more, to see what being recorded costs
  std::string cupti;         // path of its library; empty: searched for
  std::vector<std::string> command;
  std::string version, cpu;  // of Gangway; of the host's processors
};

// The library that the driver loads into programs. RunError where it is not beside this program.
std::string recording_library();

// CUPTI's library, as the loader or CUDA's folders have it; `given`: the one that was asked for, or empty.
// RunError where it cannot be loaded.
std::string find_cupti(const std::string& given);

// The program's exit code, or it dies of the signal that it died of: what there was until then is recorded.
// Says on stderr what was recorded; stdout is the program's. 127: not found; 126: it cannot be executed.
// InputError: there is such a file. RunError: CUPTI is missing, another profiler is at work, the program
// never used a GPU, no range has the name that was asked for.
int record(const RecordSettings& settings);

}  // namespace gangway::spool
