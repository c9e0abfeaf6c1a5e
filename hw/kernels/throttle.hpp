// Stands in for kernels whose code we do not have.
#pragma once

#include <memory>

#include "models/kernel_code.hpp"
#include "models/workload.hpp"

namespace gangway {

// A throttle with the kernel's block-tasks and threads that takes as long as the kernel's preemptible form
// where `resident` blocks of it are on the device at once.
std::shared_ptr<const KernelCode> throttle_like(const Kernel& kernel, std::int64_t resident);

}  // namespace gangway
