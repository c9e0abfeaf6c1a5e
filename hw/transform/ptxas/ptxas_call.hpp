// A command line of ptxas. Files of arguments are those of -optf, and @FILE as nvcc has it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace gangway::transform {

struct PtxasCall {
  std::vector<std::string> arguments;  // files of arguments (@FILE, -optf FILE) replaced by what they hold
  std::vector<std::size_t> inputs;     // which of them are PTX files that can be read
  bool whole = true;                   // false: it compiles chosen entries, or a text on the command line
};

PtxasCall read_ptxas_call(const std::vector<std::string>& arguments);

}  // namespace gangway::transform
