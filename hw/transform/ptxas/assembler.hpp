// NVIDIA's ptxas, which makes cubins of PTX.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hw/transform/images/architecture.hpp"

namespace gangway::transform {

struct Assembler {
  std::string program;   // its file
  std::string identity;  // what it says of its version, in a line: what it makes depends on it
};

// $GANGWAY_PTXAS; else that of PATH, of /usr/local/cuda/bin, of the Python environment (Triton's, or that of
// NVIDIA's packages). None: there is none. A ptxas that is this program (`gangway ptxas`) is passed over.
// InputError where $GANGWAY_PTXAS cannot be executed or does not say its version.
std::optional<Assembler> find_assembler();

struct Assembled {
  std::string cubin;      // empty: it was not made
  std::string trouble;    // then: the first line of the assembler's complaint
  bool rejected = false;  // it is the text's fault: it will be no better next time
  bool interrupted = false;
};

// One text, for one GPU. `options`: as assembler_options() has them. Leaves nothing behind.
Assembled assemble(const Assembler& assembler, std::string_view ptx, Architecture architecture,
                   const std::vector<std::string>& options, const std::atomic<bool>* interrupted = nullptr);

// Of the options that a fatbin says its module was compiled with, those that change the code; in their order.
std::vector<std::string> assembler_options(std::string_view fatbin_options);

}  // namespace gangway::transform
