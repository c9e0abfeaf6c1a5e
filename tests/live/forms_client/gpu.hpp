// The program's GPU: its kernels, of a module or a library, and what all of its parts do with it.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <string>
#include <vector>

namespace gangway::forms_client {

// Prints the call and its error and ends the program.
void need(CUresult result, const char* what);
#define NEED(call) ::gangway::forms_client::need(call, #call)

std::string text_of_file(const char* name);

constexpr std::uint32_t kThreads = 32;

struct Gpu {
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUlibrary library = nullptr;  // instead, with FORMS_LIBRARY
  CUfunction work = nullptr, mix = nullptr, plane = nullptr, tally = nullptr;
  std::string image;
  explicit Gpu(const char* file);
  // Of a library it is the CUkernel, as the CUDA runtime launches it.
  CUfunction kernel(const char* name) const;
  // By cuFuncSetAttribute, or cuKernelSetAttribute.
  void set(CUfunction function, CUfunction_attribute attribute, int value) const;
};

void launch(CUfunction function, CUstream stream, std::uint32_t blocks, std::vector<void*> parameters);
CUcontext new_context();
CUstream new_stream();

// What the kernel `work` makes of word i.
std::uint32_t worked(std::uint32_t i, std::uint32_t pass, std::uint32_t rounds);
// Whether each word is what `work` and then `tally` make of it; prints the first that is not.
bool tallied(const std::vector<std::uint32_t>& out, std::uint32_t number, std::uint32_t rounds);
std::uint32_t sum(const std::vector<std::uint32_t>& words);

}  // namespace gangway::forms_client
