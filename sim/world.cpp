#include "sim/world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/random.hpp"

namespace gangway {
namespace {

std::vector<CommandDelays> delays_of(const WorldSetup& setup, const Client& client) {
  std::vector<CommandDelays> delays;
  for (const Kernel& kernel : client.kernels)
    delays.push_back(setup.mechanism.applicable_delays(kernel, setup.device));
  return delays;
}

std::uint8_t number_of(DeviceId gpu) { return static_cast<std::uint8_t>(gpu.index); }

std::int64_t moved_bytes(const CopyQueue::Copy& copy) { return copy.of_program() ? 0 : copy.size.count; }

}  // namespace

SimulatedWorld::SimulatedWorld(const WorldSetup& setup)
    : EventWorld(setup),
      gpus_(static_cast<std::size_t>(setup.device.gpus)),
      gone_events_(gpus_.size()),
      copies_(setup.device),
      moves_(setup_, book_, static_cast<MoveHost&>(*this)),
      jobs_(setup_, book_, grants_ ? &*grants_ : nullptr, static_cast<JobStage&>(*this)) {
  bool share = false;
  for (const Client& client : setup_.workload.clients) {
    copies_in_on_.push_back(
        placed_in_turn(client.gpus, static_cast<std::uint32_t>(delays_.size()), jobs_.gpus()));
    delays_.push_back(delays_of(setup_, client));
    share = share || client.native;
  }
  ran_on_ = copies_in_on_;
  idle_since_.resize(gpus_.size());
  reads_wait_.resize(gpus_.size());
  if (share) share_device(false);
}

void SimulatedWorld::share_device(bool all_native) {
  all_native_ = all_native;
  device_.emplace(setup_, all_native, DeviceEvents{queue_, kBlocks, kLook, kKindBits}, journal_,
                  static_cast<DeviceHost&>(*this));
}

// --- Events
// -------------------------------------------------------------------------------------------------------------

void SimulatedWorld::reset(const Policy& policy, const RunSeed& seed, std::span<const std::uint32_t> order) {
  if (policy.needs().has(Capability::native) && !all_native_) share_device(true);
  moves_memory_ = policy.needs().has(Capability::memory);
  for (Gpu& gpu : gpus_) gpu.reset();
  seed_ = seed;
  idle_since_.assign(gpus_.size(), Time{});
  reads_wait_.assign(gpus_.size(), false);
  moves_.reset();
  copies_.reset();
  if (device_) device_->reset(seed);
  hosts_.reset(setup_.workload.clients.size());
  jobs_.begin(seed, order);
}

void SimulatedWorld::over() {
  if (device_) device_->flush();
}

std::uint64_t SimulatedWorld::play_instant() {
  std::uint64_t events = 0;
  int rounds = 0;
  if (device_ && !setup_.by_block) {
    if (nothing_but_a_wave()) return 1;
    events = 1;
  }
  do {
    do {
      while (more_now()) {
        handle(queue_.pop());
        ++events;
      }
      settle();
    } while (more_now());
    if (!nothing_to_tell()) {
      tell_and_decide();
      settle();
    }
    count_round(rounds);
  } while (!nothing_to_tell() || more_now());
  return events;
}

// The end of equal blocks whose places as many of the same kernel take at once, and nothing else in this
// instant.
bool SimulatedWorld::nothing_but_a_wave() {
  const EventQueue::Event event = queue_.pop();
  const Time end = std::min(setup_.horizon, kEndOfClock) + Duration{1};
  const Time next = queue_.empty() ? end : std::min(queue_.next_time(), end);
  if (kind_of(event) == kBlocks && next > now_ && device_->prolong(index_of(event), now_, next)) return true;
  handle(event);
  return false;
}

void SimulatedWorld::handle(const EventQueue::Event& event) {
  const std::uint32_t index = index_of(event);
  switch (kind_of(event)) {
    case kRelease:
      return jobs_.release(ClientId{index}, now_, now_);
    case kCopied:
      return copied(index, event.sequence);
    case kStart:
      return started(index);
    case kGone:
      return last_block_ends(index, event.sequence);
    case kReport:
      return report(index);
    case kTimer:
      return timer_due(event);
    case kBlocks:
      return device_->blocks_ended(index, now_);
    case kFlagSeen:
      return flag_seen(event.sequence);
    case kHostFree:
      return jobs_.host_free(ClientId{index}, now_);
    case kMoveBegins:
      return moves_.begin(index, now_);
    case kMoved:
      return moves_.over(index, now_);
    case kMerged:
      return moves_.merged(jobs_.client(ClientId{index}).job(), now_);
    case kIdle:
      return jobs_.idle(DeviceId{index}, now_);
    case kLook:  // a delay is over: settle() sees which
      return;
  }
}

// --- Copies
// -------------------------------------------------------------------------------------------------------------

void SimulatedWorld::settle_copies() {
  copies_.settle(
      now_,
      [&](const CopyQueue::Copy& copy, DeviceId gpu, CopyDirection direction) {
        copy_begun(copy, gpu, direction);
      },
      [&](Time end, std::uint32_t index) { return push(end, kCopied, index); });
}

void SimulatedWorld::copy_begun(const CopyQueue::Copy& copy, DeviceId gpu, CopyDirection direction) {
  if (copy.of_program() && is_native(copy.job.client)) device_->copy_begun(copy, direction, now_);
  note({.time = now_,
        .amount = moved_bytes(copy),
        .job = copy.job,
        .mark = Mark::copy_begins,
        .direction = direction,
        .program_copy = copy.of_program(),
        .gpu = number_of(gpu)});
}

void SimulatedWorld::copied(std::uint32_t index, std::uint64_t event) {
  const auto ended = copies_.end(index, event, now_);
  if (!ended) return;
  const CopyQueue::Copy& copy = ended->copy;
  const CopyDirection direction = copies_.direction_of(index);
  const DeviceId gpu = copies_.gpu_of(index);
  const ClientId client = copy.job.client;
  idle_since_[gpu.index] = now_;
  if (direction == CopyDirection::to_host && reads_wait_[gpu.index]) {
    reads_wait_[gpu.index] = false;
    read_pending_work(gpu.index);
  }
  note({.time = now_,
        .amount = moved_bytes(copy),
        .job = copy.job,
        .mark = Mark::copy_ends,
        .direction = direction,
        .program_copy = copy.of_program(),
        .gpu = number_of(gpu)});
  if (copy.purpose == CopyQueue::Purpose::move)
    moves_.copied(copy.job, gpu, direction, copy.size, now_);
  else if (copy.purpose == CopyQueue::Purpose::merge)
    moves_.merge_copied(copy.job);
  else if (is_native(client))
    device_->copied(copy, direction, ended->began);
  else if (direction == CopyDirection::to_device)
    jobs_.copied_in(client, now_);
  else if (!moves_memory_ || moves_.output_copied(client))
    jobs_.copied_out(client, now_);
}

// --- Jobs
// -------------------------------------------------------------------------------------------------------------

bool SimulatedWorld::released_to_device(JobId job) {
  if (!is_native(job.client)) return false;
  device_->released(job);
  return true;
}

bool SimulatedWorld::copy_in(JobId job) {
  const Client& client = setup_.workload.clients[job.client.index];
  const bool by_restore = moves_memory_ && !client.variables.empty();
  if (client.copy_in.count == 0 || by_restore) return false;
  const DeviceId gpu = moves_memory_ ? DeviceId{0} : copies_in_on_[job.client.index];
  ask_for_copy(gpu, CopyDirection::to_device, {job, client.copy_in});
  return true;
}

bool SimulatedWorld::copy_out(JobId job) {
  if (moves_memory_) return moves_.copy_outputs(job);
  const Bytes size = setup_.workload.clients[job.client.index].copy_out;
  if (size.count == 0) return false;
  ask_for_copy(ran_on_[job.client.index], CopyDirection::to_host, {job, size});
  return true;
}

// --- The GPUs
// ------------------------------------------------------------------------------------------------------------

void SimulatedWorld::place(const Launch& launch) {
  const RunningKernel& kernel = launch.kernel;
  const CommandDelays& delays = delays_[kernel.job.client.index][kernel.index];
  ran_on_[kernel.job.client.index] = launch.gpu;
  if (moves_memory_) moves_.launched(kernel.job, launch.gpu, launch.range, now_);
  const Duration host_wait = hosts_.launch(
      now_, kernel.job, kernel.index,
      setup_.workload.clients[kernel.job.client.index].kernels[kernel.index].host_work, delays.host_wait);
  Gpu& gpu = gpus_[launch.gpu.index];
  const Duration wait = host_wait + longer_launch(launch.gpu, delays);
  const Gpu::ResidentLaunch& resident = gpu.launch(launch, delays, wait);
  push(resident.started, kStart, launch.gpu.index);
  if (device_)
    gpu.share(device_->launch(resident));
  else
    gone_events_[launch.gpu.index] = push(resident.gone, kGone, launch.gpu.index);
}

void SimulatedWorld::displace(const Launch& launch) {
  Gpu& gpu = gpus_[launch.gpu.index];
  const CommandDelays& delays = *gpu.resident().delays;
  const bool delayed = !delays.ideal && copies(launch.gpu);
  const Time sent = now_ + (delayed ? setup_.device.commands.beside_copies.evict : Duration{});
  if (device_ && delays.wave == 0)
    device_->evict(push(sent + delays.seen, kFlagSeen));
  else if (gpu.evict(sent, drawn_for(launch)))
    gone_events_[launch.gpu.index] = push(gpu.resident().gone, kGone, launch.gpu.index);
}

bool SimulatedWorld::copies(DeviceId gpu) const {
  return copies_.copies(gpu, CopyDirection::to_device) || copies_.copies(gpu, CopyDirection::to_host);
}

Duration SimulatedWorld::longer_launch(DeviceId gpu, const CommandDelays& delays) const {
  const CommandCosts& costs = setup_.device.commands;
  if (delays.ideal) return {};
  if (copies(gpu)) return costs.beside_copies.launch;
  return device_ ? Duration{} : costs.longer_after(now_ - idle_since_[gpu.index]);
}

// The same under every policy that evicts the job there.
double SimulatedWorld::drawn_for(const Launch& launch) const {
  const auto& measured = gpus_[launch.gpu.index].resident().delays->measured;
  if (measured == nullptr || measured->near == 1) return 0;
  const JobId job = launch.kernel.job;
  return Stream(seed_.seed, "eviction",
                {seed_.replication, seed_.permutation, job.client.index, job.number, launch.kernel.index,
                 static_cast<std::uint64_t>(launch.range.first.count)})
      .uniform();
}

void SimulatedWorld::started(std::uint32_t gpu) {
  if (device_ && !device_->joined()) return device_->join(jobs_.on(DeviceId{gpu}), now_);
  jobs_.began(DeviceId{gpu}, now_);
}

void SimulatedWorld::last_block_ends(std::uint32_t gpu, std::uint64_t event) {
  if (event != gone_events_[gpu]) return;  // an eviction changed the end, or the number of blocks did
  if (device_)
    device_->close(now_);
  else
    gone(gpu);
}

void SimulatedWorld::gone(std::uint32_t gpu) {
  const Gpu::ResidentLaunch& resident = gpus_[gpu].resident();
  idle_since_[gpu] = now_;
  jobs_.ended(DeviceId{gpu}, now_, resident.done - resident.launch->range.first);
  if (resident.delays->pending_work.ns > 0 && setup_.device.commands.beside_copies.reads_wait &&
      copies_.copies(DeviceId{gpu}, CopyDirection::to_host))
    reads_wait_[gpu] = true;
  else
    read_pending_work(gpu);
}

void SimulatedWorld::read_pending_work(std::uint32_t gpu) {
  const CommandDelays& delays = *gpus_[gpu].resident().delays;
  const Time asked = std::max(now_, jobs_.on(DeviceId{gpu}).ended + delays.notice);
  push(asked + delays.pending_work, kReport, gpu);
}

void SimulatedWorld::report(std::uint32_t gpu) {
  const BlockCount done = gpus_[gpu].resident().done;
  if (done > gpus_[gpu].resident().launch->range.first) moves_.progressed();
  gpus_[gpu].release();
  jobs_.report(DeviceId{gpu}, done, now_);
}

// --- On a device that native clients use, too
// ------------------------------------------------------------------------------------------

void SimulatedWorld::launch_placed(std::int64_t running) {
  gpus_[0].placed(now_, running);
  gone_events_[0] = push(gpus_[0].resident().gone, kGone);
}

void SimulatedWorld::flag_seen(std::uint64_t event) {
  if (!device_->awaits_flag(event)) return;
  const bool changed = gpus_[0].flag_seen(now_);
  if (device_->flag_seen() && changed) gone_events_[0] = push(gpus_[0].resident().gone, kGone);
}

// --- Orders
// -------------------------------------------------------------------------------------------------------------

LaunchId SimulatedWorld::launch(JobId job, DeviceId device, std::optional<BlockRange> range) {
  if (moves_memory_ && jobs_.refusal(job, device, range).empty() &&
      !moves_.holds(job, device, range.value_or(book_.rest(job))))
    impossible("a launch of a job whose state is not on the device");
  return jobs_.launch(job, device, range, now_);
}

void SimulatedWorld::restore(JobId job, DeviceId device, BlockRange blocks) {
  check_move(job, device, "restore");
  moves_.restore(job, device, blocks, now_);
}

void SimulatedWorld::save(JobId job, DeviceId device) {
  check_move(job, device, "save");
  moves_.save(job, device, now_);
}

void SimulatedWorld::check_move(JobId job, DeviceId device, const char* order) const {
  if (device.index >= gpus_.size())
    impossible(fmt::format("a {} on device {}, of {}", order, device.index, gpus_.size()));
  if (!moves_memory_) impossible("a save or restore by a policy that does not move memory");
  if (!jobs_.free(device) && jobs_.on(device).kernel.job == job)
    impossible(std::string("a ") + order + " of the job that owns the GPU");
}

}  // namespace gangway
