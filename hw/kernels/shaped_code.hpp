// Common to kernel codes: problems made of a shape and a seed.
#pragma once

#include <memory>

#include "hw/kernels/cuda_problem.hpp"
#include "hw/kernels/host_problem.hpp"
#include "models/kernel_code.hpp"

namespace gangway {

// OnHost and OnCuda are constructed from (shape, seed). Without CUDA, OnCuda need only be declared.
template <typename Shape, typename OnHost, typename OnCuda>
class ShapedCode : public KernelCode {
 public:
  explicit ShapedCode(const Shape& shape) : shape_(shape) {}

  std::unique_ptr<HostProblem> on_host(std::uint64_t seed) const override {
    return std::make_unique<OnHost>(shape_, seed);
  }
  std::unique_ptr<CudaProblem> on_cuda([[maybe_unused]] std::uint64_t seed) const override {
#ifdef __CUDACC__
    return std::make_unique<OnCuda>(shape_, seed);
#else
    return nullptr;
#endif
  }

 protected:
  const Shape shape_;
};

}  // namespace gangway
