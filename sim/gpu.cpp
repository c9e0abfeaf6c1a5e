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

const Gpu::ResidentLaunch& Gpu::launch(const Launch& launch, const CommandDelays& delays, Duration wait) {
  const Time started = launch.ordered + wait + delays.launch;
  resident_ =
      ResidentLaunch{&launch, &delays, started, started + busy_time(launch.kernel, launch.range, delays.wave),
                     launch.range.last};
  return *resident_;
}

bool Gpu::evict(Time now) {
  if (resident_->delays->wave > 0) return false;
  const CommandDelays& delays = *resident_->delays;
  const BlockCount first = resident_->launch->range.first;
  const Time seen = now + delays.seen;
  if (seen <= resident_->started) {  // the blocks find the flag set when they start
    resident_->done = first;
    resident_->gone = resident_->started + claims_of_rest();
    return true;
  }
  if (resident_->gone <= seen + delays.drain_work) return false;  // done before the drain would end
  resident_->done =
      first + block_tasks_in((seen - resident_->started) + delays.drain_work, resident_->launch->kernel);
  resident_->gone = std::min(resident_->gone, seen + delays.drain + claims_of_rest());
  return true;
}

// Of the blocks of an ordinary grid that have not begun.
Duration Gpu::claims_of_rest() const {
  return resident_->delays->claims((resident_->launch->range.last - resident_->done).count);
}

void Gpu::share(std::int64_t blocks) {
  blocks_ = blocks;
  running_ = 0;
  worked_ = 0;
  resident_->started = resident_->gone = Time::max();
}

void Gpu::placed(Time now, std::int64_t running) {
  if (resident_->started == Time::max()) resident_->started = now;
  worked_ += static_cast<BlockTime>(running_) * (now - since_).ns;
  since_ = now;
  running_ = running;
  const BlockTime all =
      static_cast<BlockTime>(blocks_) * busy_time(resident_->launch->kernel, resident_->launch->range, 0).ns;
  resident_->gone = now + Duration{static_cast<std::int64_t>((all - worked_ + running - 1) / running)};
}

bool Gpu::flag_seen(Time now) {
  if (now <= resident_->started) {  // no block has begun before
    resident_->done = resident_->launch->range.first;
    if (running_ > 0) resident_->gone = now + claims_of_rest();
    return true;
  }
  const CommandDelays& delays = *resident_->delays;
  if (resident_->gone <= now + delays.drain_work) return false;
  const BlockTime work = worked_ + static_cast<BlockTime>(running_) * ((now - since_) + delays.drain_work).ns;
  resident_->done = resident_->launch->range.first +
                    block_tasks_in({static_cast<std::int64_t>(work / blocks_)}, resident_->launch->kernel);
  resident_->gone = std::min(resident_->gone, now + delays.drain + claims_of_rest());
  return true;
}

}  // namespace gangway
