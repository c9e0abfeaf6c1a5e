// NVIDIA's ptxas, which compiles PTX to cubins.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hw/transform/images/architecture.hpp"

namespace gangway::transform {

struct Assembler {
  std::string program;   // path of the executable
  std::string identity;  // its version line, on which the output depends
};

// Searches $GANGWAY_PTXAS; else PATH, /usr/local/cuda/bin, and the Python environment (Triton's or NVIDIA's
// packages). Skips links to this program (`gangway ptxas`). None if there is none. InputError if
// $GANGWAY_PTXAS cannot run or print its version.
std::optional<Assembler> find_assembler();

struct Assembled {
  std::string cubin;      // empty on failure
  std::string trouble;    // on failure: the assembler's first error line
  std::string said;       // on failure: all that the assembler printed
  bool rejected = false;  // the text is at fault; retrying is useless
  bool interrupted = false;
};

// Compiles one text for one GPU. `options`: from assembler_options(). Leaves no files.
Assembled assemble(const Assembler& assembler, std::string_view ptx, Architecture architecture,
                   const std::vector<std::string>& options, const std::atomic<bool>* interrupted = nullptr);

// The options in a fatbin that affect code generation, in order.
std::vector<std::string> assembler_options(std::string_view fatbin_options);

}  // namespace gangway::transform
