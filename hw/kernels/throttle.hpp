// Stands in for kernels whose code we do not have.
#pragma once

#include <memory>

#include "hw/protocol.hpp"
#include "models/kernel_code.hpp"
#include "models/workload.hpp"

namespace gangway {

// A throttle with the kernel's block-tasks and threads that takes as long as the kernel's preemptible form
// where `resident` blocks of it are on the device at once; where blocks do not poll, as the kernel as it was.
std::shared_ptr<const KernelCode> throttle_like(const Kernel& kernel, std::int64_t resident,
                                                PollingForm polling = PollingForm::claim);

}  // namespace gangway
