// Substitutes for kernels whose code is not available.
#pragma once

#include <memory>

#include "hw/protocol.hpp"
#include "models/kernel_code.hpp"
#include "models/workload.hpp"

namespace gangway {

// A throttle with the kernel's block-tasks and threads that takes the time of its preemptible form with
// `resident` blocks on the device; if blocks do not poll, the time of the original kernel. If the kernel says
// how long a block works on a block-task, its blocks are busy for the original's time in every form: what the
// preemptible one takes more is the form's own.
std::shared_ptr<const KernelCode> throttle_like(const Kernel& kernel, std::int64_t resident,
                                                PollingForm polling = PollingForm::claim);

}  // namespace gangway
