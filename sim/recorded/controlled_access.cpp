// Recorded clients under policies that control access. README.md is the definition.
#include <algorithm>
#include <utility>

#include "sim/recorded/recorded_world.hpp"

namespace gangway {

// A submission comes to the gate, if it has not been there.
bool RecordedWorld::traps_at_gate(RecordedClient& client, HostThread& thread) {
  if (thread.doing != HostThread::Doing::gap) return false;
  if (!traps(index_of_thread(client, thread), 1)) return false;
  wait_until(client, thread, HostThread::Doing::trapped, now_ + setup_.device.access.interception);
  return true;
}

void RecordedWorld::pass(std::uint32_t thread) {
  RecordedClient& client = client_of_thread(thread);
  call(client, thread_of(client, thread));
}

// At the end of an instant, so that what comes and goes within it does not count.
void RecordedWorld::look_who_uses() {
  const auto changed = [&](const RecordedClient& client) {
    return client.uses != on_device(client.run.id());
  };
  if (std::none_of(clients_.begin(), clients_.end(), changed)) return;
  bring_use_up_to_date();
  for (RecordedClient& client : clients_) client.uses = on_device(client.run.id());
}

// Who uses a GPU has had an equal share of it.
void RecordedWorld::bring_use_up_to_date() {
  const Duration passed = now_ - std::exchange(use_told_, now_);
  if (passed == Duration{}) return;
  std::vector<std::int64_t> users(static_cast<std::size_t>(setup_.device.gpus));
  for (const RecordedClient& client : clients_)
    if (client.uses) ++users[gpus_[client.run.id().index]];
  for (const RecordedClient& client : clients_)
    if (client.uses) used(client.run.id(), Duration{passed.ns / users[gpus_[client.run.id().index]]});
}

std::int64_t RecordedWorld::channels_needed(ClientId client) const {
  return static_cast<std::int64_t>(clients_[client.index].recorded->program->streams.size());
}

void RecordedWorld::other_kernels(ClientId client) {
  if (controlled()) watch_request(client);
}

std::optional<AccessWorld::RunningRequest> RecordedWorld::running(ClientId client) const {
  const auto kernel = streams_.first_begun(client);
  if (!kernel) return std::nullopt;
  return RunningRequest{kernel->since, kernel->number};
}

void RecordedWorld::vanish(ClientId id, Mark how) {
  RecordedClient& client = clients_[id.index];
  if (how == Mark::refused && client.own_pace && !none_to_begin(client)) {
    client.run.next_release();
    release(client);
    note_released(client, std::nullopt);
  }
  if (client.stay) end_stay(client);
  for (const PlayedRun& open : client.open) streams_.end_copies(open.id);
  streams_.remove(id, now_);
  for (const PlayedRun& open : client.open) note({.time = now_, .job = open.id, .mark = how});
  for (std::uint32_t number = client.run.begun(); number < client.run.released(); ++number)
    note({.time = now_, .job = {id, number}, .mark = how});
  client.open.clear();
  client.due.clear();
  client.gone = true;
  for (HostThread& thread : client.threads) {
    thread.doing = HostThread::Doing::nothing;
    thread.event = 0;
    thread.helps.clear();
  }
}

}  // namespace gangway
