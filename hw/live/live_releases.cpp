#include "hw/live/live_releases.hpp"

namespace gangway::live {

LiveReleases::LiveReleases(const WorldSetup& setup, ClientId id, const RunSeed& seed, Time first)
    : run_(setup, id, ClientRun::Form::original), first_(first) {
  const Repeat& repeat = run_.client().repeat;
  timed_ = repeat.period || repeat.arrivals || !repeat.releases.empty();
  if (repeat.jobs) jobs_ = *repeat.jobs;
  run_.reset(seed, first);
  if (timed_) next_ = run_.next_release();
}

void LiveReleases::begin(LiveClient& client, std::int64_t origin) {
  origin_ = origin;
  client.hold();  // as of now: its count is that of the next job
  if (timed_) return;
  const std::uint64_t before = client.jobs_begun();
  client.release_from(origin_ + (first_ - Time{}).ns, run_.client().repeat.think.value_or(Duration{}));
  client.release_until(jobs_ ? before + *jobs_ : UINT64_MAX);
}

void LiveReleases::look(LiveClient& client, Time now, Time until) {
  if (timed_) {
    while (next_ && *next_ <= until) {
      if (!client.release_at(origin_ + (*next_ - Time{}).ns)) return;
      told_.push_back(*next_);
      next_ = run_.next_release();
    }
    next_.reset();
  } else if (const auto leave = run_.client().leave; leave && !left_ && now >= Time{} + *leave) {
    left_ = true;
    client.hold();
  }
}

std::vector<Time> LiveReleases::all(Time end) {
  std::vector<Time> times = told_;
  for (; next_ && *next_ <= end; next_ = run_.next_release()) times.push_back(*next_);
  return times;
}

bool LiveReleases::through(std::uint64_t over) const {
  if (left_) return true;
  if (timed_) return !next_ && over >= told_.size();
  return jobs_ && over >= *jobs_;
}

}  // namespace gangway::live
