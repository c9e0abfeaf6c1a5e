// Symbols of theorem T6, for kernels submitted once.
#pragma once

#include <optional>
#include <vector>

#include "models/bounds/bound.hpp"
#include "models/taskset.hpp"

namespace gangway {

class OneShotAnalysis {
 public:
  explicit OneShotAnalysis(const OneShotKernels& set);

  const OneShotKernels& set() const { return *set_; }
  std::size_t kernels() const { return kernels_; }
  // M*: the least number of busy threads while any kernel is blocked, with one running kernel per stream;
  // none: nothing ever blocks.
  const std::optional<std::int64_t>& least_busy() const { return least_busy_; }
  // K = w (M* - b)+; 0 if nothing ever blocks.
  Rational tail(const Grid& grid) const;

 private:
  const OneShotKernels* set_;
  std::size_t kernels_ = 0;
  std::optional<std::int64_t> least_busy_;
};

}  // namespace gangway
