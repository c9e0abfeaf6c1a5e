#include "sim/channels/channel_world.hpp"

#include <algorithm>

namespace gangway {
namespace {

constexpr unsigned kClientBits = 20;  // of a request's id

std::vector<std::uint32_t> channels_used(const Workload& workload) {
  std::vector<std::uint32_t> used;
  for (const Client& client : workload.clients) {
    used.push_back(1);
    for (const Kernel& kernel : client.kernels) used.back() = std::max(used.back(), kernel.channel + 1);
  }
  return used;
}

}  // namespace

ChannelWorld::ChannelWorld(const WorldSetup& setup)
    : EventWorld(setup),
      used_channels_(channels_used(setup.workload)),
      turns_(setup.device.access, used_channels_) {
  for (std::uint32_t c = 0; c < setup_.workload.clients.size(); ++c) {
    const Client& client = setup_.workload.clients[c];
    hosts_.emplace_back(ClientRun(setup_, ClientId{c}, ClientRun::Form::original));
    interception_.push_back(scaled_nearest(setup_.device.access.interception, 1 + client.trivial_requests));
  }
}

void ChannelWorld::reset(const Policy& policy, const RunSeed& seed, std::span<const std::uint32_t> order) {
  heard_ = policy.needs().has(Capability::access);
  turns_.reset();
  opening_.clear();
  open_channels_ = 0;
  limit_.reset();
  launches_ = requests_ = begin_event_ = end_event_ = 0;
  polls_ = {seed.seed, "poll", {seed.replication, seed.permutation}};
  for (std::size_t position = 0; position < order.size(); ++position) {
    Host& host = hosts_[order[position]];
    host.reset();
    host.run.reset(seed, first_release(setup_.workload, host.run.client(), position));
  }
  for (Host& host : hosts_)
    if (const auto due = host.run.next_release()) push(*due, kRelease, id_of(host).index);
}

std::uint64_t ChannelWorld::play_instant() {
  std::uint64_t events = 0;
  int rounds = 0;
  do {
    while (more_now()) {
      handle(queue_.pop());
      ++events;
    }
    if (!told()) tell_and_decide();
    open_clients();
    count_round(rounds);
  } while (!told() || more_now());
  begin_request();
  return events;
}

void ChannelWorld::handle(const EventQueue::Event& event) {
  const std::uint32_t index = index_of(event);
  switch (kind_of(event)) {
    case kTimer:
      return timer_due(event);
    case kBegin:
      if (event.sequence == begin_event_) started();
      return;
    case kEnd:
      return ended(event.sequence);
    default:
      break;
  }
  Host& host = hosts_[index];
  if (host.gone) return;
  switch (kind_of(event)) {
    case kRelease:
      return release(host);
    case kHost:
      return advance(host);
    case kTrap:
      return trap_over(host);
    case kDrainSeen:
      return drained(host);
    case kSampleSeen:
      return sampled(host);
    case kSpan:
      return check_sampled(host);
    case kOverdue:
      return overdue(host, event.sequence);
  }
}

// --- A client's host

void ChannelWorld::release(Host& host) {
  host.run.release();
  note_release(host.run);
  if (const auto due = host.run.next_release()) push(*due, kRelease, id_of(host).index);
  if (host.open && host.stage == Host::Stage::idle) return advance(host);
  if (host.open || host.opening) return;
  host.opening = true;
  opening_.push_back(id_of(host));
  inform(Opens{id_of(host), host.run.client().channels});
}

// A client opens after the decision of the instant in which it asked.
void ChannelWorld::open_clients() {
  if (opening_.empty()) return;
  std::sort(opening_.begin(), opening_.end());
  for (const ClientId id : std::exchange(opening_, {})) {
    Host& host = hosts_[id.index];
    std::int64_t channels = host.run.client().channels;
    if (host.granted) channels = std::min(channels, *host.granted);
    if (setup_.device.access.channels)
      channels = std::min(channels, *setup_.device.access.channels - open_channels_);
    if (channels < used_channels_[id.index]) {
      leave(host, Mark::refused);
      continue;
    }
    host.open = true;
    host.channels = channels;
    open_channels_ += channels;
    advance(host);
  }
}

// The host goes on until it has to wait for something.
void ChannelWorld::advance(Host& host) {
  const std::uint32_t index = id_of(host).index;
  for (;;) {
    switch (host.stage) {
      case Host::Stage::idle:
        if (!host.run.begin()) {
          if (host.jobs.empty() && host.run.over()) close(host);
          return;
        }
        host.jobs.begin(host.run.job().number);
        break;
      case Host::Stage::computing:
        if (!submit(host)) return;
        if (awaits_end(host)) return;
        break;
      case Host::Stage::waiting:  // its submission has joined
        if (awaits_end(host)) return;
        break;
      case Host::Stage::working:
        if (host.awaited.value != 0) {
          host.stage = Host::Stage::blocked;
          return;
        }
        break;
      case Host::Stage::trapped:
      case Host::Stage::blocked:
        break;
    }
    if (!host.run.kernels_left()) {
      end_of_program(host);
      continue;
    }
    host.stage = Host::Stage::computing;
    if (const Duration gap = gap_before(host); gap > Duration{}) {
      push(now_ + gap, kHost, index);
      return;
    }
  }
}

// Returns whether the submission has joined its channel.
bool ChannelWorld::submit(Host& host) {
  host.trapped = false;
  if (host.access == Access::direct && !host.sampling) {
    join(host);
    return true;
  }
  host.stage = Host::Stage::trapped;
  host.trap_began = now_;
  push(now_ + interception_[id_of(host).index], kTrap, id_of(host).index);
  return false;
}

void ChannelWorld::trap_over(Host& host) {
  host.trapped = true;
  if (host.sampling) {
    const Time since = std::max(host.trap_began, host.sampling->since);
    if (!host.sampling->lasted) host.sampling->trapped += now_ - since;
  }
  host.stage = Host::Stage::waiting;
  if (settle_submission(host)) advance(host);
}

bool ChannelWorld::settle_submission(Host& host) {
  host.held = {};
  if (host.sampling) {
    if (!host.sampling->admits(now_)) return false;
  } else if (host.access == Access::intercept) {
    host.held = {++requests_ << kClientBits | id_of(host).index};
    inform(Submitted{id_of(host), host.held});
    return false;
  } else if (host.access == Access::deny) {
    inform(Activity{id_of(host), false, true, {}});
    return false;
  }
  join(host);
  return true;
}

void ChannelWorld::join(Host& host) {
  const RunningKernel kernel = host.run.running();
  const Kernel& code = host.run.client().kernels[kernel.index];
  Request request{kernel.job, kernel.index, LaunchId{++launches_}, request_time(host)};
  request.endless = code.never_ends && kernel.job.number >= *code.never_ends;
  request.sampled = host.sampling.has_value();
  if (host.sampling) ++host.sampling->joined;
  note({.time = now_,
        .launch = request.launch,
        .amount = host.trapped ? 1 : 0,
        .job = kernel.job,
        .kernel = kernel.index,
        .mark = Mark::submitted});
  ++host.jobs.latest().outstanding;
  host.used = true;
  host.awaited = host.run.client().blocking || code.host_work > Duration{} ? request.launch : LaunchId{};
  turns_.submit(code.channel, request);
}

Duration ChannelWorld::gap_before(const Host& host) const {
  const Kernel& code = host.run.client().kernels[host.run.kernel()];
  return host.watched && code.trapped_gap ? *code.trapped_gap : host.run.gap();
}

Duration ChannelWorld::request_time(const Host& host) const {
  const RunningKernel kernel = host.run.running();
  const Kernel& code = host.run.client().kernels[kernel.index];
  return host.watched && code.trapped_time ? host.run.drawn(*code.trapped_time) : kernel.time;
}

// The program goes on behind the kernel that was submitted. Returns whether the host has to wait.
bool ChannelWorld::awaits_end(Host& host) {
  const Duration work = host.run.client().kernels[host.run.kernel()].host_work;
  host.watched = host.trapped;
  host.run.next_kernel();
  host.stage = work > Duration{} ? Host::Stage::working : Host::Stage::blocked;
  if (work > Duration{}) push(now_ + work, kHost, id_of(host).index);
  return work > Duration{} || host.awaited.value != 0;
}

void ChannelWorld::end_of_program(Host& host) {
  OpenJobs::Job& job = host.jobs.latest();
  job.submitted = true;
  host.run.finish();
  host.stage = Host::Stage::idle;
  if (job.over()) finished(host, job.number);
}

void ChannelWorld::finished(Host& host, std::uint32_t job) {
  note({.time = now_, .job = {id_of(host), job}, .mark = Mark::finished});
  host.jobs.trim();
  if (const auto due = host.run.after_finish(now_)) push(*due, kRelease, id_of(host).index);
}

// Killed or refused: what is open or released ends as it is.
void ChannelWorld::leave(Host& host, Mark how) {
  const ClientId id = id_of(host);
  for (const OpenJobs::Job& job : host.jobs.all())
    if (!job.over()) note({.time = now_, .job = {id, job.number}, .mark = how});
  for (std::uint32_t number = host.run.begun(); number < host.run.released(); ++number)
    note({.time = now_, .job = {id, number}, .mark = how});
  host.jobs.clear();
  if (turns_.remove(id)) begin_event_ = end_event_ = 0;
  close(host);
}

void ChannelWorld::close(Host& host) {
  host.gone = true;
  open_channels_ -= host.channels;
  host.drain.reset();
  host.sampling.reset();
  inform(Exited{id_of(host)});
}

// --- The device

void ChannelWorld::begin_request() {
  const ChannelTurns::Run* run = turns_.begin(now_);
  if (run == nullptr) return;
  if (run->begins > now_)
    begin_event_ = push(run->begins, kBegin);
  else
    started();
}

void ChannelWorld::started() {
  const auto& run = turns_.run();
  note({.time = now_,
        .launch = run->request.launch,
        .job = run->request.job,
        .kernel = run->request.kernel,
        .mark = Mark::started});
  end_event_ = run->ends ? push(*run->ends, kEnd) : 0;
  watch_run(hosts_[run->request.job.client.index]);
}

void ChannelWorld::ended(std::uint64_t event) {
  if (event != end_event_) return;
  const ChannelTurns::Run run = *turns_.run();
  const Request& request = run.request;
  turns_.end();
  end_event_ = 0;
  note({.time = now_,
        .launch = request.launch,
        .amount = 1,
        .job = request.job,
        .kernel = request.kernel,
        .mark = Mark::gone});
  Host& host = hosts_[request.job.client.index];
  host.usage += now_ - run.begins;
  if (request.sampled && host.sampling) {
    ++host.sampling->ended;
    host.sampling->busy += now_ - run.begins;
  }
  OpenJobs::Job& job = host.jobs.of(request.job.number);
  --job.outstanding;
  if (job.over()) finished(host, request.job.number);
  if (host.awaited == request.launch) {
    host.awaited = {};
    if (host.stage == Host::Stage::blocked) advance(host);
  } else if (host.stage == Host::Stage::idle && !host.gone) {
    advance(host);
  }
  if (host.gone) return;
  check_drained(host);
  check_sampled(host);
}

// --- What the scheduler sees

Duration ChannelWorld::until_seen() {
  const Duration poll = setup_.device.access.poll;
  if (poll == Duration{}) return {};
  return {static_cast<std::int64_t>(polls_.uniform() * static_cast<double>(poll.ns))};
}

void ChannelWorld::check_drained(Host& host) {
  if (!host.drain || host.drain->seen_soon || turns_.outstanding(id_of(host)) > 0) return;
  host.drain->seen_soon = true;
  push(now_ + until_seen(), kDrainSeen, id_of(host).index);
}

void ChannelWorld::drained(Host& host) {
  if (!host.drain) return;
  tell_activity(host);
  inform(Drained{id_of(host), now_ - host.drain->since});
  host.drain.reset();
}

void ChannelWorld::tell_activity(Host& host) {
  inform(Activity{id_of(host), host.used, host.stage == Host::Stage::waiting, host.usage});
  host.used = false;
  host.usage = {};
}

void ChannelWorld::check_sampled(Host& host) {
  if (!host.sampling || host.sampling->lasted || !host.sampling->done(now_)) return;
  host.sampling->lasted = now_ - host.sampling->since;
  push(now_ + until_seen(), kSampleSeen, id_of(host).index);
}

void ChannelWorld::sampled(Host& host) {
  if (!host.sampling || !host.sampling->lasted) return;
  const Sampling sampling = *host.sampling;
  host.sampling.reset();
  note({.time = now_,
        .amount = static_cast<std::int64_t>(host.access),
        .job = {id_of(host), 0},
        .mark = Mark::access});
  tell_activity(host);
  inform(Sampled{id_of(host), sampling.joined, sampling.busy, *sampling.lasted - sampling.trapped});
}

void ChannelWorld::watch_run(Host& host) {
  const auto& run = turns_.run();
  if (!limit_ || !run || run->request.job.client != id_of(host) || (!host.drain && !host.sampling)) return;
  host.overdue_since = run->begins;
  if (host.drain) host.overdue_since = std::max(host.overdue_since, host.drain->since);
  if (host.sampling) host.overdue_since = std::max(host.overdue_since, host.sampling->since);
  host.overdue_event = push(host.overdue_since + *limit_ + Duration{1}, kOverdue, id_of(host).index);
  host.overdue_launch = run->request.launch;
}

void ChannelWorld::overdue(Host& host, std::uint64_t event) {
  const auto& run = turns_.run();
  if (event != host.overdue_event || !run || run->request.launch != host.overdue_launch) return;
  if (host.drain || host.sampling) inform(Overdue{id_of(host), now_ - host.overdue_since});
}

// --- Orders

Host& ChannelWorld::host_of(ClientId client, const char* order) {
  if (client.index >= hosts_.size()) impossible(std::string(order) + " of a client that there is not");
  return hosts_[client.index];
}

void ChannelWorld::set_access(Host& host, Access access) {
  host.access = access;
  note({.time = now_,
        .amount = static_cast<std::int64_t>(access),
        .job = {id_of(host), 0},
        .mark = Mark::access});
}

void ChannelWorld::access(ClientId client, Access access) {
  Host& host = host_of(client, "an access");
  if (host.gone) return;
  if (host.sampling) impossible("an access of a client that is being sampled");
  if (host.access == access) return;
  set_access(host, access);
  if (host.stage == Host::Stage::waiting && settle_submission(host)) advance(host);
}

void ChannelWorld::admit(RequestId request) {
  const std::uint64_t client = request.value & ((1u << kClientBits) - 1);
  if (client >= hosts_.size()) return;
  Host& host = hosts_[client];
  if (host.gone || request.value == 0 || host.held != request) return;
  host.held = {};
  join(host);
  advance(host);
}

void ChannelWorld::grant(ClientId client, std::int64_t channels) {
  Host& host = host_of(client, "a grant of channels");
  if (!host.open) host.granted = std::max<std::int64_t>(0, channels);
}

void ChannelWorld::drain(ClientId client) {
  Host& host = host_of(client, "a drain");
  if (host.gone || host.drain) return;
  host.drain = Host::Drain{now_, false};
  if (turns_.outstanding(client) == 0) return drained(host);
  watch_run(host);
}

void ChannelWorld::sample(ClientId client, Duration span, std::int64_t requests) {
  Host& host = host_of(client, "a sampling");
  if (host.gone) return;
  if (host.sampling) impossible("a sampling of a client that is being sampled");
  if (turns_.outstanding(client) > 0) impossible("a sampling of a client with requests on the device");
  host.access = Access::deny;
  host.sampling.emplace();
  host.sampling->since = now_;
  host.sampling->until = now_ + span;
  host.sampling->wanted = requests;
  push(now_ + span, kSpan, client.index);
  note({.time = now_, .amount = kSampled, .job = {client, 0}, .mark = Mark::access});
  if (host.stage == Host::Stage::waiting && settle_submission(host)) advance(host);
}

void ChannelWorld::kill(ClientId client) {
  Host& host = host_of(client, "a kill");
  if (host.gone) return;
  leave(host, Mark::killed);
}

}  // namespace gangway
