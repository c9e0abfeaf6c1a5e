// `gangway record`: runs a program with the injected library and makes a recording of its output.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/recording/jobs.hpp"

namespace gangway::spool {

struct RecordSettings {
  std::string out;
  bool replace = false;  // overwrite an existing file
  recording::JobRule jobs;
  bool graph_nodes = false;  // run the program again, for the nodes of its graphs
  bool overhead = false;     // run it once more, unrecorded, for what its jobs take then
  std::string cupti;         // path of CUPTI's library; empty: search
  std::vector<std::string> command;
  std::string version, cpu;  // of Gangway; of the host's processors
};

// Path of the library that the driver injects. RunError if it is not beside this program.
std::string recording_library();

// CUPTI's library, from the loader or CUDA's folders; `given`: the requested one, or empty. RunError if it
// cannot be loaded.
std::string find_cupti(const std::string& given);

// Returns the program's exit code, or dies of the same signal; what happened until then is recorded. Reports
// on stderr; stdout belongs to the program. 127: not found; 126: not executable. InputError: the file exists.
// RunError: CUPTI is missing, another profiler is active, the program did not use a GPU, or no range has the
// requested name.
int record(const RecordSettings& settings);

}  // namespace gangway::spool
