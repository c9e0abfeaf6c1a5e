#include "sim/blocks/block_scheduler.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "models/run/jitter.hpp"

namespace gangway {

Duration BlockLengths::of(std::int64_t block) {
  const auto exception =
      std::lower_bound(exceptions.begin(), exceptions.end(), block,
                       [](const BlockException& e, std::int64_t b) { return e.block < b; });
  const bool excepted = exception != exceptions.end() && exception->block == block;
  Duration length = excepted ? exception->length : all;
  if (jitter > 0) {  // each block has its draw, an exception too
    const double factor = drawn_factor(*random, jitter, normal);
    if (!excepted) length = drawn_time(all, factor);
  }
  return length;
}

BlockScheduler::BlockScheduler(const Device& device, EventQueue& events, std::uint32_t event_id,
                               unsigned shift, Alarm alarm, std::size_t contexts, Journal& journal,
                               bool by_block)
    : rules_(device.rules),
      order_(device.queue_order),
      priorities_(device.priorities),
      most_resident_(device.rules.on(Rule::K1) ? device.resident_kernels : std::nullopt),
      turnover_(device.delays.block_end),
      events_(events),
      event_id_(event_id),
      shift_(shift),
      journal_(journal),
      by_block_(by_block),
      sms_(device.time_slice && device.time_slice->stops_blocks ? contexts : 1, Multiprocessors(device)),
      levels_(device.rules.on(Rule::A1) && device.arbitration != Arbitration::fifo
                  ? static_cast<std::size_t>(device.priorities)
                  : 1),
      queues_(levels_ * contexts),
      outside_(most_resident_ ? levels_ : 0),
      queued_(contexts),
      on_device_(sms_.size()),
      running_(contexts),
      stopped_(contexts),
      vacated_(device.delays.block_end, alarm) {
  if (device.arbitration == Arbitration::timeslice && rules_.on(Rule::T1))
    turns_.emplace(device, contexts, alarm);
}

void BlockScheduler::reset() {
  for (Multiprocessors& sms : sms_) sms.reset();
  for (Queue& queue : queues_) queue.clear();
  for (Queue& queue : outside_) queue.clear();
  grids_.clear();
  free_grids_.clear();
  cohorts_.clear();
  free_cohorts_.clear();
  vacated_.clear();
  std::fill(queued_.begin(), queued_.end(), 0);
  resident_ = 0;
  for (auto* const counts : {&on_device_, &running_, &stopped_}) std::fill(counts->begin(), counts->end(), 0);
  if (turns_) turns_->reset();
  joined_.clear();
  emptied_.clear();
  started.clear();
  assigned.clear();
  done.clear();
  changed_ = false;
}

GridSlot BlockScheduler::add(const LaunchedGrid& grid) {
  if (free_grids_.empty()) {
    free_grids_.push_back(static_cast<GridSlot>(grids_.size()));
    grids_.emplace_back();
  }
  const GridSlot slot = free_grids_.back();
  free_grids_.pop_back();
  grids_[slot] = {};
  grids_[slot].grid = grid;
  queued_[grid.context] += grid.event_behind ? 2 : 1;
  if (turns_) changed_ = true;
  return slot;
}

void BlockScheduler::finish(GridSlot slot, Time now) {
  Entry& entry = grids_[slot];
  if (!entry.dequeued) {  // G3 is off
    Queue& queue = queues_[queue_of(entry.grid)];
    queue.erase(std::find(queue.begin(), queue.end(), slot));
    dequeue(slot, now);
    changed_ = true;
  }
  if (entry.grid.event_behind) {
    --queued_[entry.grid.context];
    if (turns_) changed_ = true;
  }
  free_grids_.push_back(slot);
}

// --- Primary queues
// ----------------------------------------------------------------------------------------------------------

// RTSS17.A1: one queue for each priority. Client priorities count upwards from 0; CUDA cuts them likewise.
std::size_t BlockScheduler::queue_of(const LaunchedGrid& grid) const {
  const std::int64_t priority = std::clamp<std::int64_t>(grid.priority, 0, priorities_ - 1);
  const std::size_t level = levels_ == 1 ? 0 : static_cast<std::size_t>(priorities_ - 1 - priority);
  return grid.context * levels_ + level;
}

// In queues by release time.
bool BlockScheduler::before(const LaunchedGrid& a, const LaunchedGrid& b) const {
  return std::tie(a.released, a.job.client, a.job.number, a.kernel) <
         std::tie(b.released, b.job.client, b.job.number, b.kernel);
}

void BlockScheduler::join(GridSlot slot, Time now) {
  Entry& entry = grids_[slot];
  entry.admitted = !most_resident_;
  const std::size_t queue = queue_of(entry.grid);
  insert(entry.admitted ? queues_[queue] : outside_[queue % levels_], slot);
  joined_.push_back(slot);
  changed_ = true;
  note(entry, Mark::queued, now);
}

void BlockScheduler::insert(Queue& queue, GridSlot slot) {
  auto place = queue.end();
  if (order_ != QueueOrder::became_head)
    place = std::find_if(queue.begin(), queue.end(),
                         [&](GridSlot other) { return before(grids_[slot].grid, grids_[other].grid); });
  queue.insert(place, slot);
}

// CUDA.K1: those of the highest priority first, and of these, the first.
void BlockScheduler::admit(Time now) {
  for (Queue& waiting : outside_) {
    for (; !waiting.empty() && resident_ < *most_resident_; ++resident_) {
      grids_[waiting.front()].admitted = true;
      insert(queues_[queue_of(grids_[waiting.front()].grid)], waiting.front());
      waiting.erase(waiting.begin());
    }
    for (const GridSlot slot : waiting) hold(slot, Rule::K1, now);
  }
}

void BlockScheduler::make_ready(GridSlot slot) {
  grids_[slot].grid.ready = true;
  changed_ = true;
}

void BlockScheduler::assign(Time now) {
  changed_ = false;
  if (most_resident_) admit(now);
  const auto context = turn(now);
  if (context) serve(queues_of(*context), now);
  if (turns_)
    for (std::size_t c = 0; c < queues_.size() / levels_; ++c)
      if (c != context)
        for (const Queue& queue : queues_of(c))
          if (!queue.empty()) hold(queue.front(), Rule::T1, now);
  for (const GridSlot slot : joined_) {
    const Entry& entry = grids_[slot];
    if (entry.said != 0 || entry.dequeued || !entry.admitted) continue;
    const Queue& queue = queues_[queue_of(entry.grid)];
    if (queue.front() != slot) hold(slot, Rule::X1, now);
  }
  joined_.clear();
  tell_paused(now);
}

// Whether serve() would assign blocks on an empty device.
bool BlockScheduler::has_work(std::span<const Queue> queues) const {
  const auto can_begin = [&](GridSlot slot) {
    return grids_[slot].grid.ready && grids_[slot].assigned < grids_[slot].grid.blocks;
  };
  for (const Queue& queue : queues) {
    if (queue.empty()) continue;
    const auto last = rules_.on(Rule::X1) ? queue.begin() + 1 : queue.end();
    if (std::any_of(queue.begin(), last, can_begin)) return true;
    if (rules_.on(Rule::A2)) return false;
  }
  return false;
}

void BlockScheduler::serve(std::span<Queue> queues, Time now) {
  std::size_t served = 0;
  bool blocked = false;
  for (; served < queues.size() && !blocked; ++served)
    blocked = !serve(queues[served], now) && rules_.on(Rule::A2);
  for (; served < queues.size(); ++served)
    if (!queues[served].empty()) hold(queues[served].front(), Rule::A2, now);
}

bool BlockScheduler::serve(Queue& queue, Time now) {
  for (std::size_t i = 0; i < queue.size();) {
    const GridSlot slot = queue[i];
    Entry& entry = grids_[slot];
    if (!entry.grid.ready) {
      hold(slot, Rule::P1, now);
    } else if (entry.assigned < entry.grid.blocks) {
      place(slot, now);
      if (entry.assigned < entry.grid.blocks)
        hold_for_room(slot, now);
      else if (rules_.on(Rule::G3)) {  // leaves the queue when all its blocks are assigned
        queue.erase(queue.begin() + static_cast<std::ptrdiff_t>(i));
        dequeue(slot, now);
        continue;
      }
    }
    if (rules_.on(Rule::X1)) {  // nobody passes the head
      if (i + 1 < queue.size()) hold(queue[i + 1], Rule::X1, now);
      return false;
    }
    ++i;
  }
  return queue.empty();
}

void BlockScheduler::dequeue(GridSlot slot, Time now) {
  Entry& entry = grids_[slot];
  entry.dequeued = true;
  note(entry, Mark::dequeued, now);
}

// Told once for each rule and grid, so that a trace is no longer for a grid that waits longer.
void BlockScheduler::hold(GridSlot slot, Rule rule, Time now) {
  Entry& entry = grids_[slot];
  const std::uint32_t bit = 1u << static_cast<int>(rule);
  if ((entry.said & bit) != 0) return;
  entry.said |= bit;
  note(entry, Mark::held, now, static_cast<std::int64_t>(rule));
}

void BlockScheduler::hold_for_room(GridSlot slot, Time now) {
  constexpr auto kRoom =
      1u << static_cast<int>(Rule::R1) | 1u << static_cast<int>(Rule::R2) | 1u << static_cast<int>(Rule::R3);
  if ((grids_[slot].said & kRoom) == 0) {
    const LaunchedGrid& grid = grids_[slot].grid;
    hold(slot, sms_[device_of(grid.context)].obstacle(grid.needs), now);
  }
}

// --- Blocks
// -----------------------------------------------------------------------------------------------------------------

void BlockScheduler::place(GridSlot slot, Time now) {
  Entry& entry = grids_[slot];
  LaunchedGrid& grid = entry.grid;
  const auto note_start = [&] {
    if (std::exchange(entry.paused, false)) note(entry, Mark::resumed, now);
    if (std::exchange(entry.started, true)) return;
    --queued_[grid.context];
    if (turns_) changed_ = true;
    started.push_back(slot);
    note(entry, Mark::started, now);
  };
  if (grid.lengths.vary() && !entry.closed) {  // which block goes where matters
    for (; entry.assigned < grid.blocks; ++entry.assigned) {
      const auto sm = sms_[device_of(grid.context)].place_one(grid.needs);
      if (!sm) return;
      note_start();
      ++entry.running;
      begin_on_sm(slot, *sm, 1, grid.lengths.of(entry.assigned), now);
    }
  } else {
    where_.clear();
    const std::int64_t count =
        sms_[device_of(grid.context)].place(grid.needs, grid.blocks - entry.assigned, where_);
    if (count == 0) return;
    note_start();
    entry.assigned += count;
    entry.running += count;
    begin(slot, where_, entry.closed ? Duration{} : grid.lengths.all, now);
  }
  if (entry.assigned == grid.blocks) assigned.push_back(slot);
}

void BlockScheduler::begin(GridSlot slot, std::span<const BlocksOnSm> where, Duration length, Time now) {
  if (by_block_ && !grids_[slot].grid.persistent) {
    for (const auto& [sm, count] : where)
      for (std::uint32_t i = 0; i < count; ++i) begin_on_sm(slot, sm, 1, length, now);
    return;
  }
  if (where.size() == 1) return begin_on_sm(slot, where[0].sm, where[0].count, length, now);
  const std::uint32_t cohort = new_cohort();
  std::uint32_t count = 0;
  for (const BlocksOnSm& here : where) count += here.count;
  places_[cohort].assign(where.begin(), where.end());
  cohorts_[cohort] = {.grid = slot, .count = count, .scattered = true, .began = now, .length = length};
  start(cohort);
}

void BlockScheduler::begin_on_sm(GridSlot slot, std::uint32_t sm, std::uint32_t count, Duration length,
                                 Time now) {
  const std::uint32_t cohort = new_cohort();
  cohorts_[cohort] = {.grid = slot, .count = count, .sm = sm, .began = now, .length = length};
  start(cohort);
}

// Its end is an event, unless it waits for close().
void BlockScheduler::start(std::uint32_t cohort) {
  Cohort& blocks = cohorts_[cohort];
  Entry& entry = grids_[blocks.grid];
  on_device_[device_of(entry.grid.context)] += blocks.count;
  running_[entry.grid.context] += blocks.count;
  entry.present += blocks.count;
  blocks.context = entry.grid.context;
  blocks.ends = blocks.began + blocks.length;
  if (entry.grid.persistent && !entry.closed)
    entry.open.push_back(cohort);
  else
    events_.push(blocks.ends, event_id_ | cohort << shift_);
}

std::uint32_t BlockScheduler::new_cohort() {
  if (free_cohorts_.empty()) {
    if (cohorts_.size() >> (EventQueue::kIdBits - shift_) != 0)
      throw RunError("more blocks are on the device at once than the simulator can number");
    free_cohorts_.push_back(static_cast<std::uint32_t>(cohorts_.size()));
    cohorts_.emplace_back();
    if (places_.size() < cohorts_.size()) places_.emplace_back();
  }
  const std::uint32_t cohort = free_cohorts_.back();
  free_cohorts_.pop_back();
  return cohort;
}

std::span<const BlocksOnSm> BlockScheduler::places(std::uint32_t cohort) {
  const Cohort& blocks = cohorts_[cohort];
  if (blocks.scattered) return places_[cohort];
  one_ = {blocks.sm, blocks.count};
  return {&one_, 1};
}

void BlockScheduler::tell(std::uint32_t cohort, std::int64_t waves) {
  if (!journal_.wants_blocks()) return;
  const Cohort& blocks = cohorts_[cohort];
  const LaunchedGrid& grid = grids_[blocks.grid].grid;
  const auto where = places(cohort);
  told_.assign(where.begin(), where.end());
  for (BlocksOnSm& here : told_) here.sm = sms_.front().name_of(here.sm);
  BlockSpan span{grid.launch, grid.job, grid.kernel, blocks.began, blocks.length, waves, told_};
  if (turnover_ == Duration{}) return journal_.blocks(span);
  span.waves = 1;
  for (std::int64_t wave = 0; wave < waves; ++wave, span.began = span.began + blocks.length + turnover_)
    journal_.blocks(span);
}

bool BlockScheduler::prolong(std::uint32_t cohort, Time now, Time next) {
  if (put_off(cohort, now)) return true;
  Cohort& blocks = cohorts_[cohort];
  Entry& entry = grids_[blocks.grid];
  if (by_block_ || blocks.resumed || blocks.length == Duration{} || entry.grid.lengths.vary() || entry.closed)
    return false;
  // At least one block must be left, since the last ones have more consequences.
  const std::int64_t left = entry.grid.blocks - entry.assigned - 1;
  if (left < blocks.count || (turns_ && !turns_->open())) return false;
  for (const Queue& queue : queues_of(entry.grid.context)) {
    if (queue.empty()) continue;
    if (queue.front() != blocks.grid || !entry.grid.ready) return false;
    break;
  }
  // Waves begin when room is free, each before anything else happens.
  const std::int64_t until_next = (next - now - turnover_).ns;
  if (until_next <= 0) return false;
  const std::int64_t step = (blocks.length + turnover_).ns;
  const std::int64_t waves = std::min(left / blocks.count, (until_next + step - 1) / step);
  if (waves < 1) return false;
  blocks.waves += waves;
  entry.assigned += waves * blocks.count;
  blocks.ends = now + Duration{waves * step};
  events_.push(blocks.ends, event_id_ | cohort << shift_);
  return true;
}

void BlockScheduler::ended(std::uint32_t cohort, Time now) {
  if (put_off(cohort, now)) return;
  const GridSlot slot = cohorts_[cohort].grid;
  end(cohort, now);
  finish_if_done(slot);
}

// Tells of the blocks and frees their room, at once or in a while.
void BlockScheduler::end(std::uint32_t cohort, Time now) {
  Cohort& blocks = cohorts_[cohort];
  Entry& entry = grids_[blocks.grid];
  tell(cohort, std::exchange(blocks.waves, 0));
  entry.running -= blocks.count;
  running_[entry.grid.context] -= blocks.count;
  const Vacated vacated{cohort, entry.grid.launch, entry.grid.needs, is_done(entry)};
  if (vacated_.none())
    free(vacated);
  else
    vacated_.push(now, vacated);
}

void BlockScheduler::free(const Vacated& blocks) {
  const Cohort& cohort = cohorts_[blocks.cohort];
  Entry& entry = grids_[cohort.grid];  // may be another one by now
  const std::size_t device = device_of(cohort.context);
  sms_[device].release(blocks.needs, places(blocks.cohort));
  on_device_[device] -= cohort.count;
  if (entry.grid.launch == blocks.launch && (entry.present -= cohort.count) == 0)
    emptied_.push_back(cohort.grid);
  cohorts_[blocks.cohort].count = 0;
  free_cohorts_.push_back(blocks.cohort);
  if (blocks.last) --resident_;
  changed_ = true;
}

void BlockScheduler::tell_paused(Time now) {
  for (const GridSlot slot : emptied_) {
    Entry& entry = grids_[slot];
    if (entry.present > 0 || !entry.started || entry.paused || is_done(entry)) continue;
    entry.paused = true;
    note(entry, Mark::paused, now);
  }
  emptied_.clear();
}

bool BlockScheduler::is_done(const Entry& entry) {
  return entry.running == 0 && entry.assigned == entry.grid.blocks;
}

void BlockScheduler::finish_if_done(GridSlot slot) {
  if (!is_done(grids_[slot])) return;
  changed_ = true;
  done.push_back(slot);
}

void BlockScheduler::close(GridSlot slot, Time now) {
  Entry& entry = grids_[slot];
  entry.closed = true;
  for (const std::uint32_t cohort : entry.open) {
    cohorts_[cohort].length = now - cohorts_[cohort].began;
    end(cohort, now);
  }
  entry.open.clear();
  changed_ = true;
  finish_if_done(slot);
}

void BlockScheduler::flush() {
  for (std::uint32_t cohort = 0; cohort < cohorts_.size(); ++cohort)
    if (cohorts_[cohort].count > 0 && cohorts_[cohort].waves > 1) tell(cohort, cohorts_[cohort].waves - 1);
}

void BlockScheduler::note(const Entry& entry, Mark mark, Time now, std::int64_t amount) {
  journal_.note({.time = now,
                 .launch = entry.grid.launch,
                 .amount = amount,
                 .job = entry.grid.job,
                 .kernel = entry.grid.kernel,
                 .mark = mark});
}

}  // namespace gangway
