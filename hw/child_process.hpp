// Programs that this one starts.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace gangway {

// This process's variables (NAME=VALUE), where `more` does not replace them, and those.
std::vector<std::string> environment_with(const std::vector<std::string>& more);

// Starts the command, found as a shell would, with these descriptors as its standard input (below 0: this
// process's) and output. 0, and its number; or the number of what is wrong (errno).
int start_child(const std::vector<std::string>& command, const std::vector<std::string>& environment, int in,
                int out, pid_t& child);

}  // namespace gangway
