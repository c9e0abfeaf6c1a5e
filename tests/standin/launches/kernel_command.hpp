// One launch of a kernel, with its own copy of the parameters.
#pragma once

#include <cuda.h>

#include <vector>

#include "tests/standin/modules/module.hpp"

namespace gangway::standin {

struct LaunchShape {
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1}, shared_bytes = 0;
};

struct KernelCommand : Command {
  const char* name() const override { return function->entry.name.c_str(); }
  void run() const override;

  std::shared_ptr<Function> function;
  LaunchShape shape;
  std::vector<char> bytes;              // the parameters, laid out as the entry has them
  mutable std::vector<void*> pointers;  // into them: what a graph's node is asked for
};

// Fails with INVALID_HANDLE, INVALID_VALUE (shape, parameters), as a launch does.
std::shared_ptr<KernelCommand> make_kernel(CUfunction, const LaunchShape&, void** parameters, void** extra,
                                           bool cooperative);

}  // namespace gangway::standin
