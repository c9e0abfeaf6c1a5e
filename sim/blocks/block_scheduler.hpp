// The GPU at thread-block level: primary queues, and blocks of grids on SMs. Exact definition:
// sim/blocks/README.md; rules: models/gpu_rules.hpp. It only computes when things happen: the world keeps the
// clock and calls it in each instant after all events.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "models/random.hpp"
#include "sim/blocks/context_turns.hpp"
#include "sim/blocks/delay_line.hpp"
#include "sim/blocks/multiprocessors.hpp"
#include "sim/event_queue.hpp"
#include "sim/journal.hpp"

namespace gangway {

// Durations of a grid's blocks.
struct BlockLengths {
  Duration all;  // every block, except
  double jitter = 0;
  bool normal = false;
  std::optional<Stream> random;                     // source of per-block draws if there is jitter
  std::span<const BlockException> exceptions = {};  // for this job, by block

  bool vary() const { return jitter > 0 || !exceptions.empty(); }
  Duration of(std::int64_t block);
};

// One launch of a kernel on the device.
struct LaunchedGrid {
  LaunchId launch;
  JobId job;
  std::uint32_t kernel = 0;
  Time released;  // of its job
  std::int32_t priority = 0;
  std::uint32_t context = 0;
  BlockNeeds needs;
  std::int64_t blocks = 1;
  BlockLengths lengths;
  bool persistent = false;    // blocks stay until close()
  bool ready = true;          // at the head of its stream, if the primary queue's order requires that
  bool event_behind = false;  // which waits for its end
};

using GridSlot = std::uint32_t;

class BlockScheduler : private ContextWork {
 public:
  // Block-end events go into `events`, with ids `event_id` + (slot << shift). `by_block`: one event per
  // block; else equal blocks that begin together share one. `alarm`: when to vacate(). `contexts`: number of
  // contexts, which take turns if the device has time slices.
  BlockScheduler(const Device& device, EventQueue& events, std::uint32_t event_id, unsigned shift,
                 Alarm alarm, std::size_t contexts, Journal& journal, bool by_block);
  void reset();

  // Returns the grid's slot, valid until finish(). The grid is in no queue until join().
  GridSlot add(const LaunchedGrid& grid);
  const LaunchedGrid& grid(GridSlot slot) const { return grids_[slot].grid; }
  std::int64_t running(GridSlot slot) const { return grids_[slot].running; }
  void finish(GridSlot slot, Time now);  // the grid is done: forgets it

  // The grid joins its primary queue (RTSS17.G2, A1).
  void join(GridSlot slot, Time now);
  // The grid is its stream's head now; matters only in a release_all queue.
  void make_ready(GridSlot slot);
  // Persistent blocks end now; unassigned ones end when assigned.
  void close(GridSlot slot, Time now);
  // Unassigned persistent blocks end when assigned.
  void close_unassigned(GridSlot slot) { grids_[slot].closed = true; }

  // Frees the room of blocks that ended earlier.
  void vacate(Time now) {
    vacated_.take(now, [&](const Vacated& blocks) { free(blocks); });
    if (turns_ && turns_->due(now)) changed_ = true;
  }
  // Admits kernels to queues (K1) and assigns blocks (X1, R1 to R3, A2, G3).
  void assign(Time now);
  bool changed() const { return changed_; }  // since the last assign()

  // Whether the end of these blocks at `now` changes nothing, because as many blocks of the same kernel take
  // their places at once. If so, that has been done, repeatedly up to `next`, when something else happens.
  bool prolong(std::uint32_t cohort, Time now, Time next);
  void ended(std::uint32_t cohort, Time now);
  // The run is over: reports the waves that ended among running blocks.
  void flush();

  // Grids since the last clearing: first block began, fully assigned, done.
  std::vector<GridSlot> started, assigned, done;

 private:
  struct Entry {
    LaunchedGrid grid;
    std::int64_t assigned = 0, running = 0;
    std::int64_t present = 0;  // blocks that occupy room
    bool started = false, paused = false, closed = false, admitted = false, dequeued = false;
    std::uint32_t said = 0;           // rules already reported as holding it
    std::vector<std::uint32_t> open;  // cohorts of persistent blocks
  };
  struct Cohort {
    GridSlot grid = 0;
    std::uint32_t context = 0;
    std::uint32_t count = 0;  // 0: the slot is free
    std::uint32_t sm = 0;     // if there is one SM; else places_
    bool scattered = false;
    Time began;
    Duration length;
    std::int64_t waves = 1;
    // Once they have been stopped, `length` is what was left of it. `ends`: when the blocks end, unless they
    // are stopped.
    bool stopped = false, resumed = false;
    bool fired = false;  // the event of their end came while they were stopped
    Time ends = {};
  };
  using Queue = std::vector<GridSlot>;

  std::size_t queue_of(const LaunchedGrid& grid) const;
  std::span<Queue> queues_of(std::size_t context) { return {&queues_[context * levels_], levels_}; }
  std::span<const Queue> queues_of(std::size_t context) const {
    return {&queues_[context * levels_], levels_};
  }
  // The context whose blocks may be assigned now; none if none may.
  std::optional<std::size_t> turn(Time now);
  bool waits(std::size_t context) const override;
  bool queued(std::size_t context) const override { return queued_[context] > 0; }
  bool present(std::size_t context) const override { return on_device_[device_of(context)] > 0; }
  std::int64_t held(std::size_t context) const override;
  // Each context has the device as it left it, if blocks are stopped.
  std::size_t device_of(std::size_t context) const { return sms_.size() > 1 ? context : 0; }
  void stop(std::size_t context, Time now);
  void resume(std::size_t context, Time now);
  void set_paused(std::vector<GridSlot> grids, bool paused, Time now);  // a grid may be there repeatedly
  // Whether the event of their end is no longer that: they were stopped meanwhile.
  bool put_off(std::uint32_t cohort, Time now);
  bool before(const LaunchedGrid& a, const LaunchedGrid& b) const;
  void insert(Queue& queue, GridSlot slot);
  void admit(Time now);
  // Whether the whole queue was assigned.
  bool serve(Queue& queue, Time now);
  void serve(std::span<Queue> queues, Time now);
  bool has_work(std::span<const Queue> queues) const;
  void place(GridSlot slot, Time now);
  void begin(GridSlot slot, std::span<const BlocksOnSm> where, Duration length, Time now);
  void begin_on_sm(GridSlot slot, std::uint32_t sm, std::uint32_t count, Duration length, Time now);
  void start(std::uint32_t cohort);
  std::uint32_t new_cohort();
  void end(std::uint32_t cohort, Time now);
  struct Vacated {
    std::uint32_t cohort = 0;
    LaunchId launch;
    BlockNeeds needs;
    bool last = false;  // of their kernel
  };
  void free(const Vacated& blocks);
  // Reports kernels that lost all their room in this instant.
  void tell_paused(Time now);
  std::span<const BlocksOnSm> places(std::uint32_t cohort);
  void tell(std::uint32_t cohort, std::int64_t waves);
  static bool is_done(const Entry& entry);
  void finish_if_done(GridSlot slot);
  void dequeue(GridSlot slot, Time now);
  void hold(GridSlot slot, Rule rule, Time now);
  void hold_for_room(GridSlot slot, Time now);  // reports only the first rule in its way
  void note(const Entry& entry, Mark mark, Time now, std::int64_t amount = 0);

  RuleSet rules_;
  QueueOrder order_;
  std::int64_t priorities_;
  std::optional<std::int64_t> most_resident_;
  Duration turnover_;  // from a block's end until its room is free
  EventQueue& events_;
  std::uint32_t event_id_;
  unsigned shift_;
  Journal& journal_;
  bool by_block_;
  bool changed_ = false;

  std::vector<Multiprocessors> sms_;  // by device_of()
  std::size_t levels_;                // of priority
  std::vector<Queue> queues_;         // by context, then by priority, highest first
  std::vector<Queue> outside_;        // by priority: kernels not admitted yet; none if unlimited
  std::vector<std::int64_t>
      queued_;  // by context: kernels of which no block has begun, and events behind kernels
  std::optional<ContextTurns> turns_;
  std::vector<std::int64_t> on_device_;          // by device_of(): blocks that occupy room
  std::vector<std::int64_t> running_, stopped_;  // by context: blocks that have not ended
  std::vector<Entry> grids_;
  std::vector<GridSlot> free_grids_;
  std::vector<Cohort> cohorts_;
  std::vector<std::vector<BlocksOnSm>> places_;
  std::vector<std::uint32_t> free_cohorts_;
  DelayLine<Vacated> vacated_;
  std::int64_t resident_ = 0;      // kernels admitted to a queue that have not left the device
  std::vector<GridSlot> joined_;   // since the last assign()
  std::vector<GridSlot> emptied_;  // that lost all their room since the last assign()
  std::vector<BlocksOnSm> where_;
  std::vector<BlocksOnSm> told_;
  BlocksOnSm one_;
};

}  // namespace gangway
