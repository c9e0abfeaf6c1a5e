// What happened to live clients, as records of a trace. Pure.
#pragma once

#include <optional>
#include <vector>

#include "models/trace.hpp"

namespace gangway::live {

// How clients came to the device in a run, which says what a gate's changes are in the trace.
enum class Sharing {
  free,      // as the driver lets them
  accessed,  // a gate that closes in the middle of a job pauses it
  granted,   // likewise, but it evicts it, and it is launched again
};

struct LiveJob {
  Time arrived;
  std::optional<Time> begun, over;
  bool killed = false;  // then `over` is that time
};

// The gate as it goes: when it opened, and when nothing was left on the device behind it.
struct GateSpan {
  Time opened;
  std::optional<Time> shut;     // none: not in this run
  std::optional<Time> evicted;  // where the policy ordered it to be
};

struct LiveHistory {
  Duration alone;  // how long a job takes with nothing else on the machine
  std::int32_t priority = 0;
  std::vector<LiveJob> jobs;    // in order; one is over before the next begins
  std::vector<GateSpan> spans;  // likewise
};

// Of a run that ended at `end`, by client; the last record says so. A job is on the device while it is under
// way and its gate is not shut. What came after the end is left out.
std::vector<Record> live_trace(const std::vector<LiveHistory>& clients, Sharing sharing, Time end);

}  // namespace gangway::live
