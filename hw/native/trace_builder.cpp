#include "hw/native/trace_builder.hpp"

#include <algorithm>

namespace gangway {
namespace {

// Of one instant: what ends comes before what that lets begin.
int rank(Mark mark) {
  switch (mark) {
    case Mark::released:
      return 0;
    case Mark::issued:
      return 1;
    case Mark::copy_ends:
    case Mark::paused:
    case Mark::gone:
      return 2;
    case Mark::copy_begins:
    case Mark::started:
    case Mark::resumed:
      return 3;
    default:
      return 4;
  }
}

struct Pause {
  Time from, until;
};

struct Extent {
  Time first_begin = Time::max(), end{};
  std::vector<Pause> pauses;  // of a kernel: none of its blocks was on the device
};

// Blocks that began and ended together, on whatever SMs.
struct Group {
  BlockSpan span;
  std::vector<BlocksOnSm> where;
};

class TraceBuilder {
 public:
  TraceBuilder(const NativePlan& plan, const NativeMeasurement& measured)
      : plan_(plan), measured_(measured), extents_(measured.operations) {
    for (std::size_t i = 0; i < measured_.operations; ++i) {
      const NativeOperation& operation = plan_.run().operations[i];
      if (operation.timed_by_event())
        extents_[i].end = measured_.ended[operation.event];
      else
        take_blocks(i);
      if (operation.coded)  // two clocks of the device: an end is later
        extents_[i].first_begin = std::min(measured_.began[operation.start], extents_[i].end);
    }
    begin_copies();
    note_all();
  }

  void build(Time horizon, TraceSink& trace) {
    std::stable_sort(records_.begin(), records_.end(), [](const Record& a, const Record& b) {
      return std::pair(a.time, rank(a.mark)) < std::pair(b.time, rank(b.mark));
    });
    std::stable_sort(groups_.begin(), groups_.end(),
                     [](const Group& a, const Group& b) { return end_of(a) < end_of(b); });
    trace.uncertain(measured_.uncertainty);
    std::size_t group = 0;
    const auto tell_groups = [&](Time until) {
      for (; trace.wants_blocks() && group < groups_.size() && end_of(groups_[group]) <= until; ++group) {
        BlockSpan span = groups_[group].span;
        span.where = groups_[group].where;
        trace.blocks(span);
      }
    };
    Time now{};
    for (const Record& record : records_) {
      now = std::min(record.time, horizon);
      if (record.time > horizon) break;
      tell_groups(now);
      trace.record(record);
    }
    tell_groups(now);
    trace.record({.time = now, .mark = Mark::ended});
  }

 private:
  static Time end_of(const Group& group) { return group.span.began + group.span.length; }

  std::span<const BlockStamp> blocks_of(const NativeOperation& operation) const {
    return std::span(measured_.blocks).subspan(operation.first_stamp, plan_.kernel(operation).blocks);
  }

  void take_blocks(std::size_t index) {
    const NativeOperation& operation = plan_.run().operations[index];
    Extent& extent = extents_[index];
    std::vector<BlockStamp> sorted(blocks_of(operation).begin(), blocks_of(operation).end());
    std::sort(sorted.begin(), sorted.end(), [](const BlockStamp& a, const BlockStamp& b) {
      return std::tie(a.began, a.ended, a.sm) < std::tie(b.began, b.ended, b.sm);
    });
    for (const BlockStamp& block : sorted) {
      if (const Time free = extent.end + plan_.block_end(); extent.end > Time{} && block.began > free)
        extent.pauses.push_back({free, block.began});
      extent.first_begin = std::min(extent.first_begin, block.began);
      extent.end = std::max(extent.end, block.ended);
      const bool same = !groups_.empty() && groups_.back().span.launch == operation.launch &&
                        groups_.back().span.began == block.began && end_of(groups_.back()) == block.ended;
      if (!same)
        groups_.push_back(
            {{operation.launch, operation.job, operation.kernel, block.began, block.ended - block.began},
             {}});
      auto& where = groups_.back().where;
      if (!where.empty() && where.back().sm == block.sm)
        ++where.back().count;
      else
        where.push_back({block.sm, 1});
    }
  }

  // See the header.
  void begin_copies() {
    std::vector<Time> stream_free(plan_.on_device().streams.size());
    std::vector<std::size_t> by_end[2];
    for (std::size_t i = 0; i < extents_.size(); ++i) {
      const NativeOperation& operation = plan_.run().operations[i];
      Time& free = stream_free[operation.stream];
      if (operation.copy) {
        extents_[i].first_begin = std::max(measured_.issued[i], free);
        by_end[operation.direction == CopyDirection::to_device ? 0 : 1].push_back(i);
      }
      free = std::max(free, extents_[i].end);
    }
    for (auto& copies : by_end) {
      std::stable_sort(copies.begin(), copies.end(),
                       [&](std::size_t a, std::size_t b) { return extents_[a].end < extents_[b].end; });
      Time free{};
      for (const std::size_t i : copies) {
        Extent& extent = extents_[i];
        extent.first_begin = std::max(extent.first_begin, free);
        extent.end = free = std::max(extent.end, extent.first_begin + Duration{1});
      }
    }
  }

  void note_all() {
    for (std::size_t i = 0; i < measured_.operations; ++i) {
      const NativeOperation& operation = plan_.run().operations[i];
      const Extent& extent = extents_[i];
      Record record{.launch = operation.launch,
                    .job = operation.job,
                    .kernel = operation.kernel,
                    .direction = operation.direction,
                    .copy = operation.copy};
      const auto note = [&](Mark mark, Time time) {
        record.mark = mark;
        record.time = time;
        records_.push_back(record);
      };
      note(Mark::issued, measured_.issued[i]);
      if (operation.copy) {
        record.copy = false;  // as in simulated traces, these marks are of copies anyway
        note(Mark::copy_begins, extent.first_begin);
        note(Mark::copy_ends, extent.end);
      } else {
        note(Mark::started, extent.first_begin);
        for (const Pause& pause : extent.pauses) {
          note(Mark::paused, pause.from);
          note(Mark::resumed, pause.until);
        }
        record.amount = plan_.kernel(operation).blocks;
        note(Mark::gone, extent.end);
      }
    }
    std::size_t operation = 0;
    for (std::size_t r = 0; r < measured_.releases; ++r) {
      const NativeRelease& release = plan_.run().releases[r];
      records_.push_back({.time = release.time,
                          .amount = plan_.standalone_ns(release.job.client),
                          .job = release.job,
                          .priority = plan_.priority(release.job.client),
                          .mark = Mark::released});
      Time over = release.time;
      for (std::size_t k = 0; k < release.count; ++k) over = std::max(over, extents_[operation++].end);
      records_.push_back({.time = over, .job = release.job, .mark = Mark::finished});
    }
  }

  const NativePlan& plan_;
  const NativeMeasurement& measured_;
  std::vector<Extent> extents_;  // by operation
  std::vector<Record> records_;
  std::vector<Group> groups_;
};

}  // namespace

void build_trace(const NativePlan& plan, const NativeMeasurement& measured, Time horizon, TraceSink& trace) {
  TraceBuilder(plan, measured).build(horizon, trace);
}

}  // namespace gangway
