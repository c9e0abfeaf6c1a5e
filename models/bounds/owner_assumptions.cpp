#include "models/bounds/owner_assumptions.hpp"

#include <utility>

namespace gangway {

OwnerAssumptions::OwnerAssumptions(std::vector<OwnerLimits> clients, std::optional<Duration> quantum)
    : clients_(std::move(clients)), quantum_(quantum) {}

void OwnerAssumptions::restart(const std::vector<std::vector<Duration>>& nominal,
                               const std::vector<Duration>& jitter) {
  nominal_ = &nominal;
  jitter_ = jitter;
  jobs_.assign(clients_.size(), {});
  owner_.reset();
  idle_.reset();
  free_ = {};
}

void OwnerAssumptions::record(const Record& record) {
  switch (record.mark) {
    case Mark::eligible:
      return eligible(record);
    case Mark::launch_ordered:
      return ordered(record);
    case Mark::started:
      if (owner_) owner_->started = record.time;
      return;
    case Mark::evict_ordered:
      if (owner_ && !owner_->evict_ordered) owner_->evict_ordered = record.time;
      return;
    case Mark::gone:
      if (owner_) owner_->gone = record.time;
      return;
    case Mark::left:
      return left(record);
    case Mark::finished:
      jobs_[record.job.client.index] = {};
      jobs_[record.job.client.index].free = record.time;
      return;
    default:
      return;
  }
}

// Whether a job of this client that waits makes the owner leave.
bool OwnerAssumptions::displaces(std::uint32_t client) const {
  return quantum_ ? client != owner_->client : clients_[client].priority > clients_[owner_->client].priority;
}

void OwnerAssumptions::eligible(const Record& record) {
  const std::uint32_t client = record.job.client.index;
  Job& job = jobs_[client];
  job.eligible = record.time;
  const Time due = Time{} + (*nominal_)[client][record.job.number] + jitter_[client];
  const Duration allowed = clients_[client].lateness;
  // Later only together with its predecessor's finish: between them somebody less urgent would be launched.
  if (job.free <= due || record.time - due <= allowed)
    note("lateness", client, record.time - due, allowed);
  else
    note("backlog", client, record.time - job.free, {});
  if (quantum_) wait_for_turn(job, record.time);
  if (!owner_ && !idle_) idle_ = std::max(record.time, free_);
  if (owner_ && !owner_->wanted && displaces(client)) owner_->wanted = std::max(record.time, owner_->ordered);
}

void OwnerAssumptions::ordered(const Record& record) {
  const std::uint32_t client = record.job.client.index;
  if (idle_) note("idle", client, record.time - *idle_, {});
  idle_.reset();
  owner_ = Owner{};
  owner_->launch = record.launch;
  owner_->client = client;
  owner_->ordered = record.time;
  ++jobs_[client].launches;
  if (quantum_) note("ring", client, jobs_[client].second_turns, {});
  for (std::uint32_t c = 0; c < jobs_.size(); ++c)
    if (c != client && jobs_[c].eligible && displaces(c)) owner_->wanted = record.time;
  owner_->out_of_turn = !quantum_ && owner_->wanted;
}

void OwnerAssumptions::left(const Record& record) {
  if (!owner_ || owner_->launch != record.launch) return;
  const std::uint32_t client = owner_->client;
  const OwnerLimits& limits = clients_[client];
  const Time end = record.time;
  const Time started = owner_->started.value_or(owner_->gone.value_or(end));
  note("launch", client, started - owner_->ordered, limits.launch);
  Job& job = jobs_[client];
  const Time own_end = owner_->evict_ordered ? std::max(*owner_->evict_ordered, started) : end;
  job.run += std::min(own_end, end) - started;
  if (owner_->evict_ordered) note("eviction", client, end - own_end, limits.eviction);
  if (owner_->gone && (!owner_->evict_ordered || *owner_->gone < *owner_->evict_ordered))
    note("ending", client, end - *owner_->gone, limits.ending);
  if (record.why == Why::completed)
    note("run", client, job.run, limits.run + Duration{limits.resume.ns * (job.launches - 1)});
  check_turn(end);
  if (quantum_) count_turn(end);
  owner_.reset();
  free_ = end;
  for (std::uint32_t c = 0; c < jobs_.size(); ++c)
    if (jobs_[c].eligible && (c != client || record.why != Why::completed)) idle_ = end;
}

void OwnerAssumptions::wait_for_turn(Job& job, Time since) {
  job.since = since;
  job.turned.assign(clients_.size(), false);
  job.second_turns = {};
}

// Between two turns of a job, and before its first, everybody else has one: the owner's ends now.
void OwnerAssumptions::count_turn(Time end) {
  for (std::uint32_t c = 0; c < jobs_.size(); ++c) {
    Job& job = jobs_[c];
    if (!job.eligible) continue;
    if (c == owner_->client) {
      wait_for_turn(job, end);
    } else if (job.since < end) {  // what is over when the job comes is not in its way
      if (job.turned[owner_->client]) job.second_turns += end - owner_->ordered;
      job.turned[owner_->client] = true;
    }
  }
}

// Whom others displace leaves at once, or, under round robin, at the end of the quantum.
void OwnerAssumptions::check_turn(Time end) {
  const std::uint32_t client = owner_->client;
  const Time asked = std::min(owner_->evict_ordered.value_or(end), owner_->gone.value_or(end));
  const Time started = owner_->started.value_or(asked);
  if (!quantum_) {
    // Both cost a launch that the theorem does not count, however short they are.
    const bool needless =
        owner_->evict_ordered && (!owner_->wanted || *owner_->evict_ordered < *owner_->wanted);
    if (owner_->out_of_turn || needless)
      note("order", client, std::max(Duration{1}, end - owner_->ordered), {});
    else if (owner_->wanted)
      note("order", client, asked - *owner_->wanted, {});
    return;
  }
  if (owner_->wanted)
    note("turn", client, asked - (std::max(started, *owner_->wanted) + *quantum_), clients_[client].lateness);
  if (owner_->evict_ordered) note("quantum", client, *quantum_ - (*owner_->evict_ordered - started), {});
}

}  // namespace gangway
