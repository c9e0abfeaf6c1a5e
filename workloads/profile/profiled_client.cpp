#include "workloads/profile/profiled_client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "models/error.hpp"
#include "workloads/profile/beside.hpp"
#include "workloads/profile/kept_stream.hpp"
#include "workloads/profile/profiled_calls.hpp"
#include "workloads/profile/profiled_orders.hpp"
#include "workloads/profile/profiled_rows.hpp"
#include "workloads/profile/profiled_works.hpp"

namespace gangway::profile {
namespace {

namespace rec = recording;

// A program has some hundreds at most.
constexpr std::size_t kMostStreams = 10'000;

// From the first thing that the host did to the last thing of all.
struct Extent {
  std::int64_t first = kLatestTime, last = -kLatestTime;
};

Extent extent_of(const Profile& p, Index process, const std::string& file) {
  Extent extent;
  const auto is_mine = [&](Index thread) { return p.threads[thread].process == process; };
  const auto see = [&](std::int64_t begin, std::int64_t end) {
    extent.first = std::min(extent.first, begin);
    extent.last = std::max(extent.last, end);
  };
  for (const Call& c : p.calls)
    if (is_mine(c.thread)) see(c.begin, c.end);
  for (const Range& range : p.ranges)
    if (is_mine(range.thread)) see(range.begin, range.end.value_or(range.begin));
  for (const MemoryChange& m : p.memory)
    if (m.process == process) see(m.at, m.at);
  std::int64_t earliest = extent.first;  // GPUs' clocks may be a little behind
  for (const Work& w : p.works)
    if (w.process == process) {
      earliest = std::min(earliest, w.begin);
      extent.last = std::max(extent.last, w.end);
    }
  if (extent.last - earliest > kLongestProfile)
    throw InputError({file, 0}, "profile", "times that are more than a year apart", "an undamaged profile");
  return extent;
}

void add_ranges(ProfiledRows& rows) {
  rec::Recording& r = rows.recording();
  for (const Range& range : rows.profile().ranges) {
    if (!rows.is_mine(range.thread)) continue;
    std::optional<Duration> length;
    if (range.end) length = Duration{*range.end - range.begin};
    const Index name = rows.range_name(range.name);
    r.ranges.push_back({name, rows.thread(range.thread), rows.at(range.begin), length});
  }
  std::stable_sort(r.ranges.begin(), r.ranges.end(),
                   [](const rec::Range& a, const rec::Range& b) { return a.begin < b.begin; });
}

void add_memory(ProfiledRows& rows) {
  rec::Recording& r = rows.recording();
  for (const MemoryChange& m : rows.profile().memory)
    if (m.process == rows.process()) r.memory.push_back({rows.at(m.at), rows.gpu(m.gpu), 0, m.kind, m.bytes});
  std::stable_sort(r.memory.begin(), r.memory.end(),
                   [](const rec::MemoryChange& a, const rec::MemoryChange& b) { return a.at < b.at; });
}

// --- What is said of the recording

std::string count_of(std::int64_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

// Works that seem to begin before the calls that submitted them.
std::string early_works(const rec::Recording& r) {
  constexpr Duration kClockError{50'000};
  std::int64_t early = 0;
  Duration most;
  for (const rec::Work& work : r.works) {
    const Duration before = r.calls[work.call].begin - work.begin;
    if (before > kClockError) ++early;
    most = std::max(most, before);
  }
  if (early == 0) return {};
  return fmt::format(
      "{} of {} begin before their calls, by up to {}: the clocks of GPU and host differ, and what is made "
      "of "
      "waits may be wrong",
      early, count_of(static_cast<std::int64_t>(r.works.size()), "submission", "submissions"), to_text(most));
}

std::string trouble_of(const rec::Recording& r, const WorkTime& time, const OpenWaits& waits) {
  std::vector<std::string> all;
  if (std::string early = early_works(r); !early.empty()) all.push_back(std::move(early));
  if (!r.beside.empty())
    all.push_back(
        fmt::format("{:.3g} % of its time on the GPU was beside other work there, so alone it may be shorter",
                    100 * static_cast<double>(time.beside.ns) /
                        static_cast<double>(std::max<std::int64_t>(1, time.all.ns))));
  if (waits.assumed > 0)
    all.push_back("for what " + count_of(waits.assumed, "call waits", "calls wait") +
                  " is not said: the stream is taken to which its thread submitted last");
  if (waits.unknown > 0)
    all.push_back(count_of(waits.unknown, "call waits", "calls wait") +
                  " for something that the profile does not name: it counts as the host's time");
  if (waits.unknown_of_streams > 0)
    all.push_back(count_of(waits.unknown_of_streams, "wait", "waits") +
                  " of streams for events that the profile does not name are left out");
  return fmt::format("{}", fmt::join(all, "; "));
}

void describe(const Profile& p, Index process, const Extent& extent, rec::About& about) {
  about.length = Duration{extent.last - extent.first};
  std::int64_t epoch = 0;
  if (p.epoch && !__builtin_add_overflow(*p.epoch, extent.first, &epoch)) about.origin = epoch;
  about.command = p.processes[process].command;
  about.source = p.source;
  about.lost += p.lost;
  about.cupti = p.about.cupti;
  about.driver = p.about.driver;
  about.cpu = p.about.cpu;
  about.cores = p.about.cores;
  about.system = p.about.system;
}

}  // namespace

rec::Recording record_client(const Profile& profile, Index process,
                             const std::optional<Submitter::OfStream>& stream, const std::string& file) {
  const Extent extent = extent_of(profile, process, file);
  rec::Recording r;
  r.processes = {{profile.processes[process].pid, 0, profile.processes[process].command, Time{}, true}};
  ProfiledRows rows(profile, process, extent.first, r);
  const ProfiledCalls calls(rows);
  std::vector<Index> streams = add_works(rows, calls);
  if (r.streams.size() > kMostStreams)
    throw InputError({file, 0}, "profile", fmt::format("{} streams", r.streams.size()),
                     fmt::format("at most {}", kMostStreams));
  const OpenWaits waits = add_orders(rows, calls);
  add_ranges(rows);
  add_memory(rows);
  if (stream) {
    const Index kept = rows.known_stream(stream->context, stream->number);
    keep_stream(r, kept);
    for (Index& of : streams)
      if (of != kept) of = kNone;
  }
  const WorkTime time = mark_beside(rows, streams);
  describe(profile, process, extent, r.about);
  r.about.trouble = trouble_of(r, time, waits);
  return r;
}

}  // namespace gangway::profile
