// What a kernel runs as in the real worlds.
#pragma once

#include <memory>

#include "models/workload.hpp"

namespace gangway {

// The kernel's code; for a kernel without, `throttle` with as many block-tasks, each so long that the whole
// takes the kernel's transformed time on `resident` persistent blocks.
std::shared_ptr<const KernelCode> code_of(const Kernel& kernel, std::int64_t resident);

}  // namespace gangway
