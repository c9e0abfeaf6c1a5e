#include "sim/world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace gangway {
namespace {

std::vector<CommandDelays> delays_of(const WorldSetup& setup, const Client& client) {
  std::vector<CommandDelays> delays;
  for (const Kernel& kernel : client.kernels) delays.push_back(setup.mechanism.delays(kernel, setup.device));
  return delays;
}

constexpr std::uint32_t kMostFruitless = 100'000;

std::uint8_t number_of(DeviceId gpu) { return static_cast<std::uint8_t>(gpu.index); }

std::int64_t moved_bytes(const CopyQueue::Copy& copy) { return copy.of_program() ? 0 : copy.size.count; }

}  // namespace

SimulatedWorld::SimulatedWorld(const WorldSetup& setup)
    : EventWorld(setup),
      gpus_(static_cast<std::size_t>(setup.device.gpus)),
      gone_events_(gpus_.size()),
      copies_(setup.device),
      memory_(setup_, book_),
      move_delays_(setup.mechanism.moves()),
      moving_(setup.workload.clients.size() * gpus_.size()),
      states_(setup.workload.clients.size()) {
  bool share = false;
  for (std::uint32_t c = 0; c < setup_.workload.clients.size(); ++c) {
    const Client& client = setup_.workload.clients[c];
    clients_.emplace_back(setup_, ClientId{c});
    delays_.push_back(delays_of(setup_, client));
    if (client.native) share = true;
  }
  if (share) share_device(false);
}

void SimulatedWorld::share_device(bool all_native) {
  all_native_ = all_native;
  device_.emplace(setup_, all_native, DeviceEvents{queue_, kBlocks, kLook, kKindBits}, journal_,
                  static_cast<DeviceHost&>(*this));
}

void SimulatedWorld::reset(const Policy& policy, const RunSeed& seed, std::span<const std::uint32_t> order) {
  if (policy.needs().has(Capability::native) && !all_native_) share_device(true);
  moves_memory_ = policy.needs().has(Capability::memory);
  for (Gpu& gpu : gpus_) gpu.release();
  memory_.reset();
  states_.assign(clients_.size(), {});
  copies_.reset();
  if (device_) device_->reset(seed);
  hosts_.reset(clients_.size());
  launches_ = fruitless_ = moves_ = 0;
  for (std::size_t position = 0; position < order.size(); ++position) {
    ClientRun& client = clients_[order[position]];
    client.reset(seed, first_release(setup_.workload, client.client(), position));
  }
  // In client order, so that simultaneous releases are in client order too.
  for (ClientRun& client : clients_)
    if (const auto due = client.next_release()) push(*due, kRelease, client.id().index);
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
    while (more_now()) {
      handle(queue_.pop());
      ++events;
    }
    settle();
    if (!told()) {
      tell_and_decide();
      settle();
    }
    count_round(rounds);
  } while (!told() || more_now());
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
      return release(ClientId{index});
    case kCopied:
      return copied(index, event.sequence);
    case kStart:
      return started(index);
    case kGone:
      return gone(index, event.sequence);
    case kReport:
      return report(index);
    case kTimer:
      return timer_due(event);
    case kBlocks:
      return device_->blocks_ended(index, now_);
    case kFlagSeen:
      return flag_seen(event.sequence);
    case kHostFree:
      return go_on(clients_[index], true);
    case kMoveBegins:
      return copy_state(index);
    case kMoved:
      return moved(index);
    case kMerged:
      return merged(ClientId{index});
    case kLook:  // a delay is over: settle() sees which
      return;
  }
}

void SimulatedWorld::settle_copies() {
  copies_.settle(
      now_,
      [&](const CopyQueue::Copy& copy, DeviceId gpu, Direction direction) {
        copy_begun(copy, gpu, direction);
      },
      [&](Time end, std::uint32_t index) { return push(end, kCopied, index); });
}

void SimulatedWorld::copy_begun(const CopyQueue::Copy& copy, DeviceId gpu, Direction direction) {
  if (copy.of_program() && is_native(copy.job.client)) device_->copy_begun(copy, direction, now_);
  note({.time = now_,
        .amount = moved_bytes(copy),
        .job = copy.job,
        .mark = Mark::copy_begins,
        .direction = direction,
        .program_copy = copy.of_program(),
        .gpu = number_of(gpu)});
}

// --- Clients
// ------------------------------------------------------------------------------------------------------------

void SimulatedWorld::release(ClientId id) {
  ClientRun& client = clients_[id.index];
  client.release();
  note_release(client);
  if (const auto due = client.next_release()) push(*due, kRelease, id.index);
  if (is_native(id))
    device_->released(client.last_released());
  else
    begin_job(client);
}

void SimulatedWorld::native_job_over(JobId job) {
  note({.time = now_, .job = job, .mark = Mark::finished});
  if (const auto due = clients_[job.client.index].after_finish(now_)) push(*due, kRelease, job.client.index);
}

void SimulatedWorld::begin_job(ClientRun& client) {
  if (!client.begin()) return;
  const bool by_restore = moves_memory_ && !client.client().variables.empty();
  if (client.client().copy_in.count > 0 && !by_restore)
    ask_for_copy(Direction::restore, {client.job(), client.client().copy_in});
  else
    begin_kernels(client);
}

void SimulatedWorld::begin_kernels(ClientRun& client) {
  const Duration gap = host_gap(client);
  if (gap > Duration{})
    push(now_ + gap, kHostFree, client.id().index);
  else
    eligible(client, true);
}

void SimulatedWorld::eligible(ClientRun& client, bool arrives) {
  const JobId job = client.job();
  note({.time = now_, .job = job, .kernel = client.kernel(), .mark = Mark::eligible});
  if (client.kernel() == 0) book_.arrived(job, now_, client.priority_of(job));
  if (arrives) tell(Arrived{job});
}

void SimulatedWorld::copied(std::uint32_t index, std::uint64_t event) {
  const auto ended = copies_.end(index, event, now_);
  if (!ended) return;
  const CopyQueue::Copy& copy = ended->copy;
  const Direction direction = copies_.direction_of(index);
  const DeviceId gpu = copies_.gpu_of(index);
  const ClientId client = copy.job.client;
  note({.time = now_,
        .amount = moved_bytes(copy),
        .job = copy.job,
        .mark = Mark::copy_ends,
        .direction = direction,
        .program_copy = copy.of_program(),
        .gpu = number_of(gpu)});
  if (copy.purpose == CopyQueue::Purpose::move)
    move_copied(copy.job, gpu, direction, copy.size);
  else if (copy.purpose == CopyQueue::Purpose::merge)
    merge_copied(client);
  else if (is_native(client))
    device_->copied(copy, direction, ended->began);
  else if (direction == Direction::restore)
    begin_kernels(clients_[client.index]);
  else if (!moves_memory_ || --states_[client.index].copies == 0)
    finish_job(clients_[client.index], true);
}

// `late`: some time after its last kernel.
void SimulatedWorld::finish_job(ClientRun& client, bool late) {
  if (moves_memory_) free_memory(client.job(), late);
  note({.time = now_, .job = client.job(), .mark = Mark::finished});
  client.finish();
  if (const auto due = client.after_finish(now_)) push(*due, kRelease, client.id().index);
  begin_job(client);
}

// --- The GPU
// ------------------------------------------------------------------------------------------------------------

const Gpu::Stay& SimulatedWorld::begin_launch(const RunningKernel& kernel, DeviceId gpu, BlockRange range) {
  book_.launched(kernel.job, range);
  if (moves_memory_) launch_uses(kernel.job, gpu, range);
  const Gpu::Stay& stay =
      gpus_[gpu.index].launch(now_, LaunchId{++launches_}, kernel,
                              delays_[kernel.job.client.index][kernel.index], range, host_wait(kernel));
  note({.time = now_,
        .launch = stay.launch,
        .amount = range.first.count,
        .job = kernel.job,
        .kernel = kernel.index,
        .mark = Mark::launch_ordered,
        .gpu = number_of(gpu)});
  push(stay.started, kStart, gpu.index);
  if (device_)
    gpus_[0].share(device_->launch(stay));
  else
    gone_events_[gpu.index] = push(stay.gone, kGone, gpu.index);
  return stay;
}

Duration SimulatedWorld::host_wait(const RunningKernel& kernel) {
  const std::uint32_t client = kernel.job.client.index;
  return hosts_.launch(now_, kernel.job, kernel.index,
                       clients_[client].client().kernels[kernel.index].host_work,
                       delays_[client][kernel.index].host_wait);
}

void SimulatedWorld::started(std::uint32_t gpu) {
  const Gpu::Stay& stay = gpus_[gpu].stay();
  if (device_ && !device_->joined()) return device_->join(stay, now_);
  note({.time = now_,
        .launch = stay.launch,
        .job = stay.kernel.job,
        .kernel = stay.kernel.index,
        .mark = Mark::started,
        .gpu = static_cast<std::uint8_t>(gpu)});
  tell(Started{stay.launch, stay.kernel.job});
}

void SimulatedWorld::gone(std::uint32_t gpu, std::uint64_t sequence) {
  if (sequence != gone_events_[gpu]) return;  // an eviction changed the end, or the number of blocks did
  if (device_)
    device_->close(now_);
  else
    end_stay(gpu);
}

void SimulatedWorld::end_stay(std::uint32_t gpu) {
  Gpu::Stay& stay = gpus_[gpu].stay();
  stay.over = true;
  note({.time = now_,
        .launch = stay.launch,
        .amount = (stay.done - stay.range.first).count,
        .job = stay.kernel.job,
        .kernel = stay.kernel.index,
        .mark = Mark::gone,
        .gpu = static_cast<std::uint8_t>(gpu)});
  const CommandDelays& delays = *stay.delays;
  push(now_ + delays.notice + delays.pending_work, kReport, gpu);
}

void SimulatedWorld::report(std::uint32_t gpu) {
  const Gpu::Stay stay = gpus_[gpu].stay();
  gpus_[gpu].release();
  const JobId job = stay.kernel.job;
  ClientRun& client = clients_[job.client.index];
  const JobFacts& facts = book_.job(job);
  const BlockCount done = facts.done + (stay.done - stay.range.first);
  const bool kernel_over = book_.left(job, stay.range, stay.done);
  if (kernel_over) client.next_kernel();
  const Why why = kernel_over ? Why::completed : stay.done == stay.range.last ? Why::budget : Why::evicted;
  fruitless_ = stay.done == stay.range.first ? fruitless_ + 1 : 0;
  if (fruitless_ == 0) moves_ = 0;
  note({.time = now_,
        .launch = stay.launch,
        .amount = done.count,
        .job = job,
        .kernel = stay.kernel.index,
        .mark = Mark::left,
        .why = why,
        .gpu = static_cast<std::uint8_t>(gpu)});
  if (fruitless_ == kMostFruitless)
    stop(fmt::format("no block-task was done in {} launches, as when a quantum is shorter than a block-task",
                     fruitless_));
  const bool settles = kernel_over && moves_memory_ && must_settle(job);
  const Time host_free = free_host(client);
  const bool wait = kernel_over && (settles || host_free > now_);
  tell(Left{stay.launch, job, why, done, facts.finished() || wait});
  if (settles)
    settle_memory(client.id());
  else if (wait)
    push(host_free, kHostFree, client.id().index);
  else if (kernel_over)
    go_on(client, false);
}

// When the host thread has passed the end of the last kernel and comes to the next.
Time SimulatedWorld::free_host(const ClientRun& client) const {
  const Time free = std::max(now_, hosts_.free(client.id()));
  return client.kernels_left() ? free + host_gap(client) : free;
}

// The host thread has passed the end of a kernel; `late`: some time after it.
void SimulatedWorld::go_on(ClientRun& client, bool late) {
  if (client.kernels_left())
    eligible(client, late);
  else if (moves_memory_ ? !copy_outputs(client.job()) : client.client().copy_out.count == 0)
    finish_job(client, late);
  else if (!moves_memory_)
    ask_for_copy(Direction::save, {client.job(), client.client().copy_out});
}

// --- On a device that native clients use, too
// ------------------------------------------------------------------------------------------

void SimulatedWorld::launch_placed(std::int64_t running) {
  gpus_[0].placed(now_, running);
  gone_events_[0] = push(gpus_[0].stay().gone, kGone);
}

void SimulatedWorld::flag_seen(std::uint64_t sequence) {
  if (!device_->awaits_flag(sequence)) return;
  const bool changed = gpus_[0].flag_seen(now_);
  if (device_->flag_seen() && changed) gone_events_[0] = push(gpus_[0].stay().gone, kGone);
}

// --- Orders
// -------------------------------------------------------------------------------------------------------------

LaunchId SimulatedWorld::launch(JobId job, DeviceId device, BlockRange range) {
  check_device(device, "launch");
  if (!gpus_[device.index].free()) impossible("a launch while another kernel owns the GPU");
  if (const std::string refusal = book_.refusal(job, range); !refusal.empty()) impossible(refusal);
  if (moves_memory_ && !memory_.holds(job, device, range))
    impossible("a launch of a job whose state is not on the device");
  return begin_launch(clients_[job.client.index].running(), device, range).launch;
}

void SimulatedWorld::evict(LaunchId launch) {
  if (launch.value > launches_) impossible("an eviction of a launch that never was");
  const auto gpu = std::find_if(gpus_.begin(), gpus_.end(),
                                [&](const Gpu& g) { return !g.free() && g.stay().launch == launch; });
  if (gpu == gpus_.end()) return;
  const auto number = static_cast<std::uint32_t>(gpu - gpus_.begin());
  Gpu::Stay& stay = gpu->stay();
  if (!stay.over && !stay.evict_ordered) {
    note({.time = now_,
          .launch = launch,
          .job = stay.kernel.job,
          .kernel = stay.kernel.index,
          .mark = Mark::evict_ordered,
          .gpu = static_cast<std::uint8_t>(number)});
    if (device_ && stay.delays->wave == 0) {
      stay.evict_ordered = now_;
      device_->evict(push(now_ + stay.delays->seen, kFlagSeen));
      return;
    }
  }
  if (gpu->evict(now_)) gone_events_[number] = push(stay.gone, kGone, number);
}

void SimulatedWorld::check_device(DeviceId device, const char* order) const {
  if (device.index >= gpus_.size())
    impossible(fmt::format("a {} on device {}, of {}", order, device.index, gpus_.size()));
}

}  // namespace gangway
