// Loaded code: entries with their host twins, and global variables.
#pragma once

#include <cuda.h>

#include <map>
#include <memory>
#include <string>

#include "tests/standin/calls/registry.hpp"
#include "tests/standin/contexts/context.hpp"
#include "tests/standin/modules/interpreted.hpp"
#include "tests/standin/modules/ptx.hpp"

namespace gangway::standin {

struct Module;

struct Function {
  Entry entry;
  void (*twin)(const struct StandinLaunch*) = nullptr;  // null: its PTX is carried out
  Module* module = nullptr;
  std::map<CUfunction_attribute, int> attributes;
  struct Loaded {
    int device;
    std::shared_ptr<Function> function;
  };
  std::map<std::uint64_t, Loaded> in_contexts;  // of a CUkernel: where it is loaded, by the context's number
};

struct Module {
  std::shared_ptr<Context> context;  // none: a library, whose kernels run in any
  std::map<std::string, std::shared_ptr<Function>> functions;
  std::map<std::string, std::pair<CUdeviceptr, std::size_t>> variables;
  std::unique_ptr<Interpreted> interpreted;  // where a twin is missing

  ~Module();
};

// Fails with INVALID_IMAGE, INVALID_PTX or NO_BINARY_FOR_GPU (for PTX of a newer chip, and where a twin is
// missing).
std::shared_ptr<Module> load(const void* image, Kind functions_are);

// Of a CUfunction, or a CUkernel cast to one. Fails with INVALID_HANDLE.
std::shared_ptr<Function> function(CUfunction);

// The function of a CUkernel in the context, into which that loads it; a CUfunction is one. With
// STANDIN_LAZY, loading waits for all that the context has under way.
CUfunction function_in(Lock&, CUfunction, Context&);

}  // namespace gangway::standin
