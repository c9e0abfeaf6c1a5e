// Grants of whole jobs to recorded clients: their gates. README.md is the definition.
#include <algorithm>

#include "sim/recorded/recorded_world.hpp"

namespace gangway {

bool RecordedWorld::may_submit(const RecordedClient& client, const HostThread& thread) {
  if (!under_grants()) return true;
  if (thread.between || !submits(client, thread)) return true;
  if (slices_)
    return client.granted.gate && !client.granted.over &&
           (!client.granted.asks || *client.granted.asks == thread.job);
  const ClientId id = client.run.id();
  const Grant* grant = grants_->of(id);
  return grant != nullptr && client.granted.serves == thread.job && client.granted.gate &&
         (!is_limited(client) || streams_.outstanding(id) < setup_.granting.in_flight);
}

bool RecordedWorld::is_limited(const RecordedClient& client) const {
  if (setup_.granting.in_flight == 0 || !under_grants() || slices_) return false;
  const std::uint32_t gpu = gpus_[client.run.id().index];
  return std::any_of(clients_.begin(), clients_.end(), [&](const RecordedClient& other) {
    return other.run.client().priority > client.run.client().priority && other.begun && has_jobs(other) &&
           gpus_[other.run.id().index] == gpu;
  });
}

// A client's last job is over: it limits others no longer. Returns whether anything may have been submitted.
bool RecordedWorld::lift_limits() {
  if (!std::exchange(limits_may_end_, false)) return false;
  for (RecordedClient& client : clients_) call_at_gate(client);
  return true;
}

// Of a submission, which has its share of an event.
Duration RecordedWorld::cost_of_limit() const {
  const ChannelCosts& costs = setup_.device.access;
  const std::int64_t group = std::clamp<std::int64_t>(setup_.granting.in_flight / 2, 1, 8);
  return costs.limited + Duration{(costs.event.ns + group / 2) / group};
}

bool RecordedWorld::waits_at_gate(const RecordedClient& client, JobId job) {
  return std::any_of(client.threads.begin(), client.threads.end(), [&](const HostThread& thread) {
    return thread.doing == HostThread::Doing::gate && thread.job == job && !thread.between;
  });
}

// A submission waits at the gate. The job that asks for the GPU is the one whose submission came first.
void RecordedWorld::ask(RecordedClient& client) {
  if (slices_ || grants_->of(client.run.id()) != nullptr) return;
  Granted& granted = client.granted;
  const auto wanted = [&](const HostThread& thread) {
    return !thread.between && (!granted.asks || thread.job == granted.serves);
  };
  const HostThread* first = longest(client, HostThread::Doing::gate, wanted);
  if (first == nullptr) return;
  if (!std::exchange(client.opened, true)) tell(Opens{client.run.id(), 1});
  if (granted.asks) {
    if (grants_->waits(*granted.asks)) return;
    grants_->returned(*granted.asks);
    return tell(Arrived{*granted.asks});
  }
  granted.ask_for(first->job);
  tell_of_job(client, first->job);
}

// The policy hears of the job for the first time.
void RecordedWorld::tell_of_job(RecordedClient& client, JobId job) {
  const Client& from = client.run.client();
  JobFacts facts;
  facts.id = job;
  facts.priority = client.run.priority_of(job);
  facts.weight = from.weight;
  if (from.slo) facts.deadline = open_job(client, job)->released + *from.slo;
  if (!client.recorded->busy_unknown) facts.work.alone = standalone_[job.client.index];
  facts.gpus = GpuSet::none();
  facts.gpus.add(DeviceId{gpus_[job.client.index]});
  facts.attributes = &from.attributes;
  grants_->arrived(facts, now_);
  if (slices_) describe_kernels(client);
  tell(Arrived{job});
}

LaunchId RecordedWorld::launch(JobId job, DeviceId gpu, std::optional<BlockRange> range) {
  if (slices_) return launch_range(job, gpu, range);
  if (!under_grants() || range) impossible("a launch of block-tasks of a recorded program");
  if (const std::string why = grants_->refusal(job, gpu); !why.empty()) impossible(why);
  if (moves_states_ && states_.ordered() && !states_.resident(job.client))
    impossible("a launch of a job whose state is not on the device");
  const Grant& grant = grants_->give(LaunchId{++launches_}, job, gpu);
  RecordedClient& client = clients_[job.client.index];
  if (!has_turn(client)) {
    client.granted.asks.reset();
    tell(grants_->end(gpu, Why::completed, true, false));
    return LaunchId{launches_};
  }
  if (moves_states_) states_.bring(job.client);
  client.granted.gate = false;
  client.granted.closes = 0;  // of an earlier grant, ordered as that ended by itself
  client.granted.leaves.reset();
  client.granted.opens = push(now_ + setup_.device.commands.launch, kOpens, job.client.index);
  note({.time = now_,
        .launch = grant.id,
        .job = client.granted.serves,
        .mark = Mark::launch_ordered,
        .gpu = static_cast<std::uint8_t>(gpu.index)});
  return grant.id;
}

// A job that was over before its turn leaves it to the client's next, if that waits.
bool RecordedWorld::has_turn(RecordedClient& client) {
  if (open_job(client, client.granted.serves) != nullptr) return true;
  const auto any = [](const HostThread& thread) { return !thread.between; };
  const HostThread* next = longest(client, HostThread::Doing::gate, any);
  if (next != nullptr) client.granted.serves = next->job;
  return next != nullptr;
}

void RecordedWorld::evict(LaunchId launch) {
  Grant* grant = grants_->find(launch);
  if (launch.value > launches_) impossible("an eviction of an unknown launch");
  if (grant == nullptr || grant->revoked) return;
  RecordedClient& client = clients_[grant->job.client.index];
  if (client.granted.is_over()) return;                            // as the policy will hear
  if (slices_ && (client.granted.until || !grant->began)) return;  // a slice ends by itself
  grant->revoked = true;
  note({.time = now_,
        .launch = grant->id,
        .job = client.granted.serves,
        .mark = Mark::evict_ordered,
        .gpu = static_cast<std::uint8_t>(grant->gpu.index)});
  if (slices_) {
    client.granted.drains = true;
    return order_to_close(client);
  }
  client.granted.closes = push(now_ + setup_.device.commands.evict, kCloses, grant->job.client.index);
}

void RecordedWorld::open_gate(RecordedClient& client, std::uint64_t event) {
  Granted& granted = client.granted;
  if (granted.opens != event) return;
  granted.opens = 0;
  if (slices_) return open_for_range(client);
  granted.awaits_state = moves_states_ && !states_.resident(client.run.id());
  if (!granted.awaits_state) let_in(client);
}

void RecordedWorld::let_in(RecordedClient& client) {
  Granted& granted = client.granted;
  granted.awaits_state = false;
  granted.gate = granted.look = true;
  granted.idle_since = granted.opened = now_;
  Grant& grant = *grants_->of(client.run.id());
  grant.began = true;
  tell(Started{grant.id, grant.job});
  streams_.lower_flag(client.run.id(), now_);
  call_at_gate(client);
}

void RecordedWorld::close_gate(RecordedClient& client, std::uint64_t event) {
  Granted& granted = client.granted;
  if (granted.closes != event) return;
  granted.closes = granted.opens = 0;
  granted.closing = granted.look = true;
}

// Those that may go on, whoever has waited longest first.
void RecordedWorld::call_at_gate(RecordedClient& client) {
  const auto may = [&](const HostThread& thread) { return may_submit(client, thread); };
  while (HostThread* thread = longest(client, HostThread::Doing::gate, may)) call(client, *thread);
  ask(client);
}

// At the end of an instant: what was submitted in it counts.
void RecordedWorld::end_grants() {
  for (RecordedClient& client : clients_) {
    if (std::exchange(client.granted.left_due, false)) tell_left(client);
    if (std::exchange(client.granted.look, false)) look_at_grant(client);
  }
}

void RecordedWorld::look_at_grant(RecordedClient& client) {
  const ClientId id = client.run.id();
  const Grant* grant = grants_->of(id);
  Granted& granted = client.granted;
  if (std::exchange(granted.closing, false)) {
    granted.gate = false;
    if (grant != nullptr) streams_.raise_flag(granted.serves, now_);
  }
  if (grant == nullptr || granted.is_over()) return;
  const bool closed = grant->revoked && !granted.gate && granted.closes == 0;
  if (streams_.on_device(id) > 0 && !(closed && setup_.granting.overlap)) return;
  if (closed) return leave_grant(client, Why::evicted);
  if (!granted.gate) return;
  const Time due = granted.idle_since + setup_.granting.idle;
  if (due <= now_)
    leave_grant(client, Why::idle);
  else if (!std::exchange(granted.idle_timer, true))
    push(due, kIdle, id.index);
}

// The policy hears it when the notice has come, at the end of that instant.
void RecordedWorld::leave_grant(RecordedClient& client, Why why) {
  Granted& granted = client.granted;
  granted.gate = granted.closing = granted.awaits_state = false;
  granted.opens = granted.closes = 0;
  granted.why = why;
  granted.leaves = push(now_ + setup_.device.commands.notice, kLeaves, client.run.id().index);
}

void RecordedWorld::grant_left(RecordedClient& client, std::uint64_t event) {
  Granted& granted = client.granted;
  if (granted.leaves != event) return;
  granted.leaves.reset();
  granted.left_due = true;
}

void RecordedWorld::tell_left(RecordedClient& client) {
  Granted& granted = client.granted;
  Grant& grant = *grants_->of(client.run.id());
  const JobId job = granted.serves;
  const bool over = open_job(client, job) == nullptr;
  close_account(client, grant, over);
  const bool waits =
      !over && (granted.why == Why::evicted || streams_.holds(job) || waits_at_gate(client, job));
  tell(grants_->end(grant.gpu, granted.why, over, waits));
  if (moves_states_) states_.lost_gpu(job.client, now_);
  if (over) granted.asks.reset();
  call_at_gate(client);
  exits(client);
}

// What the grant has served, before its end is told.
void RecordedWorld::close_account(RecordedClient& client, Grant& grant, bool job_over) {
  Granted& granted = client.granted;
  end_stay_of_grant(client);
  if (grant.began) grant.served = (granted.why == Why::idle ? granted.idle_since : now_) - granted.opened;
  note({.time = now_,
        .launch = grant.id,
        .job = granted.serves,
        .mark = Mark::left,
        .why = job_over ? Why::completed : granted.why,
        .gpu = static_cast<std::uint8_t>(grant.gpu.index)});
}

void RecordedWorld::left(ClientId client) { clients_[client.index].granted.look = true; }

void RecordedWorld::job_over(RecordedClient& client, JobId job) {
  if (slices_) return job_over_between_ranges(client, job);
  Granted& granted = client.granted;
  if (!granted.asks || granted.serves != job) return;
  if (grants_->of(job.client) != nullptr) {
    if (!granted.is_over()) leave_grant(client, Why::completed);
    return;
  }
  if (grants_->waits(*granted.asks)) return;  // it is over when it has its turn
  grants_->over(*granted.asks);
  granted.asks.reset();
  call_at_gate(client);
}

// --- Clients' memory

void RecordedWorld::check_move(JobId job, const char* order, const std::string& refusal) const {
  if (!moves_states_ || !states_.ordered())
    impossible(std::string("a ") + order + " by a policy that does not move memory");
  if (grants_->job_of(job.client).id != job) impossible(std::string("a ") + order + " of an unknown job");
  if (!refusal.empty()) impossible(refusal);
}

void RecordedWorld::restore(JobId job, DeviceId, BlockRange) {
  check_move(job, "restore", moves_states_ ? states_.restore_refusal(job.client) : "");
  states_.restore(job.client);
}

void RecordedWorld::save(JobId job, DeviceId) {
  check_move(job, "save", moves_states_ ? states_.save_refusal(job.client) : "");
  states_.save(job.client);
}

bool RecordedWorld::owns_gpu(ClientId client) const {
  return const_cast<Grants&>(*grants_).of(client) != nullptr;
}

bool RecordedWorld::asks_for_gpu(ClientId client) const {
  const auto& asks = clients_[client.index].granted.asks;
  return asks && grants_->waits(*asks);
}

// In the trace of the job that the client has; between jobs there is none.
void RecordedWorld::moving(ClientId id, CopyDirection direction, Bytes size, bool begins) {
  RecordedClient& client = clients_[id.index];
  std::optional<JobId>& job = client.granted.moves;
  if (begins) job = client.granted.asks ? std::optional(client.granted.serves) : std::nullopt;
  if (job && open_job(client, *job) != nullptr)
    note({.time = now_,
          .amount = size.count,
          .job = *job,
          .mark = begins ? Mark::copy_begins : Mark::copy_ends,
          .direction = direction,
          .program_copy = false});
  else
    job.reset();
}

void RecordedWorld::holds_memory(ClientId client, Bytes size) {
  const JobId job = grants_->job_of(client).id;  // one of another client, if it has had none yet
  note({.time = now_,
        .amount = size.count,
        .job = job.client.index == client.index ? job : JobId{client, 0},
        .mark = Mark::holds});
}

void RecordedWorld::state_moved(ClientId id, MemoryMove move) {
  RecordedClient& client = clients_[id.index];
  if (states_.ordered()) tell(Moved{grants_->job_of(id).id, DeviceId{0}, move});
  if (move == MemoryMove::restore && client.granted.awaits_state) let_in(client);
}

}  // namespace gangway
