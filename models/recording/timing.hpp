// Separates the program's own times in a recording from waiting, so that they can be recombined when kernels
// take other times or wait for other programs. sim/recorded/README.md says how.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/recording/recording.hpp"

namespace gangway::recording {

struct CallTiming {
  Duration gap;   // of the host thread, since its previous call
  Duration own;   // duration of the call if it waits for nothing
  Duration wake;  // from the end of what it waited for to its own end, if that is later
  bool waits = false;
};

struct WorkTiming {
  Duration launch;  // from its call's begin to its own, on an idle GPU
  Duration behind;  // from the end of what it follows to its own begin, if submitted by then
};

// Consecutive calls: of one host thread, and of helpers that work only while it is silent. Of a thread with
// jobs whose work only others submit there are none.
struct Timeline {
  Index process = 0;
  std::vector<Index> calls;  // in order of begin
};

struct Timing {
  std::vector<CallTiming> calls;    // by call
  std::vector<WorkTiming> works;    // by work
  std::vector<Timeline> timelines;  // by their first call
  std::vector<Index> timeline_of;   // by thread; kNone: no calls
  // Submissions that fit into a stream before a call must wait; none: never reached.
  std::optional<std::uint32_t> depth;
};

// Alone and unchanged, each work begins at the later of
//   (begin of its call) + launch  and  (end of what it follows) + behind,
// and each call ends at the later of
//   (begin) + own  and  (end of what it waits for) + wake,
// as recorded, except for contradictions within the error of CUPTI's clocks. The recording shows one time of
// each pair. The other is the median over works and calls of its kind that show it, as far as that does not
// contradict the recording.
Timing take_apart(const Recording& recording);

// GPU time of work that is submitted between the begin of the first job after the warm-up and the end of the
// last one, but belongs to none and is not played: that of timelines without jobs, and that before the first
// job of a timeline or behind its last.
Duration unplayed_work(const Recording& recording, const std::vector<Index>& timeline_of);

}  // namespace gangway::recording
