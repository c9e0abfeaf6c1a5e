// Divides a recording into jobs.
#pragma once

#include <cstdint>
#include <string>

#include "models/recording/recording.hpp"

namespace gangway::recording {

// `sync`: from a thread's first submission to its synchronising call, or successful query, that leaves
// nothing outstanding on the streams it used. What such a call covers is derived from streams and events
// only, so that every run of a program is cut alike. Device-to-host copies that the host waits for count as
// such calls; other copies do not, because the host may continue first. A thread that never synchronises is
// cut every 10 ms of device time, unless it works for others: then at least nine tenths of its work, by time,
// lie within jobs of its process, and its calls there belong to them. `nvtx`: ranges of a name, on any
// thread, of nested ones the outermost. A range contains the calls of its thread while it is open, and those
// of threads of its process that have no such ranges. `whole`: from the program's first submission to the end
// of its last.
struct JobRule {
  JobKind kind = JobKind::sync;
  std::string range;  // of nvtx: NAME or DOMAIN/NAME; a trailing * matches anything
  std::uint32_t skip = 0;
};

inline constexpr Duration kDeviceTimeOfCut{10'000'000};

// sync, nvtx:NAME or whole. InputError for anything else.
JobRule read_job_rule(const std::string& text);
std::string to_text(const JobRule& rule);

// Sets the jobs and the job of each call, replacing earlier ones. Work after the last job or between two
// belongs to none.
void cut_jobs(Recording& recording, const JobRule& rule);

// Whether ranges of that name are jobs under nvtx.
bool is_job(const RangeName& name, const JobRule& rule);

}  // namespace gangway::recording
