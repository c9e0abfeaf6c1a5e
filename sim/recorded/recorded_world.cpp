#include "sim/recorded/recorded_world.hpp"

#include <algorithm>
#include <utility>

namespace gangway {

namespace {

std::vector<std::uint32_t> timelines_of(const Workload& workload) {
  std::vector<std::uint32_t> timelines;
  for (const Client& client : workload.clients) timelines.push_back(client.recorded->program->timelines());
  return timelines;
}

}  // namespace

RecordedWorld::RecordedWorld(const WorldSetup& setup)
    : AccessWorld(setup, timelines_of(setup.workload)),
      streams_(setup_.device, *this),
      states_(setup_.workload, setup_.device, *this) {
  std::uint32_t threads = 0;
  for (std::uint32_t c = 0; c < setup_.workload.clients.size(); ++c) {
    const Client& client = setup_.workload.clients[c];
    const Recorded& recorded = *client.recorded;
    clients_.emplace_back(ClientRun(setup_, ClientId{c}, ClientRun::Form::original), recorded);
    clients_.back().own_pace = recorded.own_pace;
    streams_.add_client(recorded);
    first_thread_.push_back(threads);
    threads += recorded.program->timelines();
    std::vector<HostThread>& of = clients_.back().threads;
    of.resize(recorded.program->timelines());
    for (recording::Index j = recorded.from; j < recorded.to; ++j) {
      HostThread& home = of[recorded.program->segments[recorded.program->jobs[j].first_segment].timeline];
      home.home = true;
      home.jobs.push_back(j);
    }
  }
  first_thread_.push_back(threads);
  gpus_.resize(clients_.size());
}

void RecordedWorld::reset(const Policy& policy, const RunSeed& seed, std::span<const std::uint32_t> order) {
  seed_ = seed;
  sees_grants_ = policy.needs().has(Capability::evict) ||
                 (!policy.needs().has(Capability::native) && !policy.needs().has(Capability::access));
  slices_ = policy.needs().has(Capability::ranges);
  limits_may_end_ = false;
  parked_.reset();
  reset_access(policy, seed);
  launches_ = 0;
  use_told_ = {};
  due_hosts_.clear();
  grants_->reset();
  const bool ordered = policy.needs().has(Capability::memory);
  moves_states_ = under_grants() && (ordered || setup_.moves_memory);
  if (moves_states_) states_.reset(ordered);
  grants_->show(moves_states_ ? &states_ : nullptr);
  place_in_turn();
  std::vector<Time> firsts(clients_.size());
  for (std::size_t position = 0; position < order.size(); ++position) {
    RecordedClient& client = clients_[order[position]];
    firsts[order[position]] = first_release(setup_.workload, client.run.client(), position);
    client.run.reset(seed, firsts[order[position]]);
    client.open.clear();
    client.due.clear();
    client.events.clear();
    client.stay.reset();
    client.begun = client.busy = client.uses = client.opened = client.gone = client.leaves = false;
    client.copies = 0;
    client.off_gpu.reset();
    client.granted = {};
    for (HostThread& thread : client.threads) {
      HostThread fresh;
      fresh.home = thread.home;
      fresh.jobs = std::move(thread.jobs);
      thread = std::move(fresh);
    }
  }
  for (RecordedClient& client : clients_) {
    const std::uint32_t index = client.run.id().index;
    if (client.own_pace)
      push(firsts[index], kRelease, index);
    else if (const auto due = client.run.next_release())
      push(*due, kRelease, index);
  }
}

std::uint64_t RecordedWorld::play_instant() {
  std::uint64_t events = 0;
  int rounds = 0;
  bool moved = false, again = false;
  do {
    do {
      do {
        for (; more_now(); ++events) handle(queue_.pop());
        if (streams_.follow(now_)) continue;
        go_on_in_order();
      } while (more_now() || !due_hosts_.empty() || streams_.moved() || streams_.settle(now_));
      if (controlled()) look();
      again = slices_ ? change_gates() : lift_limits();
    } while (again || more_now() || !due_hosts_.empty() || streams_.moved());
    for (RecordedClient& client : clients_) renew_stay(client);
    if (slices_)
      look_at_ranges();
    else if (under_grants())
      end_grants();
    for (RecordedClient& client : clients_)
      if (client.leaves) exits(client);
    if (!nothing_to_tell()) tell_and_decide();
    if (controlled()) open_clients();
    moved = moves_states_ && states_.settle(now_);
    count_round(rounds);
  } while (moved || !nothing_to_tell() || more_now() || streams_.changed());
  if (controlled()) look_who_uses();
  if (journal_.wants_off_gpu())
    for (RecordedClient& client : clients_) note_off_gpu(client);
  return events;
}

void RecordedWorld::handle(const EventQueue::Event& event) {
  const std::uint32_t index = index_of(event);
  switch (kind_of(event)) {
    case kTimer:
      return timer_due(event);
    case kRelease:
      return first_or_next_release(clients_[index]);
    case kHost:
      return due_hosts_.push_back({index, event.sequence});
    case kDue:
      return streams_.due(index, event.sequence, now_);
    case kCopied:
      return streams_.copied(index, event.sequence, now_);
    case kLook:
      return streams_.look(index);
    case kOpens:
      return open_gate(clients_[index], event.sequence);
    case kCloses:
      return close_gate(clients_[index], event.sequence);
    case kLeaves:
      return grant_left(clients_[index], event.sequence);
    case kIdle:
      clients_[index].granted.look = true;
      clients_[index].granted.idle_timer = false;
      return;
    case kStateCopied:
      return states_.copied(index, event.sequence, now_);
    default:
      return access_due(event);
  }
}

RecordedClient& RecordedWorld::client_of_thread(std::uint32_t index) {
  const auto next = std::upper_bound(first_thread_.begin(), first_thread_.end(), index);
  return clients_[static_cast<std::size_t>(next - first_thread_.begin()) - 1];
}

// The host threads whose time has come.
void RecordedWorld::go_on_in_order() {
  std::sort(due_hosts_.begin(), due_hosts_.end());
  for (const auto& [index, event] : std::exchange(due_hosts_, {})) {
    RecordedClient& client = client_of_thread(index);
    HostThread& thread = thread_of(client, index);
    if (thread.event == event) go_on(thread, client);
  }
}

// A client's host threads come to their first jobs with its first release, or when it has opened.
void RecordedWorld::first_or_next_release(RecordedClient& client) {
  if (client.gone) return;
  if (!client.own_pace) {
    release(client);
    if (const auto due = client.run.next_release()) push(*due, kRelease, client.run.id().index);
  }
  const ClientId id = client.run.id();
  if (controlled() && !is_open(id)) return asks_to_open(id, channels_needed(id));
  begin_threads(client);
}

void RecordedWorld::begin_threads(RecordedClient& client) {
  if (client.begun) return;
  if (setup_.placing == Placing::least_used) place_where_least_is_used(client);
  client.begun = true;
  for (HostThread& thread : client.threads)
    if (thread.home) take_next(client, thread);
}

// --- A job on its GPU, as the trace has it

void RecordedWorld::busy(ClientId id) { clients_[id.index].busy = true; }

void RecordedWorld::quiet(ClientId id) { clients_[id.index].busy = false; }

// At the end of an instant.
void RecordedWorld::renew_stay(RecordedClient& client) {
  const Grant* grant = under_grants() ? grants_->of(client.run.id()) : nullptr;
  const bool let_in = grant != nullptr && grant->began;
  if (client.stay && let_in && client.stay->launch != grant->id) end_stay(client);
  if (!client.busy) {
    if (!client.stay) return;
    if (std::exchange(client.stay->on, false)) note_stay(client, Mark::paused);
    if (under_grants() && grant == nullptr && streams_.on_device(client.run.id()) == 0) end_stay(client);
    return;
  }
  if (client.open.empty() || (client.stay && client.stay->on)) return;
  const auto runs = std::find_if(client.open.begin(), client.open.end(),
                                 [&](const PlayedRun& open) { return streams_.runs(open.id); });
  const JobId job = runs != client.open.end() ? runs->id : client.open.front().id;
  if (client.stay && client.stay->job != job) end_stay(client);
  if (client.stay) {
    client.stay->on = true;
    note_stay(client, Mark::resumed);
  } else {
    begin_stay(client, job);
  }
}

void RecordedWorld::begin_stay(RecordedClient& client, JobId job) {
  const Grant* grant = under_grants() ? grants_->of(client.run.id()) : nullptr;
  client.stay = {grant != nullptr ? grant->id : LaunchId{++launches_}, job, true};
  if (!under_grants()) note_stay(client, Mark::submitted);
  note_stay(client, Mark::started);
}

// Its grant is over. What is still on the GPU stays until it is gone, or is granted again.
void RecordedWorld::end_stay_of_grant(RecordedClient& client) {
  if (client.stay && streams_.on_device(client.run.id()) == 0) end_stay(client);
}

void RecordedWorld::end_stay(RecordedClient& client) {
  note_stay(client, Mark::gone);
  client.stay.reset();
  client.off_gpu.reset();
}

void RecordedWorld::note_stay(const RecordedClient& client, Mark mark) {
  note({.time = now_,
        .launch = client.stay->launch,
        .job = client.stay->job,
        .mark = mark,
        .gpu = static_cast<std::uint8_t>(gpus_[client.run.id().index])});
}

// At the end of an instant: whether a client that neither runs nor copies waits for the GPU.
void RecordedWorld::note_off_gpu(RecordedClient& client) {
  if (client.busy || client.copies > 0 || client.open.empty()) return client.off_gpu.reset();
  const auto held_up = [](const HostThread& thread) {
    return (thread.doing == HostThread::Doing::gate || thread.doing == HostThread::Doing::trapped) &&
           !thread.between;
  };
  const bool waits = streams_.awaits_turn(client.run.id()) ||
                     std::any_of(client.threads.begin(), client.threads.end(), held_up);
  const Mark mark = waits ? Mark::awaits_gpu : Mark::on_host;
  if (client.off_gpu == mark) return;
  client.off_gpu = mark;
  journal_.off_gpu({.time = now_,
                    .job = client.open.front().id,
                    .mark = mark,
                    .gpu = static_cast<std::uint8_t>(gpus_[client.run.id().index])});
}

void RecordedWorld::copying(JobId job, bool to_host, bool begins) {
  if (open_job(clients_[job.client.index], job) == nullptr) return;
  clients_[job.client.index].copies += begins ? 1 : -1;
  note({.time = now_,
        .job = job,
        .mark = begins ? Mark::copy_begins : Mark::copy_ends,
        .direction = to_host ? CopyDirection::to_host : CopyDirection::to_device,
        .program_copy = true,
        .gpu = static_cast<std::uint8_t>(gpus_[job.client.index])});
}

}  // namespace gangway
