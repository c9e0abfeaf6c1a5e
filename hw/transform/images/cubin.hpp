// Cubins: kernels and their resource usage.
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
  std::uint32_t registers = 0;  // per thread
  // Static, per block; without the KiB that the system reserves from sm_90 on. Equals the output of ptxas -v.
  std::uint32_t shared_bytes = 0;
  std::uint32_t local_bytes = 0;  // per thread, including called functions
};

struct Cubin {
  Architecture architecture;         // without suffix, which cubins do not record
  bool relocatable = false;          // not linked yet
  std::vector<CubinKernel> kernels;  // sorted by name
};

// Reads both layouts: ABI version 7 (up to CUDA 12) and 8. None if `bytes` is no cubin; `why` gives the
// reason.
std::optional<Cubin> read_cubin(std::string_view bytes, std::string& why);

}  // namespace gangway::transform
