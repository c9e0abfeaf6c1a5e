// The driver's functions about devices and itself.
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "api.hpp"
#include "tests/standin/calls/call.hpp"
#include "tests/standin/contexts/context.hpp"
#include "tests/standin/contexts/host_function.hpp"
#include "tests/standin/contexts/visible_devices.hpp"
#include "tests/standin/engine/environment.hpp"
#include "tests/standin/memory/arena.hpp"
#include "tests/standin/processes/checkpoint.hpp"

namespace gangway::standin::api {
namespace {

// What an H100 answers, where a program may look; other attributes are 0.
const std::map<CUdevice_attribute, int>& attributes() {
  static const std::map<CUdevice_attribute, int> all{
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
      {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
      {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
      {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
      {CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 65536},
      {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
      {CU_DEVICE_ATTRIBUTE_MAX_PITCH, 2147483647},
      {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
      {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1980000},
      {CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512},
      {CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, 1},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
       std::atoi(environment_text("STANDIN_MULTIPROCESSORS", "132").c_str())},
      {CU_DEVICE_ATTRIBUTE_MPS_ENABLED, environment_text("STANDIN_MPS", "").empty() ? 0 : 1},
      {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
      {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
      {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 3},
      {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
      {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 52428800},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
      {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472},
      {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
      {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
      {CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1},
      {CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1},
      {CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR, 1},
      {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448},
      {CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32},
      {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 1024},
      {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1},
      {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
  };
  return all;
}

void copy_text(char* out, int room, const std::string& text) {
  require(out != nullptr && room > 0);
  std::strncpy(out, text.c_str(), static_cast<std::size_t>(room));
  out[room - 1] = '\0';
}

}  // namespace

CUresult cuInit(unsigned Flags) {
  require(Flags == 0);
  const Lock lock = lock_driver();
  // As the driver: what a process has initialised is of no use to its forked children.
  static const pid_t initialised_by = getpid();
  require(initialised_by == getpid(), CUDA_ERROR_NOT_INITIALIZED);
  require(device_count() > 0, CUDA_ERROR_NO_DEVICE);
  device(0);
  Arena::get();
  mark_initialized();
  listen_to_checkpoints();
  return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int* driverVersion) {
  require(driverVersion != nullptr);
  *driverVersion = static_cast<int>(environment_number("STANDIN_DRIVER_VERSION", 13000));
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) {
  InHostFunction::refuse();
  require(count != nullptr);
  *count = device_count();
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice* out, int ordinal) {
  const Lock lock = lock_driver();
  require(out != nullptr);
  *out = device(ordinal).ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char* name, int len, CUdevice dev) {
  const Lock lock = lock_driver();
  device(dev);
  copy_text(name, len, environment_text("STANDIN_DEVICE_NAME", "Gangway stand-in"));
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice dev) {
  const Lock lock = lock_driver();
  require(uuid != nullptr);
  *uuid = uuid_of(device(dev).physical);
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice dev) {
  const Lock lock = lock_driver();
  require(bytes != nullptr);
  device(dev);
  *bytes = Arena::get().total();
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int* pi, CUdevice_attribute attrib, CUdevice dev) {
  const Lock lock = lock_driver();
  require(pi != nullptr && attrib > 0 && attrib < CU_DEVICE_ATTRIBUTE_MAX);
  *pi = attrib == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID ? static_cast<int>(device(dev).physical) + 1 : 0;
  device(dev);
  if (const auto found = attributes().find(attrib); found != attributes().end()) *pi = found->second;
  return CUDA_SUCCESS;
}

CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice dev) {
  const Lock lock = lock_driver();
  require(major != nullptr && minor != nullptr);
  device(dev);
  *major = 9;
  *minor = 0;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char* pciBusId, int len, CUdevice dev) {
  const Lock lock = lock_driver();
  char text[16];
  std::snprintf(text, sizeof text, "0000:%02X:00.0", (device(dev).physical + 1) & 255U);
  copy_text(pciBusId, len, text);
  return CUDA_SUCCESS;
}

CUresult cuDeviceCanAccessPeer(int* canAccessPeer, CUdevice dev, CUdevice peerDev) {
  const Lock lock = lock_driver();
  require(canAccessPeer != nullptr);
  *canAccessPeer = device(dev).ordinal != device(peerDev).ordinal ? 1 : 0;
  return CUDA_SUCCESS;
}

}  // namespace gangway::standin::api
