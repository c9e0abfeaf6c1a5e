// What of a recording's times belongs to the program and what to waiting: the recorded times, taken apart so
// that they can be put together again where kernels take other times or wait for other programs.
// sim/recorded/README.md says how they are put together.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/recording/recording.hpp"

namespace gangway::recording {

struct CallTiming {
  Duration gap;   // of the host thread, from the end of its call before
  Duration own;   // how long the call takes where it waits for nothing
  Duration wake;  // from the end of what it waited for to its own, where that is later
  bool waits = false;
};

struct WorkTiming {
  Duration launch;  // from the begin of its call to its own, on a GPU that has nothing else to do
  Duration behind;  // from the end of all that it follows to its own begin, where it is submitted by then
};

// Calls that follow each other: those of one host thread, and of helpers that work only while it is silent.
struct Timeline {
  Index process = 0;
  std::vector<Index> calls;  // in the order of their begin
};

struct Timing {
  std::vector<CallTiming> calls;       // by call
  std::vector<WorkTiming> works;       // by work
  std::vector<Timeline> timelines;     // by their first call
  std::vector<Index> timeline_of;      // by thread; kNone: it called nothing
  std::optional<std::uint32_t> depth;  // submissions that fit into a stream before a call has to wait; none:
                                       // it never came to that
};

// Alone, with nothing changed, each work begins at the later of
//   (begin of its call) + launch  and  (end of what it follows) + behind,
// and each call ends at the later of
//   (begin) + own  and  (end of what it waits for) + wake,
// as recorded, but for times that contradict each other by the error of CUPTI's clocks. Of each pair the
// recording shows one; the other is the median where works and calls of its kind show it, as far as that does
// not contradict what was recorded.
Timing take_apart(const Recording& recording);

}  // namespace gangway::recording
