// Before a run: programs are started and warm, and what their jobs take alone is measured.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "hw/live/alone_times.hpp"
#include "hw/live/live_session.hpp"
#include "hw/live/monotonic.hpp"
#include "models/placing.hpp"
#include "models/run/client_run.hpp"

namespace gangway::live {
namespace {

constexpr Duration kStarting{600'000'000'000};  // for a program to become warm
constexpr Duration kMeasuring{3'000'000'000};   // what jobs take alone, at most; and
constexpr Duration kEnough{500'000'000};        // with
constexpr std::size_t kManyJobs = 200;          // of them
constexpr Duration kFirstJob{60'000'000'000};   // for the first of them to end

bool same_pace(const Repeat& a, const Repeat& b) {
  const auto rate = [](const Repeat& repeat) {
    return repeat.arrivals ? std::optional(repeat.arrivals->rate) : std::nullopt;
  };
  const auto times = [](const Repeat& repeat) {
    return repeat.arrivals && repeat.arrivals->times ? *repeat.arrivals->times : std::vector<Duration>();
  };
  return a.period == b.period && a.think == b.think && a.releases == b.releases && rate(a) == rate(b) &&
         times(a) == times(b);
}

}  // namespace

// By the driver's time slices, or by MPS, of which a program must be a client from its start; and whether its
// kernels can take forms, which it must know from its start, too.
void LiveSession::share(const WorldSetup& setup, const std::atomic<bool>& stop) {
  const bool mps = setup.device.arbitration == Arbitration::mps;
  if (mps == (mps_ != nullptr) && setup.takes_forms == takes_forms_) return;
  for (auto& [name, member] : members_) {
    programs_->end(name);
    while (member.client != nullptr && !stop) turn();
  }
  takes_forms_ = setup.takes_forms;
  daemon_->make_programs_ready_for_forms(takes_forms_);
  programs_->give({});
  mps_.reset();
  if (!mps) return;
  mps_ = MpsDaemon::start();
  if (mps_ == nullptr)
    throw RunError("device.arbitration: mps: no control daemon (nvidia-cuda-mps-control -d) can be started");
  programs_->give(mps_->environment());
}

bool LiveSession::prepare(const WorldSetup& setup, Workload& workload, const std::atomic<bool>& stop) {
  share(setup, stop);
  warm_up(workload, stop);
  for (std::uint32_t c = 0; c < workload.clients.size(); ++c) {
    Client& client = workload.clients[c];
    Member& member = members_.at(client.name);
    if (!stop && (!member.alone || !(member.measured == *client.command) ||
                  !same_pace(member.measured_at, client.repeat))) {
      member.alone = measure(setup, c, stop);
      member.measured = *client.command;
      member.measured_at = client.repeat;
    }
    client.alone = member.alone;
  }
  // A short program can have ended by that.
  warm_up(workload, stop);
  return !stop;
}

void LiveSession::warm_up(const Workload& workload, const std::atomic<bool>& stop) {
  // Who does not take part would be a client all the same, with turns of its own.
  for (auto& [name, member] : members_)
    if (std::none_of(workload.clients.begin(), workload.clients.end(),
                     [&](const Client& client) { return client.name == name; })) {
      programs_->end(name);
      while (member.client != nullptr && !stop) turn();
    }
  std::deque<const Client*> cold;
  for (std::uint32_t c = 0; c < workload.clients.size(); ++c) {
    const Client& client = workload.clients[c];
    Member& member = members_[client.name];
    const std::optional<unsigned> gpu = gpu_for(client, c);
    LivePrograms::End end;
    if (programs_->ended(client.name, end) && !end.well && !std::exchange(member.killed, false))
      fail(client.name, end, "between two runs");
    if (programs_->runs(client.name) && member.client != nullptr &&
        programs_->command(client.name) == *client.command && member.gpu == gpu)
      continue;
    programs_->end(client.name);
    while (member.client != nullptr && !stop) turn();  // until the daemon has seen it
    member.warming = true;
    programs_->start(client.name, *client.command, member.gpu = gpu);
    cold.push_back(&client);
  }
  if (cold.empty()) return;
  open_to_all();
  const std::int64_t began = monotonic_ns();
  while (!cold.empty() && !stop) {
    turn();
    const Client& client = *cold.front();
    Member& member = members_.at(client.name);
    const std::uint64_t jobs = member.client != nullptr ? member.client->jobs_begun() : 0;
    const std::uint64_t skip = client.command->skip;
    LivePrograms::End end;
    if (programs_->ended(client.name, end))
      fail(client.name, end, fmt::format("before it was warm, after {} of {} jobs", jobs, skip));
    if (monotonic_ns() - began > kStarting.ns)
      throw RunError(fmt::format("{}: it is not warm after {}: {} of {} jobs (skip) have ended; {}",
                                 client.name, to_text(kStarting), jobs, skip, kWhatEndsAJob));
    if (jobs > skip || (skip == 0 && member.client != nullptr)) {
      member.client->hold();
      member.warming = false;
      cold.pop_front();
    } else if (cold.size() > 1) {
      cold.push_back(cold.front());
      cold.pop_front();
    }
  }
  for (const Client* client : cold) members_.at(client->name).warming = false;
  settle(workload, kFirstJob);
}

std::optional<unsigned> LiveSession::gpu_for(const Client& client, std::uint32_t number) const {
  if (gpus_.size() == 1 || placing_ != Placing::fixed) return std::nullopt;
  return gpus_[placed_in_turn(client.gpus, number, static_cast<std::uint32_t>(gpus_.size())).index].number;
}

// Until every program waits between two jobs; those that do not come there are ended.
void LiveSession::settle(const Workload& workload, Duration limit) {
  const std::int64_t began = monotonic_ns();
  for (const Client& client : workload.clients) {
    Member& member = members_.at(client.name);
    while (member.client != nullptr && (member.client->in_job() || !member.client->look().drained())) {
      member.client->ask();
      turn();
      if (monotonic_ns() - began > limit.ns) programs_->end(client.name);
    }
  }
}

// Releases a client's jobs at its pace until it has gone or that is enough.
void LiveSession::release(const WorldSetup& setup, std::uint32_t index, const std::atomic<bool>& stop,
                          const std::function<bool(const LiveReleases&)>& enough) {
  Member& member = members_.at(setup.workload.clients[index].name);
  LiveReleases releases(setup, ClientId{index}, {}, {});
  releases.begin(*member.client, monotonic_ns());
  while (member.client != nullptr && !stop && !enough(releases)) {
    releases.look(*member.client, Time{}, Time::max());
    turn();
  }
  if (member.client != nullptr) member.client->hold();
}

// Its memory may have left for others': it comes back with one job, which is not measured.
void LiveSession::bring_memory(const WorldSetup& setup, std::uint32_t index, const std::atomic<bool>& stop) {
  const Member& member = members_.at(setup.workload.clients[index].name);
  const std::int64_t began = monotonic_ns();
  const std::uint64_t over = member.client->jobs_over();
  release(setup, index, stop, [&](const LiveReleases&) {
    return member.client->jobs_over() != over || monotonic_ns() - began > kFirstJob.ns;
  });
  settle(setup.workload, kFirstJob);
}

// At the pace at which its jobs will be released, since a GPU that was idle may be slower. A job takes from
// when it could begin.
AloneTimes LiveSession::measure(const WorldSetup& setup, std::uint32_t index, const std::atomic<bool>& stop) {
  const Client& client = setup.workload.clients[index];
  const Member& member = members_.at(client.name);
  if (moves_memory_ && member.client != nullptr && member.client->memory().away != 0) {
    bring_memory(setup, index, stop);
    warm_up(setup.workload, stop);  // a short program can have ended by that
    if (stop) return {};
  }
  if (member.client == nullptr)
    throw RunError(client.name + ": its program ended before its time alone was measured");
  std::vector<LiveClient::JobTimes> times;
  const std::int64_t began = monotonic_ns();
  std::uint64_t next = member.client->jobs_over();
  release(setup, index, stop, [&](const LiveReleases& releases) {
    for (const std::uint64_t over = member.client->jobs_over(); next < over; ++next)
      if (const auto job = member.client->job(next)) times.push_back(*job);
    const Duration most = times.empty() ? kFirstJob : times.size() < kManyJobs ? kMeasuring : kEnough;
    return releases.through(times.size()) || monotonic_ns() - began > most.ns;
  });
  if (stop) return {};
  if (times.empty())
    throw RunError(fmt::format("{}: none of its jobs ended within {}; {}", client.name, to_text(kFirstJob),
                               kWhatEndsAJob));
  settle(setup.workload, kFirstJob);
  return alone_times(times, has_own_pace(client));
}

}  // namespace gangway::live
