#include "hw/live/live_session.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <utility>

#include "hw/live/alone_times.hpp"
#include "hw/live/monotonic.hpp"
#include "hw/live/runtime_folder.hpp"
#include "models/recorded.hpp"
#include "models/run/client_run.hpp"
#include "models/run/job_book.hpp"

namespace gangway::live {
namespace {

namespace fs = std::filesystem;

constexpr Duration kStart{20'000'000};          // from the orders for a run to its time 0
constexpr Duration kStarting{600'000'000'000};  // for a program to become warm
constexpr Duration kMeasuring{3'000'000'000};   // what jobs take alone, at most; and
constexpr Duration kEnough{500'000'000};        // with
constexpr std::size_t kManyJobs = 200;          // of them
constexpr Duration kFirstJob{60'000'000'000};   // for the first of them to end
constexpr const char* kWhatEndsAJob =
    "a job ends with a call that waits for the GPU and leaves nothing outstanding";

std::string made_folder() {
  std::string folder = own_folder() + "/run.XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) throw RunError(folder + ": no folder can be made");
  return folder;
}

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

std::shared_ptr<Policy> nobody() {
  const PolicyEntry& entry = Policies::named("passthrough", "live", "policy");
  const Node none = parse_yaml("{}", "live");
  return entry.make(ParameterValues(entry.parameters, Field(none, entry.name)));
}

}  // namespace

// --- One run

class LiveSession::Run {
 public:
  Run(LiveSession& session, const Play& play)
      : session_(session), play_(play), clients_(play.setup.workload.clients), needs_(play.policy.needs()) {}

  std::vector<Record> records() {
    begin();
    const Time horizon = play_.setup.horizon;
    Time end = now();
    while ((end = now()) < horizon && !over()) {
      if (play_.sink.stopped()) return {};
      session_.turn();
      look();
    }
    end = std::min(end, horizon);
    session_.hold_all();
    look();
    return live_trace(histories(end), sharing(), end);
  }

  void left(const LiveClient& client, Member& member) {
    collect(member);
    LiveHistory& history = member.history;
    if (client.in_job()) {
      const std::uint64_t number = client.jobs_over() - member.base;
      if (LiveJob* job = number_of(member, number, client)) {
        job->over = now();
        job->killed = member.killed;
      }
    }
    if (!history.spans.empty() && !history.spans.back().shut) history.spans.back().shut = now();
    member.out = true;
  }

  void step(Time at, Step step, Member& member) {
    std::vector<GateSpan>& spans = member.history.spans;
    const Time time = at + Duration{session_.daemon_->origin() - origin_};
    const bool open = !spans.empty() && !spans.back().shut;
    switch (step) {
      case Step::permitted:
        if (!open) spans.push_back({time, {}, {}});
        return;
      case Step::evicted:
        if (open) spans.back().evicted = time;
        return;
      case Step::closed:
        if (!play_.setup.granting.overlap || needs_.has(Capability::access)) return;
        [[fallthrough]];
      case Step::drained:
        if (open) spans.back().shut = time;
        return;
      case Step::killed:
        member.killed = true;
        return;
      default:
        return;
    }
  }

 private:
  Time now() const { return Time{} + Duration{monotonic_ns() - origin_}; }
  Member& member(std::size_t c) { return session_.members_.at(clients_[c].name); }

  Sharing sharing() const {
    if (needs_.has(Capability::access)) return Sharing::accessed;
    return needs_.has(Capability::native) ? Sharing::free : Sharing::granted;
  }

  void begin() {
    for (std::size_t c = 0; c < clients_.size(); ++c) {
      const Client& client = clients_[c];
      Member& of = member(c);
      of.history = {};
      of.out = of.killed = false;
      of.base = of.taken = of.client->jobs_begun();
      of.history.alone = standalone_of(play_.setup, client);
      of.history.priority = client.priority;
      Introduction& introduction = of.client->introduction;
      introduction.priority = client.priority;
      introduction.weight = client.weight;
      introduction.slo = client.slo;
      introduction.attributes = &client.attributes;
      introduction.alone = of.history.alone;
      if (client.recorded && client.recorded->busy_unknown) introduction.alone.reset();
    }
    const Granting& granting = play_.setup.granting;
    GateSettings gate;
    gate.in_flight = static_cast<std::uint32_t>(granting.in_flight);
    gate.overlap = granting.overlap;
    gate.linger = granting.idle;
    origin_ = monotonic_ns() + kStart.ns;
    play_.policy.seed({play_.seed.seed, "policy", {play_.seed.replication, play_.seed.permutation}});
    session_.run_ = this;
    session_.daemon_->play("live", std::shared_ptr<Policy>(std::shared_ptr<void>(), &play_.policy), gate);
    for (std::size_t position = 0; position < play_.order.size(); ++position) {
      const std::uint32_t c = play_.order[position];
      const Time first = first_release(play_.setup.workload, clients_[c], position);
      LiveReleases& releases =
          releases_.emplace(c, LiveReleases(play_.setup, ClientId{c}, play_.seed, first)).first->second;
      releases.begin(*member(c).client, origin_);
      releases.look(*member(c).client, Time{}, play_.setup.horizon);
    }
  }

  void look() {
    const Time at = now();
    for (auto& [c, releases] : releases_) {
      Member& of = member(c);
      if (of.out) continue;
      collect(of);
      releases.look(*of.client, at, play_.setup.horizon);
    }
    if (at - looked_ < Duration{50'000'000}) return;
    looked_ = at;
    watch_programs(at);
  }

  // Those that have ended, and those whose jobs do not end.
  void watch_programs(Time at) {
    for (std::size_t c = 0; c < clients_.size(); ++c) {
      Member& of = member(c);
      LivePrograms::End end;
      if (session_.programs_->ended(clients_[c].name, end)) {
        if (!end.well && !of.killed)
          session_.fail(
              clients_[c].name, end,
              fmt::format("at {} of a run, after {} jobs", to_text(at - Time{}), of.history.jobs.size()));
        of.out = true;
      }
      if (of.out) continue;
      const std::size_t jobs = of.history.jobs.size() + (of.client->in_job() ? 1 : 0);
      if (jobs != progress_[c].first || !of.client->in_job() || !gate_open(of)) progress_[c] = {jobs, at};
      if (at - progress_[c].second > play_.setup.watchdog)
        throw RunError(fmt::format("{}: a job has not ended within {} (watchdog); {}", clients_[c].name,
                                   to_text(play_.setup.watchdog), kWhatEndsAJob));
    }
  }
  bool gate_open(const Member& member) const {
    return sharing() == Sharing::free || (!member.history.spans.empty() && !member.history.spans.back().shut);
  }

  void collect(Member& of) {
    const std::uint64_t over = of.client->jobs_over();
    if (over - of.taken >= kJobs) throw RunError("jobs ended faster than they could be counted");
    for (; of.taken < over; ++of.taken) number_of(of, of.taken - of.base, *of.client);
  }

  // The job's history as its page has it now.
  LiveJob* number_of(Member& of, std::uint64_t number, const LiveClient& client) {
    const auto times = client.job(of.base + number);
    std::vector<LiveJob>& jobs = of.history.jobs;
    if (jobs.size() <= number) jobs.resize(number + 1, jobs.empty() ? LiveJob{} : jobs.back());
    LiveJob& job = jobs[number];
    const Time before = number > 0 && jobs[number - 1].over ? *jobs[number - 1].over : Time{};
    if (!times || times->arrived == 0) {  // nothing of it was ever submitted
      job = {before, before, before};
      return &job;
    }
    const auto at = [&](std::int64_t ns) { return Time{} + Duration{ns - origin_}; };
    job = {at(times->arrived), at(times->begun != 0 ? times->begun : times->arrived), {}};
    if (times->begun == 0 && times->ended == 0) job.begun.reset();
    if (times->ended != 0) job.over = std::max(at(times->ended), *job.begun + Duration{1});
    return &job;
  }

  bool over() const {
    return std::all_of(releases_.begin(), releases_.end(), [&](const auto& of_client) {
      const Member& of = session_.members_.at(clients_[of_client.first].name);
      return of.out || (!of.client->in_job() && of_client.second.through(of.history.jobs.size()));
    });
  }

  std::vector<LiveHistory> histories(Time end) {
    std::vector<LiveHistory> all;
    for (std::uint32_t c = 0; c < clients_.size(); ++c) {
      Member& of = member(c);
      if (!of.out && of.client->in_job() && of.client->jobs_begun() > of.base)
        number_of(of, of.client->jobs_over() - of.base, *of.client);
      // Requests that came while it was busy.
      const std::vector<Time> told = releases_.at(c).all(end);
      for (std::size_t j = of.history.jobs.size(); j < told.size() && told[j] <= end; ++j)
        of.history.jobs.push_back({told[j], {}, {}});
      all.push_back(std::move(of.history));
    }
    return all;
  }

  LiveSession& session_;
  const Play& play_;
  const std::vector<Client>& clients_;
  const Capabilities needs_;
  std::int64_t origin_ = 0;  // of the run, CLOCK_MONOTONIC
  std::map<std::uint32_t, LiveReleases> releases_;
  std::map<std::size_t, std::pair<std::size_t, Time>> progress_;  // jobs, and since when
  Time looked_;
};

// --- The session

LiveSession::LiveSession() : folder_(made_folder()) {
  DaemonSettings settings;
  settings.socket = folder_ + "/socket";
  settings.out = nullptr;
  daemon_ = std::make_unique<Daemon>("passthrough", nobody(), settings, this);
  programs_ = std::make_unique<LivePrograms>(settings.socket, folder_);
}

LiveSession::~LiveSession() {
  open_to_all();
  programs_.reset();
  daemon_.reset();
  std::error_code failed;
  fs::remove_all(folder_, failed);
}

void LiveSession::came(LiveClient& client) {
  const auto member = members_.find(client.name());
  if (member == members_.end()) return;
  if (member->second.client != nullptr) {
    further_ = client.name();
    return;
  }
  member->second.client = &client;
  if (!member->second.warming) client.hold();
}

void LiveSession::left(const LiveClient& client) {
  for (auto& [name, member] : members_)
    if (member.client == &client) {
      if (run_ != nullptr) run_->left(client, member);
      member.client = nullptr;
    }
}

void LiveSession::step(Time now, Step step, ClientId client) {
  if (run_ == nullptr) return;
  for (auto& [name, member] : members_)
    if (member.client != nullptr && member.client->id == client) run_->step(now, step, member);
}

void LiveSession::hold_all() {
  for (auto& [name, member] : members_)
    if (member.client != nullptr) member.client->hold();
}

void LiveSession::turn() {
  daemon_->turn(Duration{2'000'000});
  const std::string name = std::exchange(further_, {});
  if (name.empty()) return;
  programs_->end(name);  // or the next run would have both, and nobody would say so
  throw RunError(name +
                 ": a second process of its program uses the GPU; a client is one process in the world live");
}

void LiveSession::open_to_all() { daemon_->play("passthrough", nobody(), {}); }

void LiveSession::fail(const std::string& name, const LivePrograms::End& end, const std::string& when) {
  throw RunError(fmt::format("{}: its program ended with {} {}{}", name, end.how, when,
                             end.last.empty() ? std::string() : "; its last line: " + end.last));
}

// By the driver's time slices, or by MPS, of which a program must be a client from its start.
void LiveSession::share(const WorldSetup& setup, const std::atomic<bool>& stop) {
  const bool wanted = setup.device.arbitration == Arbitration::mps;
  if (wanted == (mps_ != nullptr)) return;
  for (auto& [name, member] : members_) {
    programs_->end(name);
    while (member.client != nullptr && !stop) turn();
  }
  programs_->give({});
  mps_.reset();
  if (!wanted) return;
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
  for (const Client& client : workload.clients) {
    Member& member = members_[client.name];
    LivePrograms::End end;
    if (programs_->ended(client.name, end) && !end.well && !std::exchange(member.killed, false))
      fail(client.name, end, "between two runs");
    if (programs_->runs(client.name) && member.client != nullptr &&
        programs_->command(client.name) == *client.command)
      continue;
    programs_->end(client.name);
    while (member.client != nullptr && !stop) turn();  // until the daemon has seen it
    member.warming = true;
    programs_->start(client.name, *client.command);
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

// At the pace at which its jobs will be released, since a GPU that was idle may be slower. A job takes from
// when it could begin.
AloneTimes LiveSession::measure(const WorldSetup& setup, std::uint32_t index, const std::atomic<bool>& stop) {
  const Client& client = setup.workload.clients[index];
  Member& member = members_.at(client.name);
  if (member.client == nullptr)
    throw RunError(client.name + ": its program ended before what it takes alone was measured");
  std::vector<LiveClient::JobTimes> times;
  const std::int64_t began = monotonic_ns();
  std::uint64_t next = member.client->jobs_over();
  LiveReleases releases(setup, ClientId{index}, {}, {});
  releases.begin(*member.client, began);
  while (member.client != nullptr && !stop) {
    const std::int64_t passed = monotonic_ns() - began;
    if (passed > (times.empty() ? kFirstJob : times.size() < kManyJobs ? kMeasuring : kEnough).ns) break;
    releases.look(*member.client, Time{}, Time::max());
    turn();
    if (member.client == nullptr) break;
    for (const std::uint64_t over = member.client->jobs_over(); next < over; ++next)
      if (const auto job = member.client->job(next)) times.push_back(*job);
    if (releases.through(times.size())) break;
  }
  if (member.client != nullptr) member.client->hold();
  if (stop) return {};
  if (times.empty())
    throw RunError(fmt::format("{}: none of its jobs ended within {}; {}", client.name, to_text(kFirstJob),
                               kWhatEndsAJob));
  settle(setup.workload, kFirstJob);
  return alone_times(times, has_own_pace(client));
}

std::vector<Record> LiveSession::play(const Play& play) {
  static const std::atomic<bool> go_on{false};
  share(play.setup, go_on);
  warm_up(play.setup.workload, go_on);  // whoever has ended in the run before
  Run run(*this, play);
  const auto leave = [&] {
    run_ = nullptr;
    hold_all();
    open_to_all();
  };
  try {
    std::vector<Record> records = run.records();
    leave();
    settle(play.setup.workload, play.setup.watchdog);
    return records;
  } catch (...) {
    leave();
    settle(play.setup.workload, play.setup.watchdog);
    throw;
  }
}

}  // namespace gangway::live
