#include "sim/gpu.hpp"

#include <algorithm>

namespace gangway {

const Gpu::Stay& Gpu::launch(Time now, LaunchId id, const RunningKernel& kernel, const CommandDelays& delays,
                             BlockRange range) {
  const Time started = now + delays.launch;
  const Duration busy{
      mul_div_ceil((range.last - range.first).count, kernel.time.ns, kernel.block_tasks.count)};
  stay_ = Stay{id, kernel, &delays, range, started, started + busy, range.last, std::nullopt, false};
  return *stay_;
}

bool Gpu::evict(Time now) {
  if (stay_->over || stay_->evict_ordered) return false;
  stay_->evict_ordered = now;
  const CommandDelays& delays = *stay_->delays;
  const Time seen = now + delays.seen;
  if (seen <= stay_->started) {  // the blocks find the flag set when they start
    stay_->gone = stay_->started;
    stay_->done = stay_->range.first;
    return true;
  }
  if (stay_->gone <= seen + delays.drain_work) return false;  // done before the drain would end
  const Duration work = (seen - stay_->started) + delays.drain_work;
  stay_->done = stay_->range.first +
                BlockCount{mul_div_floor(work.ns, stay_->kernel.block_tasks.count, stay_->kernel.time.ns)};
  stay_->gone = std::min(stay_->gone, seen + delays.drain);
  return true;
}

Why Gpu::why() const {
  if (stay_->done == stay_->kernel.block_tasks) return Why::completed;
  return stay_->done == stay_->range.last ? Why::budget : Why::evicted;
}

}  // namespace gangway
