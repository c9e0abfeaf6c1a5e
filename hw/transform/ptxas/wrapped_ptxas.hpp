// `gangway ptxas`: NVIDIA's ptxas, with forms added.
#pragma once

#include <atomic>
#include <string>
#include <vector>

namespace gangway::transform {

// Calls the real ptxas with each PTX file rewritten. Output and exit code are those of the real one. If
// nothing can be rewritten, it gets the original arguments; likewise, after a line on stderr, if it refuses
// the rewritten text. `arguments`: without the program name. Returns the exit code; 130 after an
// interruption. RunError if there is no real ptxas.
int wrapped_ptxas(const std::vector<std::string>& arguments, const std::atomic<bool>& interrupted);

// Whether the program was started through a link named ptxas.
bool is_called_ptxas(const char* program);

}  // namespace gangway::transform
