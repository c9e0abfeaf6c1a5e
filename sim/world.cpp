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

std::int64_t moved_bytes(const CopyQueue::Copy& copy) { return copy.of_program ? 0 : copy.size.count; }

}  // namespace

SimulatedWorld::SimulatedWorld(const WorldSetup& setup)
    : EventWorld(setup),
      copies_(setup.device),
      memory_(setup_, book_),
      move_delays_(setup.mechanism.moves()),
      moving_(setup.workload.clients.size()) {
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
  gpu_.release();
  memory_.reset();
  copies_.reset();
  if (device_) device_->reset(seed);
  hosts_.reset(clients_.size());
  launches_ = fruitless_ = 0;
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
      return started();
    case kGone:
      return gone(event.sequence);
    case kReport:
      return report();
    case kTimer:
      return timer_due(event);
    case kBlocks:
      return device_->blocks_ended(index, now_);
    case kFlagSeen:
      return flag_seen(event.sequence);
    case kHostFree:
      return go_on(clients_[index], true);
    case kMoveBegins:
      return copy_state(clients_[index >> 1].job(), static_cast<Direction>(index & 1));
    case kMoved:
      return moved(clients_[index >> 1].job(), static_cast<Direction>(index & 1));
    case kLook:  // a delay is over: settle() sees which
      return;
  }
}

void SimulatedWorld::settle_copies() {
  copies_.settle(
      now_, [&](const CopyQueue::Copy& copy, DeviceId, Direction direction) { copy_begun(copy, direction); },
      [&](Time end, std::uint32_t index) { return push(end, kCopied, index); });
}

void SimulatedWorld::copy_begun(const CopyQueue::Copy& copy, Direction direction) {
  if (copy.of_program && is_native(copy.job.client)) device_->copy_begun(copy, direction, now_);
  note({.time = now_,
        .amount = moved_bytes(copy),
        .job = copy.job,
        .mark = Mark::copy_begins,
        .direction = direction,
        .program_copy = copy.of_program});
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
    ask_for_copy(Direction::restore, {client.job(), client.client().copy_in, true});
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

void SimulatedWorld::ask_for_copy(Direction direction, const CopyQueue::Copy& copy) {
  copies_.ask(DeviceId{0}, direction, copy, now_);
}

void SimulatedWorld::copied(std::uint32_t index, std::uint64_t event) {
  const auto ended = copies_.end(index, event, now_);
  if (!ended) return;
  const CopyQueue::Copy& copy = ended->copy;
  const Direction direction = copies_.direction_of(index);
  note({.time = now_,
        .amount = moved_bytes(copy),
        .job = copy.job,
        .mark = Mark::copy_ends,
        .direction = direction,
        .program_copy = copy.of_program});
  if (!copy.of_program)
    move_copied(copy.job, direction);
  else if (is_native(copy.job.client))
    device_->copied(copy, direction, ended->began);
  else if (direction == Direction::restore)
    begin_kernels(clients_[copy.job.client.index]);
  else
    finish_job(clients_[copy.job.client.index], true);
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

void SimulatedWorld::begin_launch(const RunningKernel& kernel, BlockRange range) {
  if (moves_memory_) memory_.launched(kernel.job);
  const Gpu::Stay& stay =
      gpu_.launch(now_, LaunchId{++launches_}, kernel, delays_[kernel.job.client.index][kernel.index], range,
                  host_wait(kernel));
  note({.time = now_,
        .launch = stay.launch,
        .amount = range.first.count,
        .job = kernel.job,
        .kernel = kernel.index,
        .mark = Mark::launch_ordered});
  push(stay.started, kStart);
  if (device_)
    gpu_.share(device_->launch(stay));
  else
    gone_event_ = push(stay.gone, kGone);
}

Duration SimulatedWorld::host_wait(const RunningKernel& kernel) {
  const std::uint32_t client = kernel.job.client.index;
  return hosts_.launch(now_, kernel.job, kernel.index,
                       clients_[client].client().kernels[kernel.index].host_work,
                       delays_[client][kernel.index].host_wait);
}

void SimulatedWorld::started() {
  if (device_ && !device_->joined()) return device_->join(gpu_.stay(), now_);
  const Gpu::Stay& stay = gpu_.stay();
  note({.time = now_,
        .launch = stay.launch,
        .job = stay.kernel.job,
        .kernel = stay.kernel.index,
        .mark = Mark::started});
  launch_started();
}

void SimulatedWorld::launch_started() { tell(Started{gpu_.stay().launch, gpu_.stay().kernel.job}); }

void SimulatedWorld::gone(std::uint64_t sequence) {
  if (sequence != gone_event_) return;  // an eviction changed the end, or the number of blocks did
  if (device_)
    device_->close(now_);
  else
    launch_gone();
}

void SimulatedWorld::launch_gone() {
  Gpu::Stay& stay = gpu_.stay();
  stay.over = true;
  note({.time = now_,
        .launch = stay.launch,
        .amount = (stay.done - stay.range.first).count,
        .job = stay.kernel.job,
        .kernel = stay.kernel.index,
        .mark = Mark::gone});
  const CommandDelays& delays = *stay.delays;
  push(now_ + delays.notice + delays.pending_work, kReport);
}

void SimulatedWorld::report() {
  const Gpu::Stay stay = gpu_.stay();
  const Why why = gpu_.why();
  gpu_.release();
  ClientRun& client = clients_[stay.kernel.job.client.index];
  JobFacts& facts = book_.of(stay.kernel.job);
  facts.done = stay.done;
  if (why == Why::completed) {
    ++facts.kernel;
    facts.done = {};
    client.next_kernel();
  }
  const bool job_over = facts.finished();
  if (job_over && moves_memory_) memory_.leaving(stay.kernel.job);
  fruitless_ = stay.done == stay.range.first ? fruitless_ + 1 : 0;
  note({.time = now_,
        .launch = stay.launch,
        .amount = stay.done.count,
        .job = stay.kernel.job,
        .kernel = stay.kernel.index,
        .mark = Mark::left,
        .why = why});
  if (fruitless_ == kMostFruitless)
    stop(fmt::format("no block-task was done in {} launches, as when a quantum is shorter than a block-task",
                     fruitless_));
  Time host_free = std::max(now_, hosts_.free(client.id()));
  if (!job_over) host_free = host_free + host_gap(client);
  const bool wait = why == Why::completed && host_free > now_;
  tell(Left{stay.launch, stay.kernel.job, why, stay.done, job_over || wait});
  if (wait)
    push(host_free, kHostFree, client.id().index);
  else if (why == Why::completed)
    go_on(client, false);
}

// The host thread has passed the end of a kernel; `late`: some time after it.
void SimulatedWorld::go_on(ClientRun& client, bool late) {
  if (client.kernels_left())
    eligible(client, late);
  else if (client.client().copy_out.count > 0)
    ask_for_copy(Direction::save, {client.job(), client.client().copy_out, true});
  else
    finish_job(client, late);
}

// --- On a device that native clients use, too
// ------------------------------------------------------------------------------------------

void SimulatedWorld::launch_placed(std::int64_t running) {
  gpu_.placed(now_, running);
  gone_event_ = push(gpu_.stay().gone, kGone);
}

void SimulatedWorld::flag_seen(std::uint64_t sequence) {
  if (!device_->awaits_flag(sequence)) return;
  const bool changed = gpu_.flag_seen(now_);
  if (device_->flag_seen() && changed) gone_event_ = push(gpu_.stay().gone, kGone);
}

// --- Orders
// -------------------------------------------------------------------------------------------------------------

LaunchId SimulatedWorld::launch(JobId job, DeviceId device, BlockRange range) {
  check_device(device, "launch");
  if (!gpu_.free()) impossible("a launch while another kernel owns the GPU");
  if (const std::string refusal = book_.refusal(job, range); !refusal.empty()) impossible(refusal);
  if (const std::string refusal = moves_memory_ ? memory_.launch_refusal(job) : ""; !refusal.empty())
    impossible(refusal);
  begin_launch(clients_[job.client.index].running(), range);
  return gpu_.stay().launch;
}

void SimulatedWorld::evict(LaunchId launch) {
  if (launch.value > launches_) impossible("an eviction of a launch that never was");
  if (gpu_.free() || gpu_.stay().launch != launch) return;
  const bool first = !gpu_.stay().over && !gpu_.stay().evict_ordered;
  if (first) {
    const Gpu::Stay& stay = gpu_.stay();
    note({.time = now_,
          .launch = launch,
          .job = stay.kernel.job,
          .kernel = stay.kernel.index,
          .mark = Mark::evict_ordered});
    if (device_ && stay.delays->wave == 0) {
      gpu_.stay().evict_ordered = now_;
      device_->evict(push(now_ + gpu_.stay().delays->seen, kFlagSeen));
      return;
    }
  }
  if (gpu_.evict(now_)) gone_event_ = push(gpu_.stay().gone, kGone);
}

void SimulatedWorld::move(JobId job, DeviceId device, Direction direction) {
  check_device(device, "save or restore");
  if (!moves_memory_) impossible("a save or restore by a policy that does not move memory");
  if (!gpu_.free() && gpu_.stay().kernel.job == job) impossible("a save of the job that owns the GPU");
  if (const std::string refusal = memory_.refusal(job, direction); !refusal.empty()) impossible(refusal);
  const Duration wait = direction == Direction::restore ? move_delays_.order : Duration{};
  moving_[job.client.index] = memory_.begin(job, direction);
  if (direction == Direction::restore) note_memory(job);
  if (wait > Duration{})
    push(now_ + wait, kMoveBegins, move_index(job, direction));
  else
    copy_state(job, direction);
}

void SimulatedWorld::copy_state(JobId job, Direction direction) {
  if (const Bytes size = moving_[job.client.index]; size.count > 0)
    ask_for_copy(direction, {job, size, false});
  else
    move_copied(job, direction);
}

void SimulatedWorld::move_copied(JobId job, Direction direction) {
  if (move_delays_.notice > Duration{} || moving_[job.client.index].count == 0)
    push(now_ + move_delays_.notice, kMoved, move_index(job, direction));
  else
    moved(job, direction);
}

void SimulatedWorld::moved(JobId job, Direction direction) {
  memory_.end(job, direction);
  if (direction == Direction::save) note_memory(job);
  tell(Moved{job, DeviceId{0}, direction, true});
}

// The job is finished; `late`: and its Left was told before.
void SimulatedWorld::free_memory(JobId job, bool late) {
  if (!memory_.free(job)) return;
  note_memory(job);
  if (late) tell(Moved{job, DeviceId{0}, Direction::save, true});
}

void SimulatedWorld::note_memory(JobId job) {
  note({.time = now_, .amount = memory_.held(job.client).count, .job = job, .mark = Mark::holds});
}

void SimulatedWorld::check_device(DeviceId device, const char* order) const {
  if (device.index != 0) impossible(fmt::format("a {} on device {}, of 1", order, device.index));
}

}  // namespace gangway
