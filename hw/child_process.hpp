// Child processes.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace gangway {

// This process's environment, overridden and extended by `more` (NAME=VALUE).
std::vector<std::string> environment_with(const std::vector<std::string>& more);

// Starts a command, found as a shell would, with these descriptors as standard input (below 0: this
// process's) and output. Returns 0 and the process number, or errno.
int start_child(const std::vector<std::string>& command, const std::vector<std::string>& environment, int in,
                int out, pid_t& child);

}  // namespace gangway
