#include "tests/runtime/registered.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace gangway::runtime {
namespace {

struct Image {
  const void* wrapper = nullptr;
  CUlibrary library = nullptr;
};
struct Named {
  Image* image = nullptr;
  std::string name;
  CUkernel kernel = nullptr;
};

std::mutex mutex;
std::map<const void*, Named>& stubs() {
  static auto* const all = new std::map<const void*, Named>;
  return *all;
}
std::map<const void*, Named>& shadows() {
  static auto* const all = new std::map<const void*, Named>;
  return *all;
}

thread_local int device = 0;
thread_local cudaError_t error = cudaSuccess;

CUresult load(Image& image) {
  if (image.library != nullptr) return CUDA_SUCCESS;
  return cuLibraryLoadData(&image.library, image.wrapper, nullptr, nullptr, 0, nullptr, nullptr, 0);
}

}  // namespace

int device_of_thread() { return device; }

CUresult choose_device(int chosen) {
  CUcontext context = nullptr;
  CUdevice its = 0;
  CUresult result = cuInit(0);
  if (result == CUDA_SUCCESS) result = cuDeviceGet(&its, chosen);
  if (result == CUDA_SUCCESS) result = cuDevicePrimaryCtxRetain(&context, its);
  if (result == CUDA_SUCCESS) result = cuCtxSetCurrent(context);
  if (result == CUDA_SUCCESS) device = chosen;
  return result;
}

CUresult ready() {
  CUcontext context = nullptr;
  if (cuCtxGetCurrent(&context) == CUDA_SUCCESS && context != nullptr) return CUDA_SUCCESS;
  return choose_device(device);
}

CUresult kernel_at(const void* stub, CUkernel& kernel) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  const std::lock_guard lock(mutex);
  const auto found = stubs().find(stub);
  if (found == stubs().end()) return CUDA_ERROR_INVALID_HANDLE;
  Named& its = found->second;
  CUresult result = load(*its.image);
  if (result == CUDA_SUCCESS && its.kernel == nullptr)
    result = cuLibraryGetKernel(&its.kernel, its.image->library, its.name.c_str());
  kernel = its.kernel;
  return result;
}

CUresult variable_at(const void* shadow, CUdeviceptr& address, std::size_t& bytes) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  const std::lock_guard lock(mutex);
  const auto found = shadows().find(shadow);
  if (found == shadows().end()) return CUDA_ERROR_NOT_FOUND;
  const CUresult result = load(*found->second.image);
  if (result != CUDA_SUCCESS) return result;
  return cuLibraryGetGlobal(&address, &bytes, found->second.image->library, found->second.name.c_str());
}

cudaError_t told(CUresult result) {
  const auto same = static_cast<cudaError_t>(result);  // the numbers are the driver's
  if (same != cudaSuccess && same != cudaErrorNotReady) error = same;
  return same;
}

cudaError_t last_error(bool forget) {
  const cudaError_t was = error;
  if (forget) error = cudaSuccess;
  return was;
}

}  // namespace gangway::runtime

using gangway::runtime::Image;
using gangway::runtime::Named;

extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) { return reinterpret_cast<void**>(new Image{wrapper}); }

void __cudaRegisterFatBinaryEnd(void**) {}

// The driver may be gone by then.
void __cudaUnregisterFatBinary(void**) {}

void __cudaRegisterFunction(void** image, const char* stub, char*, const char* name, int, uint3*, uint3*,
                            dim3*, dim3*, int*) {
  gangway::runtime::stubs()[stub] = {reinterpret_cast<Image*>(image), name};
}

void __cudaRegisterVar(void** image, char* shadow, char*, const char* name, int, size_t, int, int) {
  gangway::runtime::shadows()[shadow] = {reinterpret_cast<Image*>(image), name};
}

}  // extern "C"
