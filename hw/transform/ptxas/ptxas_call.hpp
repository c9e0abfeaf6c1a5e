// Parses a ptxas command line, including argument files (-optf FILE, and @FILE as nvcc writes).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace gangway::transform {

struct PtxasCall {
  std::vector<std::string> arguments;  // with argument files replaced by their content
  std::vector<std::size_t> inputs;     // indices of the arguments that are readable PTX files
  bool relocatable = false;            // to be linked with other modules
  bool whole = true;                   // false: compiles selected entries, or text from the command line
};

PtxasCall read_ptxas_call(const std::vector<std::string>& arguments);

}  // namespace gangway::transform
