// Grants of ranges of recorded kernels to their clients. README.md is the definition.
#include <algorithm>

#include "sim/recorded/recorded_world.hpp"

namespace gangway {
namespace {

constexpr BlockCount kRest{1};  // all that is no sliced kernel is one block-task

KernelFacts facts_of(std::int64_t blocks, std::int64_t resident, std::int32_t priority, std::uint32_t place) {
  KernelFacts facts;
  facts.block_tasks = {blocks};
  facts.resident = {resident};
  facts.priority = priority;
  facts.same_as = place;
  return facts;
}

}  // namespace

// --- What the policy sees

// As the job stands now: its current kernel, and how much of that is done.
void RecordedWorld::describe_kernels(RecordedClient& client) {
  Granted& granted = client.granted;
  const JobId job = *granted.asks;
  const std::int32_t priority = client.run.priority_of(job);
  if (granted.kernels.empty()) granted.kernels.push_back(facts_of(1, 1, priority, 0));
  granted.places.resize(client.recorded->leaving.size());
  granted.current = 0;
  BlockCount done;
  if (const auto standing = streams_.current(job.client)) {
    std::uint32_t& place = granted.places[standing->launch];
    const LeavingWaves& kernel = *standing->kernel;
    if (place == 0) {
      place = static_cast<std::uint32_t>(granted.kernels.size());
      granted.kernels.push_back(facts_of(kernel.blocks, kernel.wave, priority, place));
      if (!client.recorded->busy_unknown) granted.kernels[place].declared = kernel.original;
    }
    granted.current = place;
    done = {standing->done};
  }
  for (KernelFacts& kernel : granted.kernels) kernel.priority = priority;
  grants_->kernel(job.client, granted.kernels, granted.current, done);
}

// Whether its job has work for the GPU.
bool RecordedWorld::can_be_launched(const RecordedClient& client) {
  const auto& asks = client.granted.asks;
  if (!asks || client.granted.over) return false;
  return streams_.current(client.run.id()) || streams_.on_device(client.run.id()) > 0 ||
         waits_at_gate(client, *asks);
}

bool RecordedWorld::others_wait(ClientId owner) const {
  return std::any_of(clients_.begin(), clients_.end(), [&](const RecordedClient& client) {
    return client.run.id() != owner && client.granted.asks && grants_->waits(*client.granted.asks);
  });
}

// A job of the client that the policy does not know to wait.
void RecordedWorld::asks_again(RecordedClient& client) {
  Granted& granted = client.granted;
  const ClientId id = client.run.id();
  if (grants_->of(id) != nullptr) return;
  if (!granted.asks) {
    const HostThread* first =
        longest(client, HostThread::Doing::gate, [](const HostThread& thread) { return !thread.between; });
    if (first == nullptr) return;
    granted.ask_for(first->job);
  }
  if (grants_->waits(*granted.asks) || !can_be_launched(client)) return;
  if (!std::exchange(client.opened, true)) tell(Opens{id, 1});
  if (!std::exchange(granted.told, true)) return tell_of_job(client, *granted.asks);
  describe_kernels(client);
  grants_->returned(*granted.asks);
  tell(Arrived{*granted.asks});
}

// --- Orders

LaunchId RecordedWorld::launch_range(JobId job, DeviceId gpu, std::optional<BlockRange> range) {
  if (const std::string why = grants_->refusal(job, gpu); !why.empty()) impossible(why);
  const JobFacts& facts = grants_->job_of(job.client);
  const BlockCount blocks = facts.current().block_tasks;
  const BlockRange ordered = range.value_or(BlockRange{facts.done, blocks});
  if (ordered.first != facts.done || ordered.last <= ordered.first || ordered.last > blocks)
    impossible("block-tasks that do not begin at the work done, or end outside the grid");
  const LaunchId id = grants_->give(LaunchId{++launches_}, job, gpu).id;
  RecordedClient& client = clients_[job.client.index];
  Granted& granted = client.granted;
  granted.drains = granted.awaits_gpu = false;
  granted.until.reset();
  if (granted.over) {
    granted.asks.reset();
    granted.told = granted.over = false;
    tell(grants_->end(gpu, Why::completed, true, false));
    call_at_gate(client);
    exits(client);
    return id;
  }
  note({.time = now_,
        .launch = id,
        .job = job,
        .mark = Mark::launch_ordered,
        .gpu = static_cast<std::uint8_t>(gpu.index)});
  if (parked_ == job.client) {
    granted.closes = 0;
    granted.closing = false;
  } else if (parked_) {
    order_to_close(clients_[parked_->index]);
  }
  Duration until = setup_.device.commands.launch;
  if (granted.current != 0) {
    granted.until = ordered.last;
    if (setup_.mechanism.entry().needs == PreemptionLevel::slice)
      until = setup_.mechanism.delays(current_kernel(client), setup_.device).launch;
  }
  granted.opens = push(now_ + until, kOpens, job.client.index);
  return id;
}

const Kernel& RecordedWorld::current_kernel(const RecordedClient& client) {
  const auto& places = client.granted.places;
  const auto launch = std::find(places.begin(), places.end(), client.granted.current) - places.begin();
  return *client.recorded->leaving[static_cast<std::size_t>(launch)].kernel;
}

void RecordedWorld::order_to_close(RecordedClient& client) {
  if (client.granted.gate && client.granted.closes == 0 && !client.granted.closing)
    client.granted.closes = push(now_ + setup_.device.commands.evict, kCloses, client.run.id().index);
}

void RecordedWorld::open_for_range(RecordedClient& client) {
  if (parked_ && *parked_ != client.run.id())
    client.granted.awaits_gpu = true;
  else
    let_in_range(client);
}

void RecordedWorld::let_in_range(RecordedClient& client) {
  Granted& granted = client.granted;
  Grant& grant = *grants_->of(client.run.id());
  parked_.reset();
  granted.awaits_gpu = false;
  granted.gate = grant.began = true;
  granted.idle_since = granted.opened = now_;
  tell(Started{grant.id, grant.job});
  if (granted.until) streams_.slice(client.run.id(), granted.until->count, now_);
  call_at_gate(client);
}

// --- The end of an instant

// Policies hear of grants that are over. Gates that were ordered to close do so; one that waited for another
// to be drained opens. Returns whether anything may have been submitted.
bool RecordedWorld::change_gates() {
  bool changed = false;
  for (RecordedClient& client : clients_)
    if (std::exchange(client.granted.left_due, false)) {
      range_left(client);
      changed = true;
    }
  for (RecordedClient& client : clients_)
    if (std::exchange(client.granted.closing, false)) client.granted.gate = false;
  if (!parked_ || clients_[parked_->index].granted.gate || streams_.on_device(*parked_) > 0) return changed;
  parked_.reset();
  for (RecordedClient& client : clients_)
    if (client.granted.awaits_gpu) {
      let_in_range(client);
      return true;
    }
  return changed;
}

void RecordedWorld::look_at_ranges() {
  for (RecordedClient& client : clients_) asks_again(client);
  for (RecordedClient& client : clients_) {
    client.granted.look = false;
    const Grant* grant = grants_->of(client.run.id());
    if (grant != nullptr && grant->began && !client.granted.leaves && !client.granted.until)
      look_at_rest(client);
  }
}

void RecordedWorld::look_at_rest(RecordedClient& client) {
  Granted& granted = client.granted;
  const ClientId id = client.run.id();
  const bool there = streams_.on_device(id) > 0;
  if (granted.drains) {
    if (!granted.gate && !there) leave_range(client, Why::completed, kRest);
    return;
  }
  if (streams_.current(id)) return leave_range(client, Why::completed, kRest);
  if (!others_wait(id)) return;
  if (there) {
    granted.drains = true;
    return order_to_close(client);
  }
  const Time due = granted.idle_since + setup_.granting.idle;
  if (due <= now_)
    leave_range(client, Why::completed, kRest);
  else if (!std::exchange(granted.idle_timer, true))
    push(due, kIdle, id.index);
}

// --- The end of a grant

void RecordedWorld::sliced(ClientId id, bool kernel_over) {
  RecordedClient& client = clients_[id.index];
  Granted& granted = client.granted;
  granted.kernels[granted.current].declared = current_kernel(client).time;  // known from now on
  if (!granted.is_over()) leave_range(client, kernel_over ? Why::completed : Why::budget, *granted.until);
}

void RecordedWorld::leave_range(RecordedClient& client, Why why, BlockCount done) {
  Granted& granted = client.granted;
  granted.opens = 0;
  granted.awaits_gpu = false;
  granted.why = why;
  granted.done = done;
  if (granted.gate) parked_ = client.run.id();
  granted.leaves = push(now_ + setup_.device.commands.notice, kLeaves, client.run.id().index);
}

// The policy hears of it.
void RecordedWorld::range_left(RecordedClient& client) {
  Granted& granted = client.granted;
  Grant& grant = *grants_->of(client.run.id());
  const bool over = open_job(client, grant.job) == nullptr;
  const bool waits = !over && can_be_launched(client);
  close_account(client, grant, over);
  if (!over) describe_kernels(client);
  Left left = grants_->end(grant.gpu, granted.why, over, waits);
  left.done = granted.done;
  tell(left);
  if (!over) return;
  granted.asks.reset();
  granted.told = granted.over = false;
  call_at_gate(client);
  exits(client);
}

void RecordedWorld::job_over_between_ranges(RecordedClient& client, JobId job) {
  Granted& granted = client.granted;
  const Grant* grant = grants_->of(job.client);
  if (grant != nullptr && grant->job == job) {
    if (!granted.is_over()) leave_range(client, Why::completed, kRest);
  } else if (granted.asks == job && grants_->waits(job)) {
    granted.over = true;
  } else if (granted.asks == job) {
    granted.asks.reset();
    if (std::exchange(granted.told, false)) grants_->over(job);
    call_at_gate(client);
  }
}

}  // namespace gangway
