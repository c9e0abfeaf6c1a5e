// The part of the simulated world that moves clients' state between host and GPUs for a policy.
// sim/memory/README.md is the exact definition.
#include <fmt/format.h>

#include "sim/world.hpp"

namespace gangway {
namespace {

constexpr std::uint32_t kMostMoves = 100'000;  // in a row, before a block-task is done

}  // namespace

void SimulatedWorld::restore(JobId job, DeviceId device, BlockRange blocks) {
  check_move(job, device, "restore");
  if (const std::string refusal = memory_.restore_refusal(job, device, blocks); !refusal.empty())
    impossible(refusal);
  const Bytes size = memory_.restore_begins(job, device, blocks);
  note_memory(job, device);
  begin_move(job, device, Direction::restore, size, move_delays_.order);
}

void SimulatedWorld::save(JobId job, DeviceId device) {
  check_move(job, device, "save");
  if (const std::string refusal = memory_.save_refusal(job, device); !refusal.empty()) impossible(refusal);
  begin_move(job, device, Direction::save, memory_.save_begins(job, device), Duration{});
}

void SimulatedWorld::check_move(JobId job, DeviceId device, const char* order) const {
  check_device(device, order);
  if (!moves_memory_) impossible("a save or restore by a policy that does not move memory");
  const Gpu& gpu = gpus_[device.index];
  if (!gpu.free() && gpu.stay().kernel.job == job)
    impossible(std::string("a ") + order + " of the job that owns the GPU");
}

void SimulatedWorld::begin_move(JobId job, DeviceId gpu, Direction direction, Bytes size, Duration wait) {
  const std::uint32_t index = move_index(job, gpu, direction);
  moving_[index >> 1] = {job, size};
  ++states_[job.client.index].moves;
  if (++moves_ == kMostMoves)
    stop(fmt::format("no block-task was done while the policy saved and restored {} times", moves_));
  if (wait > Duration{})
    push(now_ + wait, kMoveBegins, index);
  else
    copy_state(index);
}

void SimulatedWorld::copy_state(std::uint32_t index) {
  const Move& move = moving_[index >> 1];
  const auto direction = static_cast<Direction>(index & 1);
  if (move.size.count > 0)
    ask_for_copy(gpu_of_move(index), direction, {move.job, move.size, CopyQueue::Purpose::move});
  else
    move_copied(move.job, gpu_of_move(index), direction, move.size);
}

void SimulatedWorld::move_copied(JobId job, DeviceId gpu, Direction direction, Bytes size) {
  const std::uint32_t index = move_index(job, gpu, direction);
  if (move_delays_.notice > Duration{} || size.count == 0)
    push(now_ + move_delays_.notice, kMoved, index);
  else
    moved(index);
}

void SimulatedWorld::moved(std::uint32_t index) {
  const JobId job = moving_[index >> 1].job;
  const DeviceId gpu = gpu_of_move(index);
  const auto direction = static_cast<Direction>(index & 1);
  MovedState& state = states_[job.client.index];
  --state.moves;
  if (direction == Direction::save) {
    memory_.saved(job.client, gpu);
    note_memory(job, gpu);
  } else if (!state.leaving) {
    memory_.restored(job.client, gpu);
  }
  if (direction == Direction::save || !state.leaving) tell(Moved{job, gpu, direction, true});
  if (state.settling) settle_memory(job.client);
}

void SimulatedWorld::launch_uses(JobId job, DeviceId gpu, BlockRange blocks) {
  memory_.launched(job, gpu, blocks, [&](DeviceId freed) { note_memory(job, freed); });
}

bool SimulatedWorld::must_settle(JobId job) {
  MovedState& state = states_[job.client.index];
  state.leaving = book_.job(job).finished();
  const bool merge = memory_.needs_merge(job.client);
  if (!merge) memory_.kernel_over(job.client);
  if (state.leaving) memory_.leaving(job.client);
  state.settling = merge || (state.leaving && state.moves > 0);
  return state.settling;
}

// As far as it goes: moves under way end, then GPUs' versions are read, then the host merges them.
void SimulatedWorld::settle_memory(ClientId client) {
  MovedState& state = states_[client.index];
  if (state.moves > 0 || state.merging) return;
  if (!memory_.needs_merge(client)) return settled(client);
  state.merging = true;
  const JobId job = clients_[client.index].job();
  for (std::uint32_t g = 0; g < gpus_.size(); ++g) {
    const Bytes size = memory_.unmerged(client, DeviceId{g});
    if (size.count == 0) continue;
    ++state.copies;
    ask_for_copy(DeviceId{g}, Direction::save, {job, size, CopyQueue::Purpose::merge});
  }
  if (state.copies == 0) merge(client);
}

void SimulatedWorld::merge_copied(ClientId client) {
  if (--states_[client.index].copies == 0) merge(client);
}

void SimulatedWorld::merge(ClientId client) {
  const auto& rate = setup_.device.merge;
  push(now_ + (rate ? transfer_time(memory_.versions(client), *rate) : Duration{}), kMerged, client.index);
}

void SimulatedWorld::merged(ClientId client) {
  memory_.merged_on_host(client);
  note({.time = now_, .job = clients_[client.index].job(), .mark = Mark::merged});
  states_[client.index].merging = false;
  settle_memory(client);
}

void SimulatedWorld::settled(ClientId client) {
  states_[client.index].settling = false;
  ClientRun& run = clients_[client.index];
  if (const Time free = free_host(run); free > now_)
    push(free, kHostFree, client.index);
  else
    go_on(run, true);
}

bool SimulatedWorld::copy_outputs(JobId job) {
  MovedState& state = states_[job.client.index];
  for (std::uint32_t g = 0; g < gpus_.size(); ++g) {
    const Bytes size = memory_.outputs(job.client, DeviceId{g});
    if (size.count == 0) continue;
    ++state.copies;
    ask_for_copy(DeviceId{g}, Direction::save, {job, size});
  }
  return state.copies > 0;
}

// The job is finished; `late`: and its Left was told before.
void SimulatedWorld::free_memory(JobId job, bool late) {
  for (std::uint32_t g = 0; g < gpus_.size(); ++g) {
    const DeviceId gpu{g};
    if (!memory_.free(job.client, gpu)) continue;
    note_memory(job, gpu);
    if (late) tell(Moved{job, gpu, Direction::save, true});
  }
  memory_.job_over(job.client);
  states_[job.client.index] = {};
}

void SimulatedWorld::note_memory(JobId job, DeviceId gpu) {
  note({.time = now_,
        .amount = memory_.held(job.client, gpu).count,
        .job = job,
        .mark = Mark::holds,
        .gpu = static_cast<std::uint8_t>(gpu.index)});
}

}  // namespace gangway
