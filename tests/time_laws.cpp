#include "tests/time_laws.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace gangway::testing {

void TimeAccount::blocks(const BlockSpan& span) {
  spans_[span.launch].push_back({span.began, span.began + Duration{span.waves * span.length.ns}});
}

// Of the union.
Duration TimeAccount::length(Intervals intervals) {
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.from < b.from; });
  Duration length;
  Time covered;
  for (const Interval& i : intervals) {
    const Time from = std::max(i.from, covered);
    if (i.until > from) length += i.until - from;
    covered = std::max(covered, i.until);
  }
  return length;
}

// Blocks have room until `block_end` after they end, but no launch outlasts its last block, and none keeps
// room while its blocks are stopped. Of launches whose blocks nobody tells, `stays` are when they were not
// paused.
TimeAccount::Intervals TimeAccount::of_launch(LaunchId launch, const Intervals& stays, Time until,
                                              Duration block_end) const {
  const auto spans = spans_.find(launch);
  if (spans == spans_.end()) return stays;
  Intervals out = spans->second;
  for (Interval& i : out) {
    const Time ended = i.until;
    i.until = std::min(i.until + block_end, until);
    for (const Interval& stay : stays)
      if (stay.until >= ended) i.until = std::min(i.until, stay.until);
  }
  return out;
}

TimeAccount::Busy TimeAccount::busy(const Device& device) const {
  struct Launch {
    JobId job;
    std::uint8_t gpu = 0;
    std::optional<Time> since;  // none: paused
    Intervals stays;
    void pause(Time now) {
      if (since) stays.push_back({*since, now});
      since.reset();
    }
  };
  Busy busy;
  std::map<LaunchId, Launch> launches;
  std::map<std::pair<JobId, CopyDirection>, std::vector<Time>> copies;
  const auto close = [&](LaunchId id, Time until) {
    Launch& launch = launches.at(id);
    launch.pause(until);
    for (const Interval& i : of_launch(id, launch.stays, until, device.delays.block_end)) {
      busy.launches[launch.job].push_back(i);
      busy.gpus[launch.gpu].push_back(i);
    }
    launches.erase(id);
  };
  for (const Record& r : records_) {
    if (r.mark == Mark::started) launches[r.launch] = {r.job, r.gpu, r.time, {}};
    if (r.mark == Mark::paused && launches.contains(r.launch)) launches.at(r.launch).pause(r.time);
    if (r.mark == Mark::resumed && launches.contains(r.launch)) launches.at(r.launch).since = r.time;
    if (r.mark == Mark::gone && launches.contains(r.launch)) close(r.launch, r.time);
    if (r.mark == Mark::killed || r.mark == Mark::ended)
      for (auto launch = launches.begin(); launch != launches.end();) {
        const auto [id, what] = *launch++;
        if (r.mark == Mark::ended && (spans_.contains(id) || !spans_.empty())) busy.whole = false;
        if (r.mark == Mark::ended || what.job == r.job) close(id, r.time);
      }
    if (!r.program_copy) continue;
    if (r.mark == Mark::copy_begins) copies[{r.job, r.direction}].push_back(r.time);
    if (r.mark == Mark::copy_ends) {
      auto& begun = copies.at({r.job, r.direction});
      busy.copies[r.job].push_back({begun.front(), r.time});
      begun.erase(begun.begin());
    }
  }
  return busy;
}

std::string TimeAccount::broken_law(const std::vector<JobResult>& jobs, const RunTotals& totals,
                                    const Device& device) const {
  if (!(totals.utilisation() >= 0 && totals.utilisation() <= 1))
    return fmt::format("a utilisation of {}", totals.utilisation());
  Busy busy = this->busy(device);
  Time last;
  bool all_over = true;
  for (const JobResult& job : jobs) {
    last = std::max(last, job.over);
    all_over = all_over && job.outcome != Outcome::unfinished;
    if (!job.finish) continue;
    Intervals any = busy.launches[job.id];
    const Duration executing = length(any);
    any.insert(any.end(), busy.copies[job.id].begin(), busy.copies[job.id].end());
    const Duration used = length(any);
    const auto differs = [&](const char* what, Duration told, Duration counted) {
      return fmt::format("client {} job {}: {} {} ns, by intervals {} ns", job.id.client.index, job.id.number,
                         what, told.ns, counted.ns);
    };
    if (job.executing != executing) return differs("executing", job.executing, executing);
    if (job.copying != used - executing) return differs("copying", job.copying, used - executing);
    if (job.waiting() != job.response() - used)
      return differs("waiting", job.waiting(), job.response() - used);
    if (job.waiting() < Duration{}) return differs("waiting", job.waiting(), {});
  }
  if (all_over && !jobs.empty() && totals.end != last)
    return fmt::format("a window until {} ns, with the last job over at {} ns", totals.end.ns, last.ns);
  Duration executing;
  for (const auto& [gpu, intervals] : busy.gpus) executing += length(intervals);
  if (busy.whole ? totals.executing != executing : totals.executing < executing)
    return fmt::format("GPUs busy for {} ns, by intervals {} ns", totals.executing.ns, executing.ns);
  return "";
}

}  // namespace gangway::testing
