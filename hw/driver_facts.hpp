// Facts about this machine's CUDA driver and GPUs. The driver is loaded in a child process: programs start
// without one, and one that has initialised the driver could not fork others that use it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace gangway {

struct DriverGpu {
  std::string name;
  std::array<unsigned char, 16> uuid{};  // zeros: unknown
  std::uint64_t memory = 0;              // bytes in all; 0: unknown
};

struct DriverFacts {
  std::string library;          // path of the library
  int cuda = 0;                 // newest CUDA version it supports, as CUDA writes it: 13000; 0: unknown
  std::string module;           // kernel module version: "580.159.04"; empty: unknown
  std::vector<DriverGpu> gpus;  // by number
};

// RunError if no driver can be loaded. A driver that does not start, for lack of a GPU, reports no GPUs.
DriverFacts driver_facts();

// Of the kernel module alone: "580.159.04"; empty if there is none.
std::string driver_module_version();

// 13000 as text: "13.0".
std::string cuda_version_text(int version);

}  // namespace gangway
