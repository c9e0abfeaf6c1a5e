#include "sim/channels/channel_world.hpp"

#include <algorithm>

namespace gangway {
namespace {

std::vector<std::uint32_t> channels_used(const Workload& workload) {
  std::vector<std::uint32_t> used;
  for (const Client& client : workload.clients) {
    used.push_back(1);
    for (const Kernel& kernel : client.kernels) used.back() = std::max(used.back(), kernel.channel + 1);
  }
  return used;
}

// Whether the client keeps the device supplied with frames: its channels are for graphics.
bool draws(const Client& client) { return client.frames_in_flight > 1; }

ChannelTurns turns_of(const WorldSetup& setup, const std::vector<std::uint32_t>& used) {
  std::vector<ChannelTurns::ClientChannels> clients;
  for (std::size_t c = 0; c < used.size(); ++c)
    clients.push_back({used[c], draws(setup.workload.clients[c])});
  return ChannelTurns(setup.device.access, clients);
}

}  // namespace

// A host is one thread, so its number is its client's.
ChannelWorld::ChannelWorld(const WorldSetup& setup)
    : AccessWorld(setup, std::vector<std::uint32_t>(setup.workload.clients.size(), 1)),
      used_channels_(channels_used(setup.workload)),
      turns_(turns_of(setup, used_channels_)),
      copies_(setup.device) {
  for (std::uint32_t c = 0; c < setup_.workload.clients.size(); ++c) {
    const Client& client = setup_.workload.clients[c];
    hosts_.emplace_back(ClientRun(setup_, ClientId{c}, ClientRun::Form::original));
    interception_.push_back(scaled_nearest(setup_.device.access.interception, 1 + client.trivial_requests));
  }
}

void ChannelWorld::reset(const Policy& policy, const RunSeed& seed, std::span<const std::uint32_t> order) {
  reset_access(policy, seed);
  turns_.reset();
  copies_.reset();
  launches_ = begin_event_ = end_event_ = 0;
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
      if (!more_now()) look();
    }
    if (!nothing_to_tell()) tell_and_decide();
    open_clients();
    count_round(rounds);
  } while (!nothing_to_tell() || more_now());
  begin_request();
  begin_copies();
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
    case kCopied:
      return copied(index, event.sequence);
    case kRelease:
      if (!is_gone(ClientId{index})) release(hosts_[index]);
      return;
    case kHost:
      if (!is_gone(ClientId{index})) advance(hosts_[index]);
      return;
    case kTrap:
      if (!is_gone(ClientId{index})) trap_over(index);
      return;
    default:
      return access_due(event);
  }
}

// --- A client's host

void ChannelWorld::release(Host& host) {
  host.run.release(now_);
  note_release(host.run);
  if (const auto due = host.run.next_release()) push(*due, kRelease, id_of(host).index);
  if (!is_open(id_of(host))) return asks_to_open(id_of(host), host.run.client().channels);
  if (host.stage == Host::Stage::idle) advance(host);
}

// The host goes on until it has to wait for something.
void ChannelWorld::advance(Host& host) {
  const std::uint32_t index = id_of(host).index;
  for (;;) {
    switch (host.stage) {
      case Host::Stage::idle:
        if (!host.run.begin()) {
          if (host.jobs.empty() && host.run.over()) close(id_of(host));
          return;
        }
        host.jobs.begin(host.run.job().number);
        if (host.run.client().copy_in.count > 0) return submit_copy(host, CopyDirection::to_device);
        break;
      case Host::Stage::computing:
        if (!submit(host)) return;
        if (awaits_end(host)) return;
        break;
      case Host::Stage::submitting:  // that has joined
        if (awaits_end(host)) return;
        break;
      case Host::Stage::working:
        if (host.awaited.value != 0) {
          host.stage = Host::Stage::blocked;
          return;
        }
        break;
      case Host::Stage::copying:  // that is over
        if (std::exchange(host.copy, std::nullopt) == CopyDirection::to_host) {
          end_of_program(host);
          continue;
        }
        break;
      case Host::Stage::blocked:
      case Host::Stage::settling:
        break;
    }
    if (!host.run.kernels_left()) {
      if (host.run.client().copy_out.count > 0) return copy_out(host);
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
  const ClientId id = id_of(host);
  host.stage = Host::Stage::submitting;
  if (!traps(id.index, host.copy ? 0 : 1)) {
    join(host);
    return true;
  }
  push(now_ + (host.copy ? setup_.device.access.interception : interception_[id.index]), kTrap, id.index);
  return false;
}

void ChannelWorld::pass(std::uint32_t thread) {
  join(hosts_[thread]);
  advance(hosts_[thread]);
}

bool ChannelWorld::on_device(ClientId client) const {
  return turns_.outstanding(client) > 0 || hosts_[client.index].stage == Host::Stage::copying;
}

std::optional<AccessWorld::RunningRequest> ChannelWorld::running(ClientId client) const {
  const auto& run = turns_.run();
  if (!run || run->request.job.client != client) return std::nullopt;
  return RunningRequest{run->begins, run->request.launch.value};
}

void ChannelWorld::submit_copy(Host& host, CopyDirection direction) {
  host.copy = direction;
  if (submit(host)) awaits_end(host);
}

// The program's last copy takes what all kernels of the job have done.
void ChannelWorld::copy_out(Host& host) {
  if (host.jobs.latest().outstanding > 0)
    host.stage = Host::Stage::settling;
  else
    submit_copy(host, CopyDirection::to_host);
}

void ChannelWorld::join(Host& host) {
  if (!host.copy) return join_channel(host);
  const Client& client = host.run.client();
  const Bytes size = *host.copy == CopyDirection::to_device ? client.copy_in : client.copy_out;
  copies_.ask(DeviceId{0}, *host.copy, {host.run.job(), size}, now_);
}

void ChannelWorld::join_channel(Host& host) {
  const RunningKernel kernel = host.run.running();
  const Kernel& code = host.run.client().kernels[kernel.index];
  Request request{kernel.job, kernel.index, LaunchId{++launches_}, request_time(host)};
  request.endless = code.never_ends && kernel.job.number >= *code.never_ends;
  note({.time = now_,
        .launch = request.launch,
        .amount = trapped(id_of(host).index) ? 1 : 0,
        .job = kernel.job,
        .kernel = kernel.index,
        .mark = Mark::submitted});
  ++host.jobs.latest().outstanding;
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

// The program goes on behind what was submitted. Returns whether the host has to wait.
bool ChannelWorld::awaits_end(Host& host) {
  host.watched = trapped(id_of(host).index);
  if (host.copy) {
    host.stage = Host::Stage::copying;
    return true;
  }
  const Duration work = host.run.client().kernels[host.run.kernel()].host_work;
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

// What is open or released ends as it is.
void ChannelWorld::vanish(ClientId id, Mark how) {
  Host& host = hosts_[id.index];
  copies_.remove(id, [&](const CopyQueue::Copy& copy, CopyDirection direction) {
    note_copy(copy, direction, Mark::copy_ends);
  });
  for (const OpenJobs::Job& job : host.jobs.all())
    if (!job.over()) note({.time = now_, .job = {id, job.number}, .mark = how});
  for (std::uint32_t number = host.run.begun(); number < host.run.released(); ++number)
    note({.time = now_, .job = {id, number}, .mark = how});
  host.jobs.clear();
  if (turns_.remove(id)) begin_event_ = end_event_ = 0;
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
  watch_request(run->request.job.client);
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
  used(id_of(host), now_ - run.begins);
  OpenJobs::Job& job = host.jobs.of(request.job.number);
  --job.outstanding;
  if (job.over()) finished(host, request.job.number);
  if (host.awaited == request.launch) {
    host.awaited = {};
    if (host.stage == Host::Stage::blocked) advance(host);
  } else if (!is_gone(id_of(host)) && (host.stage == Host::Stage::idle || settled(host))) {
    advance(host);
  }
  stir(id_of(host));
}

void ChannelWorld::begin_copies() {
  copies_.settle(
      now_,
      [&](const CopyQueue::Copy& copy, DeviceId, CopyDirection direction) {
        note_copy(copy, direction, Mark::copy_begins);
      },
      [&](Time end, std::uint32_t index) { return push(end, kCopied, index); });
}

void ChannelWorld::copied(std::uint32_t index, std::uint64_t event) {
  const auto ended = copies_.end(index, event, now_);
  if (!ended) return;
  note_copy(ended->copy, copies_.direction_of(index), Mark::copy_ends);
  Host& host = hosts_[ended->copy.job.client.index];
  advance(host);
  stir(id_of(host));
}

void ChannelWorld::note_copy(const CopyQueue::Copy& copy, CopyDirection direction, Mark mark) {
  note({.time = now_, .job = copy.job, .mark = mark, .direction = direction, .program_copy = true});
}

}  // namespace gangway
