// Substitutes for kernels whose code is not available.
#pragma once

#include <memory>

#include "hw/protocol.hpp"
#include "models/kernel_code.hpp"
#include "models/workload.hpp"

namespace gangway {

// A throttle with the kernel's block-tasks and threads that takes the time of its preemptible form with
// `resident` blocks on the device; if blocks do not poll, the time of the original kernel.
std::shared_ptr<const KernelCode> throttle_like(const Kernel& kernel, std::int64_t resident,
                                                PollingForm polling = PollingForm::claim);

}  // namespace gangway
