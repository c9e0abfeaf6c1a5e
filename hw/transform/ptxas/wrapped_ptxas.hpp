// `gangway ptxas`: NVIDIA's ptxas, with the forms of kernels beside them.
#pragma once

#include <atomic>
#include <string>
#include <vector>

namespace gangway::transform {

// Calls the real ptxas as it was called, with each PTX file rewritten first. What it writes and its exit code
// are the real one's: where nothing can be rewritten it is called with the very arguments, and where it does
// not accept what was rewritten, too, after a line on stderr. `arguments`: without the program's name.
// Returns the exit code, 130 after an interruption. RunError where there is no real one.
int wrapped_ptxas(const std::vector<std::string>& arguments, const std::atomic<bool>& interrupted);

// Whether the program was called by the name of ptxas, through a link.
bool is_called_ptxas(const char* program);

}  // namespace gangway::transform
