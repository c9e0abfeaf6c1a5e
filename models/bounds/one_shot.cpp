#include "models/bounds/one_shot.hpp"

#include <algorithm>

#include "models/bounds/blocking.hpp"

namespace gangway {

OneShotAnalysis::OneShotAnalysis(const OneShotKernels& set) : set_(&set) {
  std::vector<StreamGrids> streams;
  for (const OneShotStream& stream : set.streams) {
    kernels_ += stream.kernels.size();
    streams.emplace_back();
    for (const OneShotKernel& kernel : stream.kernels) streams.back().push_back(kernel.grid);
  }
  for (const auto& stream : threads_busy_while_blocked(set.layout, streams))
    for (const auto& threads : stream)
      if (threads) least_busy_ = std::min(least_busy_.value_or(INT64_MAX), *threads);
}

Rational OneShotAnalysis::tail(const Grid& grid) const {
  if (!least_busy_) return 0;
  return grid.block_time() * std::max<std::int64_t>(0, *least_busy_ - grid.threads);
}

}  // namespace gangway
