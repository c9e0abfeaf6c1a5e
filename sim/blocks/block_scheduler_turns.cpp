// Blocks of contexts that take turns: who may assign some, and those that stop at the end of a turn.
#include <algorithm>
#include <utility>

#include "sim/blocks/block_scheduler.hpp"

namespace gangway {

std::optional<std::size_t> BlockScheduler::turn(Time now) {
  if (!turns_) return 0;
  const std::size_t before = turns_->active();
  const auto context = turns_->turn(now, *this);
  if (turns_->active() != before && turns_->stops_blocks() && running_[before] > 0) stop(before, now);
  if (context && stopped_[*context] > 0) resume(*context, now);
  return context;
}

bool BlockScheduler::waits(std::size_t context) const {
  return has_work(queues_of(context)) || stopped_[context] > 0 ||
         (turns_->stops_blocks() && running_[context] > 0);
}

std::int64_t BlockScheduler::held(std::size_t context) const {
  std::int64_t held = 0;
  for (const Cohort& blocks : cohorts_)
    if (blocks.count > 0 && blocks.context == context && blocks.waves > 0)
      held += blocks.count * turns_->stop_costs().held(grids_[blocks.grid].grid.needs);
  return held;
}

// A turn has ended: its blocks keep their places, and go on in the context's next turn.
void BlockScheduler::stop(std::size_t context, Time now) {
  std::vector<GridSlot> grids;
  for (std::uint32_t c = 0; c < cohorts_.size(); ++c) {
    Cohort& blocks = cohorts_[c];
    if (blocks.count == 0 || blocks.context != context || blocks.waves == 0) continue;
    if (const std::int64_t before = std::exchange(blocks.waves, 1) - 1; before > 0) {
      tell(c, before);
      blocks.began = blocks.began + Duration{before * (blocks.length + turnover_).ns};
    }
    const Duration left = blocks.ends - now;
    blocks.length = now - blocks.began;
    if (blocks.length > Duration{}) tell(c, 1);
    blocks.length = left;
    blocks.stopped = blocks.resumed = true;
    stopped_[context] += blocks.count;
    grids.push_back(blocks.grid);
  }
  running_[context] = 0;
  set_paused(std::move(grids), true, now);
}

void BlockScheduler::resume(std::size_t context, Time now) {
  std::vector<GridSlot> grids;
  for (std::uint32_t c = 0; c < cohorts_.size(); ++c) {
    Cohort& blocks = cohorts_[c];
    if (blocks.count == 0 || blocks.context != context || !blocks.stopped) continue;
    blocks.stopped = false;
    blocks.began = now;
    blocks.ends = now + blocks.length;
    if (std::exchange(blocks.fired, false)) events_.push(blocks.ends, event_id_ | c << shift_);
    grids.push_back(blocks.grid);
  }
  running_[context] += std::exchange(stopped_[context], 0);
  set_paused(std::move(grids), false, now);
}

void BlockScheduler::set_paused(std::vector<GridSlot> grids, bool paused, Time now) {
  std::sort(grids.begin(), grids.end());  // cohorts differ with `by_block`, the trace does not
  for (const GridSlot slot : grids)
    if (std::exchange(grids_[slot].paused, paused) != paused)
      note(grids_[slot], paused ? Mark::paused : Mark::resumed, now);
}

bool BlockScheduler::put_off(std::uint32_t cohort, Time now) {
  Cohort& blocks = cohorts_[cohort];
  if (blocks.stopped) return blocks.fired = true;
  if (now >= blocks.ends) return false;
  events_.push(blocks.ends, event_id_ | cohort << shift_);
  return true;
}

}  // namespace gangway
