// What CUDA says about a GPU.
#pragma once

#include <string>

#include "models/device.hpp"

namespace gangway {

// The device's sizes; copy and command costs are zero, as they have to be measured. Throws RunError, also in
// a build without CUDA.
Device describe_cuda_device(int number);

// For manifests.
struct CudaFacts {
  std::string device;   // "NVIDIA H200"
  std::string driver;   // the newest CUDA it knows: "13.0"
  std::string runtime;  // what this program was built with: "13.0"
  std::string clocks;   // "SM 1980 MHz, memory 3201 MHz" at most
};
CudaFacts cuda_facts(int number);

// The CUDA that this program was built with, "13.0"; empty in a build without. Needs no driver.
std::string built_with_cuda();

}  // namespace gangway
