#include "hw/cuda/device_facts.hpp"

#ifdef __CUDACC__

#include <cctype>

#include "hw/cuda/device_array.cuh"
#include "hw/driver_facts.hpp"

namespace gangway {
namespace {

cudaDeviceProp properties(int number) {
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code == cudaErrorInsufficientDriver)  // CUDA says so without any driver, too
    throw RunError("no CUDA device: no NVIDIA driver, or one that is too old for CUDA " +
                   cuda_version_text(CUDART_VERSION));
  if (code != cudaSuccess) throw RunError(std::string("no CUDA device: ") + cudaGetErrorString(code));
  if (number < 0 || number >= count)
    throw RunError("no CUDA device " + std::to_string(number) + ": there are " + std::to_string(count));
  cudaDeviceProp found;
  cuda_check(cudaGetDeviceProperties(&found, number), "cudaGetDeviceProperties");
  return found;
}

int attribute(cudaDeviceAttr which, int number) {
  int value = 0;
  cuda_check(cudaDeviceGetAttribute(&value, which, number), "cudaDeviceGetAttribute");
  return value;
}

// "NVIDIA H200" as a device file may call it: "nvidia-h200".
std::string identifier_of(const std::string& name) {
  std::string out;
  for (const unsigned char c : name.substr(0, 80))
    out += std::isalnum(c) != 0 ? static_cast<char>(std::tolower(c)) : '-';
  return out;
}

}  // namespace

Device describe_cuda_device(int number) {
  const cudaDeviceProp found = properties(number);
  Device device;
  device.name = identifier_of(found.name);
  device.source = std::string("cudaGetDeviceProperties of ") + found.name;
  device.sms = found.multiProcessorCount;
  device.sm = {found.maxThreadsPerMultiProcessor,
               found.maxBlocksPerMultiProcessor,
               found.regsPerMultiprocessor,
               {static_cast<std::int64_t>(found.sharedMemPerMultiprocessor)},
               found.warpSize,
               {static_cast<std::int64_t>(found.reservedSharedMemPerBlock)}};
  device.memory = {static_cast<std::int64_t>(found.totalGlobalMem)};
  return device;
}

CudaFacts cuda_facts(int number) {
  CudaFacts facts;
  facts.device = properties(number).name;
  int version = 0;
  cuda_check(cudaDriverGetVersion(&version), "cudaDriverGetVersion");
  facts.driver = cuda_version_text(version);
  cuda_check(cudaRuntimeGetVersion(&version), "cudaRuntimeGetVersion");
  facts.runtime = cuda_version_text(version);
  facts.clocks = "SM " + std::to_string(attribute(cudaDevAttrClockRate, number) / 1000) + " MHz, memory " +
                 std::to_string(attribute(cudaDevAttrMemoryClockRate, number) / 1000) + " MHz at most";
  return facts;
}

std::string built_with_cuda() { return cuda_version_text(CUDART_VERSION); }

}  // namespace gangway

#else

#include "hw/cuda/without_cuda.hpp"
#include "models/error.hpp"

namespace gangway {

Device describe_cuda_device(int) { throw RunError(kBuiltWithoutCuda); }
CudaFacts cuda_facts(int) { throw RunError(kBuiltWithoutCuda); }
std::string built_with_cuda() { return {}; }

}  // namespace gangway

#endif
