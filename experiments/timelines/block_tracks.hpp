// A trace's tracks of blocks: for each SM as many as it ran launches at once.
#pragma once

#include <vector>

#include "experiments/timelines/trace_events.hpp"
#include "models/trace.hpp"
#include "models/workload.hpp"

namespace gangway {

class BlockTracks {
 public:
  // Both must outlive this object. `process`: the trace's number for these tracks.
  BlockTracks(const Workload& workload, int process, TraceEvents& events)
      : workload_(&workload), process_(process), events_(events) {}

  // Spans come in the order of their ends.
  void draw(const BlockSpan& span);
  // Of SMs that ran more launches at once than there are tracks for.
  std::int64_t left_out() const { return left_out_; }

 private:
  void draw(const BlocksOnSm& here, const BlockSpan& span);

  const Workload* workload_;
  int process_;
  TraceEvents& events_;
  std::vector<std::vector<Time>> free_from_;  // by SM, then track
  std::int64_t left_out_ = 0;
};

}  // namespace gangway
