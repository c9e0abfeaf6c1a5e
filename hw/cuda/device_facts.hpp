// Facts from CUDA about a GPU.
#pragma once

#include <string>

#include "models/device.hpp"

namespace gangway {

// The device's sizes. Copy and command costs are zero, because they must be measured. Throws RunError, also
// in a build without CUDA.
Device describe_cuda_device(int number);

// For manifests.
struct CudaFacts {
  std::string device;   // "NVIDIA H200"
  std::string driver;   // newest CUDA version it supports: "13.0"
  std::string runtime;  // CUDA version this program was built with: "13.0"
  std::string clocks;   // "SM 1980 MHz, memory 3201 MHz", maxima
};
CudaFacts cuda_facts(int number);

// The CUDA version that this program was built with, "13.0"; empty without CUDA. Needs no driver.
std::string built_with_cuda();

}  // namespace gangway
