#include "sim/memory/moves.hpp"

#include <fmt/format.h>

namespace gangway {
namespace {

constexpr std::uint32_t kMostInVain = 100'000;

}  // namespace

MemoryMoves::MemoryMoves(const WorldSetup& setup, JobBook& book, MoveHost& host)
    : setup_(setup),
      book_(book),
      host_(host),
      gpus_(static_cast<std::uint32_t>(setup.device.gpus)),
      memory_(setup, book),
      delays_(setup.mechanism.moves()),
      moving_(setup.workload.clients.size() * gpus_),
      states_(setup.workload.clients.size()) {}

void MemoryMoves::reset() {
  memory_.reset();
  states_.assign(states_.size(), {});
  in_vain_ = 0;
}

// --- Orders

void MemoryMoves::restore(JobId job, DeviceId gpu, BlockRange blocks, Time now) {
  if (const std::string refusal = memory_.restore_refusal(job, gpu, blocks); !refusal.empty())
    host_.refuse_order(refusal);
  const Bytes size = memory_.restore_begins(job, gpu, blocks);
  note_held(job, gpu, now);
  order(job, gpu, MemoryMove::restore, size, delays_.order, now);
}

void MemoryMoves::save(JobId job, DeviceId gpu, Time now) {
  if (const std::string refusal = memory_.save_refusal(job, gpu); !refusal.empty())
    host_.refuse_order(refusal);
  order(job, gpu, MemoryMove::save, memory_.save_begins(job, gpu), Duration{}, now);
}

void MemoryMoves::order(JobId job, DeviceId gpu, MemoryMove move, Bytes size, Duration wait, Time now) {
  const std::uint32_t index = index_of(job, gpu, move);
  moving_[index >> 1] = {job, size};
  ++states_[job.client.index].moves;
  if (++in_vain_ == kMostInVain)
    host_.stop_run(
        fmt::format("no block-task was done while the policy saved and restored {} times", in_vain_));
  if (wait > Duration{})
    host_.begin_move_after(wait, index);
  else
    begin(index, now);
}

// --- Moves

void MemoryMoves::begin(std::uint32_t index, Time now) {
  const Move& move = moving_[index >> 1];
  const CopyDirection direction =
      move_of(index) == MemoryMove::restore ? CopyDirection::to_device : CopyDirection::to_host;
  if (move.size.count > 0)
    host_.ask_for_copy(gpu_of(index), direction, {move.job, move.size, CopyQueue::Purpose::move});
  else
    copied(move.job, gpu_of(index), direction, move.size, now);
}

void MemoryMoves::copied(JobId job, DeviceId gpu, CopyDirection direction, Bytes size, Time now) {
  const std::uint32_t index =
      index_of(job, gpu, direction == CopyDirection::to_device ? MemoryMove::restore : MemoryMove::save);
  if (delays_.notice > Duration{} || size.count == 0)
    host_.end_move_after(delays_.notice, index);
  else
    over(index, now);
}

void MemoryMoves::over(std::uint32_t index, Time now) {
  const JobId job = moving_[index >> 1].job;
  const DeviceId gpu = gpu_of(index);
  const MemoryMove move = move_of(index);
  State& state = states_[job.client.index];
  --state.moves;
  if (move == MemoryMove::save) {
    memory_.saved(job.client, gpu);
    note_held(job, gpu, now);
  } else if (!state.leaving) {
    memory_.restored(job.client, gpu);
  }
  if (move == MemoryMove::save || !state.leaving) host_.tell_fact(Moved{job, gpu, move});
  if (state.settling) settle(job);
}

void MemoryMoves::launched(JobId job, DeviceId gpu, BlockRange blocks, Time now) {
  memory_.launched(job, gpu, blocks, [&](DeviceId freed) { note_held(job, freed, now); });
}

// --- Programs

bool MemoryMoves::must_settle(JobId job) {
  State& state = states_[job.client.index];
  state.leaving = book_.job(job).finished();
  const bool merge = memory_.needs_merge(job.client);
  if (!merge) memory_.kernel_over(job.client);
  if (state.leaving) memory_.leaving(job.client);
  state.settling = merge || (state.leaving && state.moves > 0);
  return state.settling;
}

// As far as it goes: moves under way end, then GPUs' versions are read, then the host merges them.
void MemoryMoves::settle(JobId job) {
  const ClientId client = job.client;
  State& state = states_[client.index];
  if (state.moves > 0 || state.merging) return;
  if (!memory_.needs_merge(client)) {
    state.settling = false;
    return host_.memory_settled(client);
  }
  state.merging = true;
  for (std::uint32_t g = 0; g < gpus_; ++g) {
    const Bytes size = memory_.unmerged(client, DeviceId{g});
    if (size.count == 0) continue;
    ++state.copies;
    host_.ask_for_copy(DeviceId{g}, CopyDirection::to_host, {job, size, CopyQueue::Purpose::merge});
  }
  if (state.copies == 0) merge(client);
}

void MemoryMoves::merge_copied(JobId job) {
  if (--states_[job.client.index].copies == 0) merge(job.client);
}

void MemoryMoves::merge(ClientId client) {
  const auto& rate = setup_.device.merge;
  host_.end_merge_after(rate ? transfer_time(memory_.versions(client), *rate) : Duration{}, client);
}

void MemoryMoves::merged(JobId job, Time now) {
  memory_.merged_on_host(job.client);
  host_.note_record({.time = now, .job = job, .mark = Mark::merged});
  states_[job.client.index].merging = false;
  settle(job);
}

bool MemoryMoves::copy_outputs(JobId job) {
  State& state = states_[job.client.index];
  for (std::uint32_t g = 0; g < gpus_; ++g) {
    const Bytes size = memory_.outputs(job.client, DeviceId{g});
    if (size.count == 0) continue;
    ++state.copies;
    host_.ask_for_copy(DeviceId{g}, CopyDirection::to_host, {job, size});
  }
  return state.copies > 0;
}

void MemoryMoves::free(JobId job, bool late, Time now) {
  for (std::uint32_t g = 0; g < gpus_; ++g) {
    const DeviceId gpu{g};
    if (!memory_.free(job.client, gpu)) continue;
    note_held(job, gpu, now);
    if (late) host_.tell_fact(Moved{job, gpu, MemoryMove::save});
  }
  memory_.job_over(job.client);
  states_[job.client.index] = {};
}

void MemoryMoves::note_held(JobId job, DeviceId gpu, Time now) {
  host_.note_record({.time = now,
                     .amount = memory_.held(job.client, gpu).count,
                     .job = job,
                     .mark = Mark::holds,
                     .gpu = static_cast<std::uint8_t>(gpu.index)});
}

}  // namespace gangway
