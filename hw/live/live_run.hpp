// One run of programs under the session's daemon: releases jobs, reads their times from the client pages, and
// notes when they may not use the device. Only live_session.cpp includes it.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "hw/live/live_session.hpp"
#include "hw/live/monotonic.hpp"
#include "models/recorded.hpp"
#include "models/run/client_run.hpp"
#include "models/run/job_book.hpp"

namespace gangway::live {

inline constexpr Duration kStart{20'000'000};           // from the orders for a run to its time 0
inline constexpr Duration kProgramEnds{1'000'000'000};  // for a program to end after its client

class LiveSession::Run {
 public:
  Run(LiveSession& session, const Play& play)
      : session_(session), play_(play), clients_(play.setup.workload.clients), needs_(play.policy.needs()) {}

  Played play() {
    begin();
    const Time horizon = play_.setup.horizon;
    Time end = now();
    while ((end = now()) < horizon && !over()) {
      if (play_.sink.stopped()) return {};
      session_.turn();
      look();
    }
    end = std::min(end, horizon);
    session_.hold_all();  // nothing is released from now on
    watch_programs(now());
    hear_how_programs_ended();
    std::vector<LiveHistory> all = histories(end);
    return {live_trace(all, sharing(), end), std::move(remarks_)};
  }

  void left(const LiveClient& client, Member& member) {
    collect(member);
    collect_departures(member, client, true);
    LiveHistory& history = member.history;
    if (client.in_job()) {
      const std::uint64_t number = client.jobs_over() - member.base;
      if (LiveJob* job = number_of(member, number, client)) {
        job->over = now();
        if (member.killed) job->over_as = Mark::killed;
        member.ended_inside = true;
      }
    }
    if (!history.spans.empty() && !history.spans.back().shut) history.spans.back().shut = now();
    member.out = true;
    if (!member.ended) member.ended = now();
  }

  void step(Time at, Step step, Member& member) {
    std::vector<GateSpan>& spans = member.history.spans;
    const Time time = at + Duration{session_.daemon_->origin() - origin_};
    const bool open = !spans.empty() && !spans.back().shut;
    switch (step) {
      case Step::permitted:
        if (!open) is_gone(spans, time);
        if (!open) spans.push_back({time, {}, {}, false});
        return;
      case Step::evicted:
        if (open) spans.back().evicted = time;
        return;
      case Step::sliced:
        if (open) spans.back().sliced = true;
        if (open) spans.back().stays = false;
        return;
      case Step::stays:
        if (open) spans.back().stays = true;
        return;
      case Step::closed:
        if (!(open && spans.back().stays) &&
            (!play_.setup.granting.overlap || needs_.has(Capability::access)))
          return;
        if (open) spans.back().shut = time;
        return;
      case Step::drained:
        if (open) spans.back().shut = time;
        is_gone(spans, time);
        return;
      case Step::killed:
        member.killed = true;
        return;
      case Step::refused:
        member.refused = true;
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

  // Nothing of the client's latest span is left. The next client may not have waited for that.
  static void is_gone(std::vector<GateSpan>& spans, Time at) {
    if (!spans.empty() && !spans.back().gone) spans.back().gone = at;
  }

  void begin() {
    for (std::size_t c = 0; c < clients_.size(); ++c) {
      const Client& client = clients_[c];
      Member& of = member(c);
      of.history = {};
      of.out = of.killed = of.refused = of.ended_inside = of.reported = false;
      of.ended.reset();
      of.history.alone = standalone_of(play_.setup, client);
      of.history.priority = client.priority;
      if (of.client == nullptr) {  // its program ended after it was warm
        of.out = true;
        of.ended = Time{};
        continue;
      }
      of.base = of.taken = of.client->jobs_begun();
      of.departed = of.client->departures();
      of.history.gpu = static_cast<std::uint8_t>(of.client->gpu);
      Introduction& introduction = of.client->introduction;
      introduction.priority = client.priority;
      introduction.weight = client.weight;
      introduction.slo = client.slo;
      introduction.attributes = &client.attributes;
      introduction.alone = of.history.alone;
      if (client.recorded && client.recorded->busy_unknown) introduction.alone.reset();
    }
    origin_ = monotonic_ns() + kStart.ns;
    play_.policy.seed({play_.seed.seed, "policy", {play_.seed.replication, play_.seed.permutation}});
    for (std::size_t position = 0; position < play_.order.size(); ++position) {
      const std::uint32_t c = play_.order[position];
      const Time first = first_release(play_.setup.workload, clients_[c], position);
      releases_.emplace(c, LiveReleases(play_.setup, ClientId{c}, play_.seed, first));
    }
    introduce();
    for (auto& [c, releases] : releases_) {
      Member& of = member(c);
      if (of.refused) is_refused(c, of);
      if (of.out) continue;
      releases.begin(*of.client, origin_);
      releases.look(*of.client, Time{}, play_.setup.horizon);
    }
  }

  GateSettings gate() const {
    const Granting& granting = play_.setup.granting;
    GateSettings gate;
    gate.in_flight = static_cast<std::uint32_t>(granting.in_flight);
    gate.overlap = granting.overlap;
    gate.linger = granting.idle;
    gate.forms = granting.forms.value_or(TakeForms::none);
    if (needs_.has(Capability::access)) gate.channels = play_.setup.device.access.channels;
    gate.holds_refused = true;
    return gate;
  }

  // In the order in which their first jobs come. Who gets no channels is known at the end.
  void introduce() {
    std::vector<std::uint32_t> order;
    for (const auto& [c, releases] : releases_)
      if (!member(c).out) order.push_back(c);
    const auto comes = [&](std::uint32_t c) { return releases_.at(c).first().value_or(Time::max()); };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return comes(a) < comes(b); });
    std::vector<LiveClient*> clients;
    for (const std::uint32_t c : order) clients.push_back(member(c).client);
    session_.run_ = this;
    const GateSettings settings = gate();
    session_.daemon_->play("live", std::shared_ptr<Policy>(std::shared_ptr<void>(), &play_.policy), settings,
                           clients);
    if (!settings.channels) return;
    session_.turn();  // the policy has heard of the last one
    std::int64_t left = *settings.channels;
    for (const std::uint32_t c : order) {
      Member& of = member(c);
      if (of.out || of.refused) continue;
      const std::int64_t has = std::max<std::int64_t>(1, of.client->look().channels);
      of.refused = has > left;
      if (!of.refused) left -= has;
    }
  }

  // Its program stays behind its gate, as errors could end it. All that there is of it is its first job.
  void is_refused(std::uint32_t c, Member& of) {
    if (!of.out) session_.daemon_->dismiss(*of.client);
    of.out = true;
    if (const auto first = releases_.at(c).first(); first && *first <= play_.setup.horizon)
      of.history.jobs.push_back({*first, {}, *first, Mark::refused});
  }

  void look() {
    const Time at = now();
    for (auto& [c, releases] : releases_) {
      Member& of = member(c);
      if (of.out) continue;
      collect(of);
      releases.look(*of.client, at, play_.setup.horizon);
    }
    watch_programs(at);
  }

  // Checks now and then for ended programs and jobs that do not end.
  void watch_programs(Time at) {
    if (at - looked_ < Duration{50'000'000}) return;
    looked_ = at;
    for (std::size_t c = 0; c < clients_.size(); ++c) {
      Member& of = member(c);
      look_whether_it_ended(clients_[c].name, of, at);
      if (of.out) continue;
      const std::size_t jobs = of.history.jobs.size() + (of.client->in_job() ? 1 : 0);
      if (jobs != progress_[c].first || !of.client->in_job() || !gate_open(of)) progress_[c] = {jobs, at};
      if (at - progress_[c].second > play_.setup.watchdog)
        throw RunError(fmt::format("{}: a job has not ended within {} (watchdog); {}", clients_[c].name,
                                   to_text(play_.setup.watchdog), kWhatEndsAJob));
    }
  }
  void look_whether_it_ended(const std::string& name, Member& of, Time at) {
    LivePrograms::End end;
    if (!session_.programs_->ended(name, end)) return;
    of.reported = true;
    if (!end.well && !of.killed)
      session_.fail(
          name, end,
          fmt::format("at {} of a run, after {} jobs", to_text(at - Time{}), of.history.jobs.size()));
    of.out = true;
    if (!of.ended) of.ended = at;
  }

  // A client that is gone may have crashed. How its program ended follows soon, unless other processes of it
  // go on.
  void hear_how_programs_ended() {
    for (const Client& client : clients_) {
      Member& of = session_.members_.at(client.name);
      const Time until = now() + kProgramEnds;
      while (of.ended && !(of.reported && of.client == nullptr) && now() < until) {
        if (!of.reported) look_whether_it_ended(client.name, of, now());
        session_.turn();
      }
    }
  }

  // A client that ended by itself although more of its jobs would have followed: the next one is lost.
  // `begun`: its jobs that have begun.
  void miss_the_rest(std::uint32_t c, Member& of, std::size_t begun) {
    if (*of.ended >= play_.setup.horizon) return;
    std::vector<LiveJob>& jobs = of.history.jobs;
    const std::size_t done = begun - (of.ended_inside ? 1 : 0);
    if (jobs.size() == done) jobs.push_back({*of.ended, {}, {}});
    jobs[done].over = std::max(jobs[done].arrived, *of.ended);
    jobs[done].over_as = Mark::program_ended;
    constexpr std::int64_t kMs = 1'000'000;
    const Duration at{(*of.ended - Time{}).ns / kMs * kMs};
    const std::string run =
        play_.setup.horizon == Time::max() ? std::string() : " of " + to_text(play_.setup.horizon - Time{});
    remarks_.push_back(fmt::format("{}: its program ended after {} {}, {} into a run{}, so jobs are missing",
                                   clients_[c].name, done, done == 1 ? "job" : "jobs", to_text(at), run));
  }

  bool gate_open(const Member& member) const {
    return sharing() == Sharing::free || (!member.history.spans.empty() && !member.history.spans.back().shut);
  }

  void collect(Member& of) {
    const std::uint64_t over = of.client->jobs_over();
    collect_departures(of, *of.client, false);
    if (over - of.taken >= kJobs) throw RunError("jobs ended faster than they could be counted");
    for (; of.taken < over; ++of.taken) number_of(of, of.taken - of.base, *of.client);
  }

  // Departures that are over; with `all`, the others, too.
  void collect_departures(Member& of, const LiveClient& client, bool all) {
    for (const std::uint64_t so_far = client.departures(); of.departed < so_far; ++of.departed) {
      const auto times = client.departure(of.departed);
      if (!times || times->told < origin_ || times->left < times->told) continue;
      const bool over = times->again >= times->left;
      if (!over && !all && of.departed + 1 == so_far) return;
      const auto at = [&](std::int64_t ns) { return Time{} + Duration{ns - origin_}; };
      of.history.departures.push_back({at(times->told), at(times->left),
                                       over ? std::optional(at(times->again)) : std::nullopt,
                                       static_cast<std::int64_t>(times->kernels)});
    }
  }

  // The job's current record, from its page.
  LiveJob* number_of(Member& of, std::uint64_t number, const LiveClient& client) {
    const auto times = client.job(of.base + number);
    std::vector<LiveJob>& jobs = of.history.jobs;
    if (jobs.size() <= number) jobs.resize(number + 1, jobs.empty() ? LiveJob{} : jobs.back());
    LiveJob& job = jobs[number];
    const Time before = number > 0 && jobs[number - 1].over ? *jobs[number - 1].over : Time{};
    if (!times || times->arrived == 0) {  // it has submitted nothing
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
      if (!of.out) {
        collect(of);
        // The next one, which is under way, or over by now.
        if (of.client->jobs_begun() > of.taken) number_of(of, of.taken - of.base, *of.client);
        collect_departures(of, *of.client, true);
      }
      const std::size_t begun = of.history.jobs.size();
      const bool through = releases_.at(c).through(begun);
      // Requests that arrived while it was busy.
      const std::vector<Time> told = releases_.at(c).all(end);
      for (std::size_t j = begun; j < told.size() && told[j] <= end && !of.refused; ++j)
        of.history.jobs.push_back({told[j], {}, {}});
      if (of.ended && !of.killed && !of.refused && !through) miss_the_rest(c, of, begun);
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
  std::vector<std::string> remarks_;
  Time looked_;
};

}  // namespace gangway::live
