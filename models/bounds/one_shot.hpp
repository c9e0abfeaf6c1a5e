// The symbols of theorem T6, about kernels that are submitted once.
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
  // M*: least number of busy threads while any kernel is blocked, of streams that run one kernel at a time;
  // none: nothing ever blocks.
  const std::optional<std::int64_t>& least_busy() const { return least_busy_; }
  // K = w (M* - b)+; 0 where nothing ever blocks.
  Rational tail(const Grid& grid) const;

 private:
  const OneShotKernels* set_;
  std::size_t kernels_ = 0;
  std::optional<std::int64_t> least_busy_;
};

}  // namespace gangway
