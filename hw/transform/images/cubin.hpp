// CUDA's compiled modules: which kernels they have, and what those take of a multiprocessor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hw/transform/images/architecture.hpp"

namespace gangway::transform {

struct CubinKernel {
  std::string name;
  std::uint32_t registers = 0;  // a thread
  // Static, a block; without the KiB that the system keeps for itself from sm_90 on, as ptxas -v says it.
  std::uint32_t shared_bytes = 0;
  std::uint32_t local_bytes = 0;  // a thread, functions that it calls included
};

struct Cubin {
  Architecture architecture;         // without its suffix, which a cubin does not say
  bool relocatable = false;          // it is yet to be linked
  std::vector<CubinKernel> kernels;  // in the order of their names
};

// Both layouts: up to CUDA 12 (ABI version 7) and since (8). None where it is no cubin; `why` says so.
std::optional<Cubin> read_cubin(std::string_view bytes, std::string& why);

}  // namespace gangway::transform
