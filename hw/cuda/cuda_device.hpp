// The device of the world `cuda`: device number 0 (as set by CUDA_VISIBLE_DEVICES), or the first few GPUs as
// one device.
#pragma once

#include <memory>

#include "hw/real_device.hpp"

namespace gangway {

// Creates a problem for each kernel; one without `code` throttles for its time. InputError for what
// real_half() refuses. RunError: no device, no memory for the problems, or a build without CUDA.
std::unique_ptr<RealDevice> make_cuda_device(const WorldSetup& setup);

// One of several GPUs, which must be the current device in every call.
class CudaPart : public RealDevice {
 public:
  virtual BlockCount block_tasks(KernelIndex kernel) const = 0;
  virtual const CudaProblem& problem(KernelIndex kernel) const = 0;
  virtual bool one_at_a_time() const = 0;  // blocks do not poll: launches are parts of the original grid
};
// Makes it the current device. Throws as above.
std::unique_ptr<CudaPart> make_cuda_part(const WorldSetup& setup, int gpu);

// The first setup.device.gpus GPUs as one device (hw/cuda/README.md, "Several GPUs"). InputError for a
// mechanism that evicts; RunError also for fewer GPUs.
std::unique_ptr<RealDevice> make_cuda_gpus(const WorldSetup& setup);
}  // namespace gangway
