#include "sim/gpu.hpp"

#include <algorithm>

namespace gangway {
namespace {

std::int64_t waves(BlockCount blocks, std::int64_t wave) { return (blocks.count + wave - 1) / wave; }

// `wave`: blocks that end together, or 0.
Duration busy_time(const RunningKernel& kernel, BlockRange range, std::int64_t wave) {
  const BlockCount tasks = range.last - range.first;
  if (wave == 0) return {mul_div_ceil(tasks.count, kernel.time.ns, kernel.block_tasks.count)};
  return {mul_div_floor(waves(tasks, wave), wave_length(kernel, wave).ns, 1)};
}

BlockCount block_tasks_in(Duration work, const RunningKernel& kernel) {
  return {mul_div_floor(work.ns, kernel.block_tasks.count, kernel.time.ns)};
}

}  // namespace

Duration wave_length(const RunningKernel& kernel, std::int64_t wave) {
  return {mul_div_ceil(1, kernel.time.ns, waves(kernel.block_tasks, wave))};
}

const Gpu::Stay& Gpu::launch(Time now, LaunchId id, const RunningKernel& kernel, const CommandDelays& delays,
                             BlockRange range, Duration wait) {
  const Time started = now + wait + delays.launch;
  stay_ =
      Stay{id,         kernel,       &delays, range, started, started + busy_time(kernel, range, delays.wave),
           range.last, std::nullopt, false};
  return *stay_;
}

bool Gpu::evict(Time now) {
  if (stay_->over || stay_->evict_ordered || stay_->delays->wave > 0) return false;
  stay_->evict_ordered = now;
  const CommandDelays& delays = *stay_->delays;
  const Time seen = now + delays.seen;
  if (seen <= stay_->started) {  // the blocks find the flag set when they start
    stay_->gone = stay_->started;
    stay_->done = stay_->range.first;
    return true;
  }
  if (stay_->gone <= seen + delays.drain_work) return false;  // done before the drain would end
  stay_->done =
      stay_->range.first + block_tasks_in((seen - stay_->started) + delays.drain_work, stay_->kernel);
  stay_->gone = std::min(stay_->gone, seen + delays.drain);
  return true;
}

void Gpu::share(std::int64_t blocks) {
  blocks_ = blocks;
  running_ = 0;
  worked_ = 0;
  stay_->started = stay_->gone = Time::max();
}

void Gpu::placed(Time now, std::int64_t running) {
  if (stay_->started == Time::max()) stay_->started = now;
  worked_ += static_cast<BlockTime>(running_) * (now - since_).ns;
  since_ = now;
  running_ = running;
  const BlockTime all = static_cast<BlockTime>(blocks_) * busy_time(stay_->kernel, stay_->range, 0).ns;
  stay_->gone = now + Duration{static_cast<std::int64_t>((all - worked_ + running - 1) / running)};
}

bool Gpu::flag_seen(Time now) {
  if (running_ == 0) {
    stay_->done = stay_->range.first;
    return true;
  }
  const CommandDelays& delays = *stay_->delays;
  if (stay_->gone <= now + delays.drain_work) return false;
  const BlockTime work = worked_ + static_cast<BlockTime>(running_) * ((now - since_) + delays.drain_work).ns;
  stay_->done =
      stay_->range.first + block_tasks_in({static_cast<std::int64_t>(work / blocks_)}, stay_->kernel);
  stay_->gone = std::min(stay_->gone, now + delays.drain);
  return true;
}

}  // namespace gangway
