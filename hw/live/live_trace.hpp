// Turns the history of live clients into trace records. Pure functions.
#pragma once

#include <optional>
#include <vector>

#include "models/trace.hpp"

namespace gangway::live {

// How clients share the device in a run; this decides what gate changes mean in the trace.
enum class Sharing {
  free,      // by the driver
  accessed,  // closing a gate during a job pauses the job
  granted,   // closing a gate during a job evicts it; it is launched again later
};

struct LiveJob {
  Time arrived;
  std::optional<Time> begun, over;
  Mark over_as = Mark::finished;  // or killed, refused, program_ended; at `over`
};

// A period of an open gate, from its opening until the next client may begin: once nothing is left on the
// device, or, if clients overlap, once the gate is closed.
struct GateSpan {
  Time opened;
  std::optional<Time> shut;       // none: not in this run
  std::optional<Time> evicted;    // if the policy ordered an eviction
  bool sliced = false;            // slices of kernels have ended
  bool stays = false;             // a slice is not over; others continue once the gate is closed
  std::optional<Time> gone = {};  // after `shut`: when nothing was left on the device
};

// Kernels of the client that left before their end at one closing of the gate.
struct Departure {
  Time told, left;
  std::optional<Time> again;  // none: not in this run
  std::int64_t kernels = 0;
};

struct LiveHistory {
  Duration alone;  // how long a job takes with nothing else on the machine
  std::int32_t priority = 0;
  std::vector<LiveJob> jobs;               // in order; one is over before the next begins
  std::vector<GateSpan> spans;             // likewise
  std::vector<Departure> departures = {};  // likewise
  std::uint8_t gpu = 0;                    // the one that it is on
};

// The trace of a run that ended at `end`, by client; its last record marks the end. A job is on the device
// while it is under way and its gate is not closed. Later events are omitted.
std::vector<Record> live_trace(const std::vector<LiveHistory>& clients, Sharing sharing, Time end);

}  // namespace gangway::live
