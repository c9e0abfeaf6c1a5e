#include "tests/live/forms_client/gpu.hpp"

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace gangway::forms_client {

void need(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::printf("%s: error %d\n", what, static_cast<int>(result));
  if (std::getenv("FORMS_LINGERS") != nullptr) usleep(500'000);  // so that the daemon can be asked about it
  std::exit(3);
}

std::string text_of_file(const char* name) {
  std::ostringstream text;
  text << std::ifstream(name).rdbuf();
  return text.str();
}

namespace {

// Links the PTX by the driver, as run-time compilers do. `how`: "data"; "file"; "two": with another text; or
// "registers": with an option that changes the code.
std::string linked(const std::string& how, const char* file, std::string ptx) {
  CUlinkState state = nullptr;
  CUjit_option options[] = {how == "registers" ? CU_JIT_MAX_REGISTERS : CU_JIT_LOG_VERBOSE};
  void* values[] = {reinterpret_cast<void*>(std::uintptr_t{how == "registers" ? 32U : 1U})};
  std::string more = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry more() { ret; }\n";
  void* cubin = nullptr;
  std::size_t bytes = 0;
  NEED(cuLinkCreate(1, options, values, &state));
  if (how == "file")
    NEED(cuLinkAddFile(state, CU_JIT_INPUT_PTX, file, 0, nullptr, nullptr));
  else
    NEED(cuLinkAddData(state, CU_JIT_INPUT_PTX, ptx.data(), ptx.size() + 1, "kernels", 0, nullptr, nullptr));
  if (how == "two")
    NEED(cuLinkAddData(state, CU_JIT_INPUT_PTX, more.data(), more.size() + 1, "more", 0, nullptr, nullptr));
  NEED(cuLinkComplete(state, &cubin, &bytes));
  std::string made(static_cast<const char*>(cubin), bytes);
  NEED(cuLinkDestroy(state));
  return made;
}

}  // namespace

Gpu::Gpu(const char* file) : image(text_of_file(file)) {
  CUdevice device = 0;
  NEED(cuInit(0));
  NEED(cuDeviceGet(&device, 0));
  NEED(cuDevicePrimaryCtxRetain(&context, device));
  NEED(cuCtxSetCurrent(context));
  if (const char* const how = std::getenv("FORMS_LINK"); how != nullptr) image = linked(how, file, image);
  if (std::getenv("FORMS_LIBRARY") != nullptr)
    NEED(cuLibraryLoadData(&library, image.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  else
    NEED(cuModuleLoadData(&module, image.c_str()));
  work = kernel("work");
  mix = kernel("mix_words");
  plane = kernel("plane");
  tally = kernel("tally");
}

CUfunction Gpu::kernel(const char* name) const {
  CUfunction function = nullptr;
  CUkernel of_library = nullptr;
  if (library == nullptr) {
    NEED(cuModuleGetFunction(&function, module, name));
    return function;
  }
  NEED(cuLibraryGetKernel(&of_library, library, name));
  return reinterpret_cast<CUfunction>(of_library);
}

void Gpu::set(CUfunction function, CUfunction_attribute attribute, int value) const {
  CUdevice device = 0;
  NEED(cuCtxGetDevice(&device));
  if (library == nullptr)
    NEED(cuFuncSetAttribute(function, attribute, value));
  else
    NEED(cuKernelSetAttribute(attribute, value, reinterpret_cast<CUkernel>(function), device));
}

void launch(CUfunction function, CUstream stream, std::uint32_t blocks, std::vector<void*> parameters) {
  NEED(cuLaunchKernel(function, blocks, 1, 1, kThreads, 1, 1, 0, stream, parameters.data(), nullptr));
}

CUcontext new_context() {
  CUcontext made = nullptr;
#if CUDA_VERSION >= 13000
  NEED(cuCtxCreate(&made, nullptr, 0, 0));
#else
  NEED(cuCtxCreate(&made, 0, 0));
#endif
  return made;
}

CUstream new_stream() {
  CUstream stream = nullptr;
  NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  return stream;
}

std::uint32_t worked(std::uint32_t i, std::uint32_t pass, std::uint32_t rounds) {
  std::uint32_t v = i * 2654435761u + pass;
  for (std::uint32_t k = 0; k < rounds; ++k) v = v * 1664525u + 1013904223u;
  return v;
}

bool tallied(const std::vector<std::uint32_t>& out, std::uint32_t number, std::uint32_t rounds) {
  for (std::uint32_t i = 0; i < out.size(); ++i)
    if (out[i] != worked(i, number, rounds) + 1) return std::printf("round %u: word %u\n", number, i), false;
  return true;
}

std::uint32_t sum(const std::vector<std::uint32_t>& words) {
  std::uint32_t all = 0;
  for (const std::uint32_t word : words) all = all * 31 + word;
  return all;
}

}  // namespace gangway::forms_client
