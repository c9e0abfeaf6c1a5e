// Cutting a recording into jobs.
#pragma once

#include <cstdint>
#include <string>

#include "models/recording/recording.hpp"

namespace gangway::recording {

// `sync`: from a thread's first submission to its synchronising call, or successful query, that leaves
// nothing outstanding on the streams it used. What such a call covers is worked out from streams and events
// alone, so that a program is cut in the same way each time. Copies from the device that the host waits for
// are such calls; others are not, as the host may go on before they are over. A thread that never
// synchronises is cut after 10 ms of device time each. `nvtx`: ranges of a name, on any thread. To a range
// belong the calls of its thread while it is open, and those of its process's other threads that have no such
// range open themselves. `whole`: the program, from its first submission to the end of its last.
struct JobRule {
  JobKind kind = JobKind::sync;
  std::string range;  // of nvtx: its name, or DOMAIN/NAME; a * at its end stands for anything
  std::uint32_t skip = 0;
};

inline constexpr Duration kDeviceTimeOfCut{10'000'000};

// sync, nvtx:NAME or whole. InputError for anything else.
JobRule read_job_rule(const std::string& text);
std::string to_text(const JobRule& rule);

// Fills in the jobs and to which of them each call belongs. Those that were there before are forgotten. Work
// behind the last job, or between two, belongs to none.
void cut_jobs(Recording& recording, const JobRule& rule);

// Whether ranges of that name are jobs by the rule of nvtx.
bool is_job(const RangeName& name, const JobRule& rule);

}  // namespace gangway::recording
