#include "sim/gpu.hpp"

#include <algorithm>

namespace gangway {
namespace {

std::int64_t waves(BlockCount blocks, std::int64_t wave) { return (blocks.count + wave - 1) / wave; }

Duration wave_of(Duration work, const RunningKernel& kernel, std::int64_t wave) {
  return {mul_div_ceil(1, work.ns, waves(kernel.block_tasks, wave))};
}

// Of the kernel's time, what launches take however few their block-tasks.
Duration of_each(const RunningKernel& kernel, const CommandDelays& delays) {
  return delays.measured != nullptr ? std::min(delays.measured->each, kernel.time) : Duration{};
}

Duration busy_time(const RunningKernel& kernel, BlockRange range, const CommandDelays& delays) {
  const BlockCount tasks = range.last - range.first;
  const Duration each = of_each(kernel, delays), even = kernel.time - each;
  if (delays.wave > 0)
    return each +
           Duration{mul_div_floor(waves(tasks, delays.wave), wave_of(even, kernel, delays.wave).ns, 1)};
  if (const std::int64_t together = delays.measured != nullptr ? delays.measured->in_step : 0; together > 0)
    return each +
           Duration{mul_div_ceil(waves(tasks, together), even.ns, waves(kernel.block_tasks, together))};
  return each + Duration{mul_div_ceil(tasks.count, even.ns, kernel.block_tasks.count)};
}

BlockCount block_tasks_in(Duration work, const RunningKernel& kernel, const CommandDelays& delays) {
  const Duration even = kernel.time - of_each(kernel, delays);
  if (even.ns == 0) return kernel.block_tasks;
  return {mul_div_floor(work.ns, kernel.block_tasks.count, even.ns)};
}

// Of those whose orders were nearest to `at`, after the first block's start; of equally near ones, of the
// first in the list.
const MeasuredEviction& like(const MeasuredLaunches& measured, Duration at, double drawn) {
  const auto& all = measured.evictions;
  const auto before = [](const MeasuredEviction& e, Duration d) { return e.ordered < d; };
  const auto later = std::lower_bound(all.begin(), all.end(), at, before);
  auto first = later, last = later;
  while (last - first < measured.near)
    if (last == all.end() || (first != all.begin() && at - (first - 1)->ordered <= last->ordered - at))
      --first;
    else
      ++last;
  // Of the earliest of these, others may stand before them that are as near.
  const auto alike = std::lower_bound(all.begin(), first, first->ordered, before);
  const auto number = static_cast<std::ptrdiff_t>(drawn * static_cast<double>(measured.near));
  return (first + number)->ordered == first->ordered ? *(alike + number) : *(first + number);
}

}  // namespace

Duration wave_length(const RunningKernel& kernel, std::int64_t wave) {
  return wave_of(kernel.time, kernel, wave);
}

const Gpu::ResidentLaunch& Gpu::launch(const Launch& launch, const CommandDelays& delays, Duration wait) {
  const std::pair kernel(launch.kernel.job.client, launch.kernel.index);
  const bool another = std::exchange(last_, kernel) != kernel;
  Duration command = delays.launch, longer;
  if (another && delays.measured != nullptr) {
    command = delays.measured->launch.value_or(command);
    longer = delays.measured->after_another;
  }
  const Time started = launch.ordered + wait + command;
  resident_ =
      ResidentLaunch{&launch, &delays, started,
                     started + busy_time(launch.kernel, launch.range, delays) + longer, launch.range.last};
  return *resident_;
}

void Gpu::reset() {
  resident_.reset();
  last_.reset();
}

bool Gpu::evict(Time now, double drawn) {
  if (resident_->delays->wave > 0) return false;
  const CommandDelays& delays = *resident_->delays;
  const BlockCount first = resident_->launch->range.first;
  const Time seen = now + delays.seen;
  if (seen <= resident_->started) {  // the blocks find the flag set when they start
    resident_->done = first;
    resident_->gone = resident_->started + claims_of_rest();
    return true;
  }
  if (delays.measured != nullptr && !delays.measured->evictions.empty())
    return evict_as_measured(now, seen, drawn);
  if (delays.rounds > 0) return evict_in_step(seen);
  if (resident_->gone <= seen + delays.drain_work) return false;  // done before the drain would end
  const BlockCount done = first + block_tasks_in((seen - resident_->started) + delays.drain_work,
                                                 resident_->launch->kernel, delays);
  if (done >= resident_->launch->range.last) return false;  // as where the last rounds are not full
  resident_->done = done;
  resident_->gone = std::min(resident_->gone, seen + delays.drain + claims_of_rest());
  return true;
}

bool Gpu::evict_in_step(Time seen) {
  const CommandDelays& delays = *resident_->delays;
  const RunningKernel& kernel = resident_->launch->kernel;
  const BlockRange range = resident_->launch->range;
  const std::int64_t together = delays.measured->in_step, all = waves(kernel.block_tasks, together);
  const Duration each = of_each(kernel, delays), even = kernel.time - each;
  const Duration worked = std::max(seen - resident_->started - each, Duration{});
  if (resident_->gone <= seen || even.ns == 0) return false;
  const std::int64_t looks = mul_div_floor(worked.ns, all, even.ns) / delays.rounds;
  const std::int64_t rounds = (looks + 1) * delays.rounds;
  if (rounds >= waves(range.last - range.first, together)) return false;
  resident_->done = range.first + BlockCount{rounds * together};
  const Time ended = resident_->started + each + Duration{mul_div_ceil(rounds, even.ns, all)};
  resident_->gone = std::min(resident_->gone, ended + claims_of_rest());
  return true;
}

bool Gpu::evict_as_measured(Time now, Time seen, double drawn) {
  if (resident_->gone <= seen) return false;
  const CommandDelays& delays = *resident_->delays;
  if (resident_->gone - now < delays.measured->too_late) return false;
  const BlockRange range = resident_->launch->range;
  const Duration at = now - resident_->started;
  const MeasuredEviction& other = like(*delays.measured, at, drawn);
  const Duration work = at + scaled_down(other.work - other.ordered, delays.scale);
  const BlockCount done =
      range.first + block_tasks_in(std::max(work, Duration{}), resident_->launch->kernel, delays);
  if (done >= range.last) return false;  // the last are claimed before the flag is seen
  resident_->done = done;
  const Time gone = now + scaled_down(other.gone - other.ordered, delays.scale);
  resident_->gone = std::min(resident_->gone, std::max(gone, resident_->started) + claims_of_rest());
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
  const Duration alone = busy_time(resident_->launch->kernel, resident_->launch->range, *resident_->delays);
  const BlockTime all = static_cast<BlockTime>(blocks_) * alone.ns;
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
  const BlockRange range = resident_->launch->range;
  const BlockCount done = range.first + block_tasks_in({static_cast<std::int64_t>(work / blocks_)},
                                                       resident_->launch->kernel, delays);
  resident_->done = std::min(done, range.last);
  resident_->gone = std::min(resident_->gone, now + delays.drain + claims_of_rest());
  return true;
}

}  // namespace gangway
