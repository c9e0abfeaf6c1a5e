#include <dlfcn.h>

#include "tests/conformance_driver/gpu.hpp"
#include "tests/conformance_driver/topics.hpp"

namespace gangway::conformance {
namespace {

// The exported name of this base that has the address; "other" if none has.
std::string exported(const char* base, void* address) {
  if (address == nullptr) return "-";
  for (const char* version : {"", "_v2", "_v3", "_v4"})
    for (const char* width : {"", "_ptsz", "_ptds"}) {
      const std::string name = std::string(base) + version + width;
      if (dlsym(RTLD_DEFAULT, name.c_str()) == address) return name;
    }
  return "other";
}

}  // namespace

void addresses() {
  need(cuInit(0), "cuInit");
  for (const char* name : {"cuMemAlloc",
                           "cuMemcpyHtoD",
                           "cuMemcpyHtoDAsync",
                           "cuLaunchKernel",
                           "cuLaunchKernelEx",
                           "cuStreamBeginCapture",
                           "cuStreamGetCaptureInfo",
                           "cuGetProcAddress",
                           "cuCtxCreate",
                           "cuMemcpy",
                           "cuMemHostRegister",
                           "cuStreamWriteValue32",
                           "cuGraphAddKernelNode",
                           "cuEventElapsedTime",
                           "cuGraphLaunch",
                           "cuDevicePrimaryCtxRelease",
                           "cuEventRecord",
                           "cuGraphInstantiate",
                           "cuMemAlloc_v2",
                           "cuLaunchKernel_ptsz",
                           "cuNothing",
                           ""}) {
    for (const int version : {2000, 7000, 10010, 11040, 12000, 12080, 13000}) {
      Line line(std::string(name) + ' ' + std::to_string(version));
      for (const cuuint64_t flags : {CU_GET_PROC_ADDRESS_DEFAULT, CU_GET_PROC_ADDRESS_LEGACY_STREAM,
                                     CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM}) {
        void* address = nullptr;
        CUdriverProcAddressQueryResult status{};
        const CUresult result = cuGetProcAddress(name, &address, version, flags, &status);
        line << result << static_cast<int>(status) << exported(name, address);
      }
    }
  }
  void* address = nullptr;
  CUdriverProcAddressQueryResult status{};
  Line("a version that is too new") << cuGetProcAddress("cuInit", &address, 99000, 0, &status);
  Line("wrong flags") << cuGetProcAddress("cuInit", &address, 12000, 16, &status);
  Line("no status wanted") << cuGetProcAddress("cuInit", &address, 12000, 0, nullptr)
                           << cuGetProcAddress("cuNothing", &address, 12000, 0, nullptr);
  using First = CUresult (*)(const char*, void**, int, cuuint64_t);
  const auto first = reinterpret_cast<First>(dlsym(RTLD_DEFAULT, "cuGetProcAddress"));
  Line("first version") << first("cuMemAlloc", &address, 12000, 0) << exported("cuMemAlloc", address)
                        << first("cuNothing", &address, 12000, 0);
}

void error_texts() {
  for (int code = 0; code < 1010; ++code) {
    const char *name = nullptr, *text = nullptr;
    const auto error = static_cast<CUresult>(code);
    const CUresult named = cuGetErrorName(error, &name), told = cuGetErrorString(error, &text);
    if (named == CUDA_SUCCESS || told == CUDA_SUCCESS)
      Line("error " + std::to_string(code))
          << named << (name == nullptr ? "-" : name) << told << (text == nullptr ? "-" : text);
  }
  const char* name = "unchanged";
  Line("unknown error") << cuGetErrorName(static_cast<CUresult>(1010), &name) << (name == nullptr);
}

}  // namespace gangway::conformance
