#include "sim/recorded/kept_states.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "models/shown.hpp"

namespace gangway {

KeptStates::KeptStates(const Workload& workload, const Device& device, KeptStatesHost& host)
    : device_(device), host_(host), engines_(device) {
  for (std::uint32_t c = 0; c < workload.clients.size(); ++c) {
    State state;
    state.id = ClientId{c};
    state.size = workload.clients[c].memory;
    states_.push_back(state);
  }
}

void KeptStates::reset(bool ordered) {
  ordered_ = ordered;
  engines_.reset();
  free_ = device_.memory;
  for (State& state : states_) {
    const Bytes size = state.size;
    state = {state.id, size, Residence::absent, false, false, false, false, Time{}};
    if (size > free_) continue;
    state.where = Residence::resident;
    free_ -= size;
  }
}

// --- Orders

std::string KeptStates::restore_refusal(ClientId client) const {
  const State& state = asked(client);
  if (state.where != Residence::absent) return "a restore of a state that is on the device";
  if (state.size > free_)
    return fmt::format("a restore of {} with {} left", shown_size(state.size), shown_size(free_));
  return "";
}

std::string KeptStates::save_refusal(ClientId client) const {
  if (asked(client).where != Residence::resident) return "a save of a state that is not on the device";
  return host_.owns_gpu(client) ? "a save of the job that owns the GPU" : "";
}

void KeptStates::restore(ClientId client) { begin_restore(of(client)); }

void KeptStates::save(ClientId client) { of(client).where = Residence::saving; }

void KeptStates::begin_restore(State& state) {
  state.where = Residence::restoring;
  free_ -= state.size;
}

void KeptStates::bring(ClientId client) { of(client).wanted = true; }

void KeptStates::lost_gpu(ClientId client, Time now) {
  of(client).closed = now;
  of(client).wanted = false;
}

bool KeptStates::let_go(ClientId client) {
  State& state = of(client);
  if (state.where == Residence::absent) return true;
  if (state.where != Residence::resident || host_.works_on_device(client)) return false;
  state.where = Residence::absent;
  free_ += state.size;
  if (state.size > Bytes{}) host_.holds_memory(client, {});
  let_arrive();
  return true;
}

// --- Moves

// A save waits until nothing of its client is on the device; a copy of nothing takes no time.
bool KeptStates::settle(Time now) {
  bool happened = !ordered_ && (make_room() || bring_ahead());
  for (State& state : states_) {
    const bool moves = state.where == Residence::restoring || state.where == Residence::saving;
    if (!moves || state.copying || state.over) continue;
    const bool leaves = state.where == Residence::saving;
    if (leaves && host_.works_on_device(state.id)) continue;
    begin_copy(state, leaves ? CopyDirection::to_host : CopyDirection::to_device,
               leaves && !state.changed ? Bytes{} : state.size, now);
    happened = true;
  }
  engines_.settle(
      now,
      [&](const CopyQueue::Copy& copy, DeviceId, CopyDirection direction) {
        host_.moving(copy.job.client, direction, copy.size, true);
      },
      [&](Time end, std::uint32_t index) { return host_.copied_state_at(index, end); });
  return happened;
}

void KeptStates::begin_copy(State& state, CopyDirection direction, Bytes size, Time now) {
  state.copying = true;
  if (size.count == 0) return ended(state);
  engines_.ask(DeviceId{0}, direction, {JobId{state.id, 0}, size, CopyQueue::Purpose::move}, now);
}

void KeptStates::copied(std::uint32_t copy, std::uint64_t event, Time now) {
  const auto ended_copy = engines_.end(copy, event, now);
  if (!ended_copy) return;
  const ClientId client = ended_copy->copy.job.client;
  host_.moving(client, engines_.direction_of(copy), ended_copy->copy.size, false);
  ended(of(client));
}

void KeptStates::ended(State& state) {
  state.copying = false;
  if (state.where == Residence::restoring) {
    state.over = true;
  } else {
    state.where = Residence::absent;
    free_ += state.size;
    host_.holds_memory(state.id, {});
    host_.state_moved(state.id, MemoryMove::save);
  }
  let_arrive();
}

// Whose copies are over, once there is room for all that comes.
void KeptStates::let_arrive() {
  for (State& each : states_)
    if (each.over && free_ >= Bytes{}) arrived(each);
}

void KeptStates::arrived(State& state) {
  state.over = state.changed = state.wanted = false;
  state.where = Residence::resident;
  host_.holds_memory(state.id, state.size);
  host_.state_moved(state.id, MemoryMove::restore);
}

// --- Without orders of the policy: who is let in gets room, and comes while the others leave.

Bytes KeptStates::leaving() const {
  Bytes sum;
  for (const State& state : states_)
    if (state.where == Residence::saving) sum += state.size;
  return sum;
}

bool KeptStates::make_room() {
  bool happened = false;
  for (State& state : states_) {
    if (state.where == Residence::resident) state.wanted = false;
    if (!state.wanted || state.where != Residence::absent) continue;
    while (state.size > free_ + leaving()) {
      State* leaves = victim();
      if (leaves == nullptr) return happened;
      leaves->where = Residence::saving;
      happened = true;
    }
    begin_restore(state);
    happened = true;
  }
  return happened;
}

// Who does not ask for the GPU first, for longest; then who had it last.
KeptStates::State* KeptStates::victim() {
  State* best = nullptr;
  std::tuple<bool, std::int64_t> least;
  for (State& state : states_) {
    if (state.where != Residence::resident || state.size.count == 0 || host_.owns_gpu(state.id)) continue;
    const bool asks = host_.asks_for_gpu(state.id);
    const std::tuple<bool, std::int64_t> rank{asks, asks ? -state.closed.ns : state.closed.ns};
    if (best == nullptr || rank < least) best = &state, least = rank;
  }
  return best;
}

// Into room that nobody needs comes who asks for longest.
bool KeptStates::bring_ahead() {
  State* next = nullptr;
  for (State& state : states_) {
    if (state.where == Residence::saving || (state.wanted && state.where == Residence::absent)) return false;
    if (state.where != Residence::absent || !host_.asks_for_gpu(state.id)) continue;
    if (next == nullptr || state.closed < next->closed) next = &state;
  }
  if (next == nullptr || next->size > free_) return false;
  begin_restore(*next);
  return true;
}

// --- What policies see

const KeptStates::State& KeptStates::asked(ClientId client) const {
  if (client.index >= states_.size()) refuse_index("client", client.index, states_.size());
  return states_[client.index];
}

Residence KeptStates::residence(ClientId client, DeviceId) const { return asked(client).where; }

Bytes KeptStates::room(DeviceId) const { return std::max(free_, Bytes{}); }

Bytes KeptStates::held(ClientId client, DeviceId) const {
  const State& state = asked(client);
  return state.where == Residence::absent ? Bytes{} : state.size;
}

bool KeptStates::holds(JobId job, DeviceId, BlockRange) const {
  return asked(job.client).where == Residence::resident;
}

Bytes KeptStates::takes(JobId job, DeviceId, BlockRange) const {
  const State& state = asked(job.client);
  return state.where == Residence::absent ? state.size : Bytes{};
}

Bytes KeptStates::copies(JobId job, DeviceId gpu, BlockRange blocks) const { return takes(job, gpu, blocks); }

bool KeptStates::changed_on(JobId job, DeviceId, BlockRange) const {
  return asked(job.client).where == Residence::resident;
}

Duration KeptStates::copy_time(Bytes size) const {
  const Bandwidth bandwidth = device_.h2d.bandwidth;
  return size > Bytes{} && bandwidth.bytes_per_second > 0 ? transfer_time(size, bandwidth) : Duration{};
}

}  // namespace gangway
