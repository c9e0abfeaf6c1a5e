#include "sim/event_world.hpp"

#include <fmt/format.h>

namespace gangway {
namespace {

constexpr int kMostRounds = 100'000;
constexpr std::size_t kMostTimers = 1'000'000;  // an event's index has room for a few more
constexpr std::uint32_t kMostTimerOnlyInstants = 1'000'000;
constexpr std::uint64_t kInstantsPerLook = 4096;  // whether anybody wants the rest of the run

}  // namespace

EventWorld::EventWorld(const WorldSetup& setup)
    : setup_(setup),
      book_(setup_),
      guard_(static_cast<Orders&>(*this), [this](const std::string& what) { return story(what); }) {
  if (setup_.granting.of == GrantOf::job || plays_recordings(setup_.workload))
    grants_.emplace(setup_.workload.clients.size(), static_cast<std::uint32_t>(setup_.device.gpus),
                    std::nullopt, setup_.granting.of);
  for (const Client& client : setup_.workload.clients) standalone_.push_back(standalone_of(setup_, client));
}

std::uint64_t EventWorld::run(Policy& policy, const RunSeed& seed, std::span<const std::uint32_t> order,
                              TraceSink& trace) {
  guard_.begin(policy, setup_.watch, setup_.workload.clients.size());
  journal_.begin(trace);
  queue_.clear();
  book_.reset();
  timers_.reset();
  facts_.clear();
  delivering_.clear();
  now_ = {};
  timer_events_ = 0;
  open_jobs_ = 0;
  open_.assign(setup_.workload.clients.size(), {});
  timer_only_instants_ = 0;
  reset(policy, seed, order);
  guard_.seed({seed.seed, "policy", {seed.replication, seed.permutation}});
  guard_.tell_and_decide(now_, {}, view());  // before anything happens
  std::uint64_t events = 0, instants = 0;
  while (!queue_.empty() && queue_.next_time() <= setup_.horizon) {
    now_ = queue_.next_time();
    events += play_instant();
    if (++instants % kInstantsPerLook == 0 && trace.stopped()) break;
    if (queue_.size() > timer_events_)
      timer_only_instants_ = 0;
    else if (only_timers())
      break;
  }
  check_all_over();
  // Jobs that nothing can end any more are older at the horizon than at the last event.
  if (!queue_.empty() || (open_jobs_ > 0 && setup_.horizon < Time::max())) now_ = setup_.horizon;
  over();
  note({.time = now_, .mark = Mark::ended});
  return events;
}

std::uint64_t EventWorld::push(Time time, std::uint32_t kind, std::uint32_t index) {
  if (time > kEndOfClock) stop("an event more than 126 years after the start, beyond the clock");
  return queue_.push(time, kind | (index << kKindBits));
}

TimerId EventWorld::wake_at(Time time) {
  if (time < now_) impossible(fmt::format("a timer at {} ns, in the past", time.ns));
  if (timer_events_ == kMostTimers) impossible(fmt::format("more than {} timers at once", kMostTimers));
  const TimerId timer = timers_.set([&](std::uint32_t slot) { return push(time, kTimer, slot); });
  ++timer_events_;
  return timer;
}

void EventWorld::cancel(TimerId timer) {
  if (!timers_.known(timer)) impossible("the end of an unknown timer");
  timers_.cancel(timer);
}

// A run that has a horizon ends there at the latest.
bool EventWorld::only_timers() {
  if (queue_.empty() || setup_.horizon < Time::max() || ++timer_only_instants_ < kMostTimerOnlyInstants)
    return false;
  if (open_jobs_ == 0) return true;
  stop(fmt::format("the policy has set timers {} times in a row while {} {} and nothing else can happen",
                   timer_only_instants_, open_jobs_, open_jobs_ == 1 ? "job waits" : "jobs wait"));
}

void EventWorld::job_over(JobId job) {
  --open_jobs_;
  ClientJobs& open = open_[job.client.index];
  if (job.number != open.first) {
    open.over.insert(job.number);
    return;
  }
  do ++open.first;
  while (open.over.erase(open.first) > 0);
}

void EventWorld::check_all_over() const {
  if (open_jobs_ == 0 || !queue_.empty() || setup_.horizon < Time::max()) return;
  const auto fail = [&](const Client& client, std::uint32_t job, const char* what) {
    throw RunError(
        fmt::format("client {}: job {} {}, and nothing else can happen after {} ns: such a run needs a "
                    "`horizon`",
                    client.name, job, what, now_.ns));
  };
  // Who waits for a job that never ends is not to blame.
  for (const bool endless : {true, false})
    for (std::size_t c = 0; c < open_.size(); ++c) {
      const Client& client = setup_.workload.clients[c];
      if (open_[c].first == open_[c].released) continue;
      if (!endless) fail(client, open_[c].first, "is not over");
      for (const Kernel& kernel : client.kernels)
        if (kernel.never_ends && open_[c].first >= *kernel.never_ends)
          fail(client, open_[c].first, "never ends");
    }
}

void EventWorld::note_release(const ClientRun& client) {
  note({.time = now_,
        .amount = standalone_[client.id().index].ns,
        .job = client.last_released(),
        .priority = client.priority_of(client.last_released()),
        .mark = Mark::released});
}

void EventWorld::count_round(int& rounds) const {
  if (++rounds > kMostRounds) impossible("the same instant endlessly");
}

void EventWorld::tell_and_decide() {
  if (facts_.size() > 1) sort_for_telling(facts_);
  delivering_.swap(facts_);  // orders may bring new ones
  guard_.tell_and_decide(now_, delivering_, view());
  delivering_.clear();
}

void EventWorld::impossible(const std::string& what) const { stop("the policy ordered " + what); }

void EventWorld::stop(const std::string& what) const { throw RunError(story(what)); }

void EventWorld::refuse_backlog(const Record& release) const {
  throw RunError(fmt::format("at {} more than {} released jobs are unfinished, the latest of client {}",
                             to_text(release.time - Time{}), kMostOpenJobs,
                             setup_.workload.clients[release.job.client.index].name));
}

std::string EventWorld::story(const std::string& what) const {
  return journal_.history().text(now_, what, setup_.workload);
}

}  // namespace gangway
