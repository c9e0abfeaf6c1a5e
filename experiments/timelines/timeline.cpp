#include "experiments/timelines/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace gangway {
namespace {

constexpr int kClients = 1, kGpu = 2, kBlocks = 3, kStates = 4, kAccess = 5;         // processes
constexpr int kOwner = 1, kCommands = 2, kCopyIn = 3, kCopyOut = 4, kScheduler = 5;  // threads of the GPU
constexpr int kCopyLane = 10;  // from a copy's first track to its second
constexpr const char *kCopyInName = "copy h2d", *kCopyOutName = "copy d2h";

// The process of a GPU: those after the first follow all others.
int gpu_process(std::size_t gpu) { return gpu == 0 ? kGpu : 9 + static_cast<int>(gpu); }
int gpu_process(const Record& r) { return gpu_process(r.gpu); }

}  // namespace

std::size_t reserve_of(const Workload& workload, std::int64_t gpus) {
  constexpr std::size_t kLongestEvent = 1 << 10;
  return kLongestEvent * (4 * workload.clients.size() + 8 * static_cast<std::size_t>(gpus) + 16);
}

Timeline::Timeline(const Workload& workload, std::int64_t gpus, TraceFile& file)
    : events_(file, reserve_of(workload, gpus)),
      workload_(&workload),
      phases_(workload.clients.size()),
      running_(workload.clients.size()),
      states_(workload, kStates, [this](const TraceEvents::Json& event) { events_.emit(event); }),
      blocks_(workload, kBlocks, events_),
      gpus_(static_cast<std::size_t>(gpus)) {
  events_.process(kClients, "clients");
  for (std::size_t gpu = 0; gpu < gpus_.size(); ++gpu)
    events_.process(gpu_process(gpu), fmt::format("GPU {}", gpu));
  for (std::size_t c = 0; c < workload.clients.size(); ++c)
    events_.thread(kClients, client_thread(c), workload.clients[c].name);
  for (std::size_t gpu = 0; gpu < gpus_.size(); ++gpu) {
    events_.thread(gpu_process(gpu), kOwner, "owner");
    events_.thread(gpu_process(gpu), kCommands, "commands");
    events_.thread(gpu_process(gpu), kCopyIn, kCopyInName);
    events_.thread(gpu_process(gpu), kCopyOut, kCopyOutName);
  }
}

void Timeline::record(const Record& r) {
  if (closed_) return;
  now_ = r.time;
  if (r.time > counted_at_) show_counts();
  states_.record(r);
  draw(r);
  if (events_.full()) close();
}

void Timeline::blocks(const BlockSpan& span) {
  if (closed_) return;
  blocks_.draw(span);
  if (events_.full()) close();
}

void Timeline::draw(const Record& r) {
  switch (r.mark) {
    case Mark::released:
      return instant(r, "arrived");
    case Mark::copy_begins:
      copying_.emplace(CopyPlace(r.gpu, engine(r), r.job),
                       Copying{r, copy_lanes_[{r.gpu, engine(r)}].open(r.time)});
      // A host may copy its next job in while the one before runs.
      if (r.program_copy && phase(r).name != "running") enter(r, to_device(r) ? "copy in" : "copy out");
      return;
    case Mark::copy_ends:
      return copied(r);
    case Mark::eligible:
      return enter(r, "waiting");
    case Mark::submitted:
      begin_access();
      requests_.insert(r.launch);
      if (phase(r).name != "running") enter(r, "waiting");
      return;
    case Mark::access:
      return access(r);
    case Mark::killed:
    case Mark::refused:
    case Mark::program_ended:
      leave(r);
      return instant(r, name_of(r.mark).c_str());
    case Mark::issued:
      if (r.copy) return;
      native_.insert(r.launch);
      return count(r, 0, 1);
    case Mark::queued:
      if (r.copy) return;
      if (is_native(r)) enter(r, "waiting");
      queues_known_ = true;
      return count(r, 1, 0);
    case Mark::on_host:
      return enter(r, "on host");
    case Mark::awaits_gpu:
      return enter(r, "waiting");
    case Mark::held:
    case Mark::told_to_leave:
    case Mark::kernels_left:
    case Mark::kernels_go_on:
      return;  // of the kernel states
    case Mark::dequeued:
      if (!r.copy) count(r, -1, 0);
      return;
    case Mark::launch_ordered:
      gpus_[r.gpu].launched = r.time;
      gpus_[r.gpu].ordered = r.launch;
      gpus_[r.gpu].command.reset();
      gpus_[r.gpu].evicted.reset();
      gpus_[r.gpu].running = gpus_[r.gpu].begun = false;
      return;
    case Mark::started:
      if (is_native(r)) return enter(r, "running");
      if (requests_.erase(r.launch) == 0 && gpus_[r.gpu].ordered == r.launch &&
          !std::exchange(gpus_[r.gpu].begun, true))
        span(gpu_process(r), kCommands, "launch", gpus_[r.gpu].launched, r);
      if (gpus_[r.gpu].owner) owned(*gpus_[r.gpu].owner, r.time);  // what is left of it runs beside this one
      gpus_[r.gpu].owner = r;
      gpus_[r.gpu].running = gpus_[r.gpu].running || gpus_[r.gpu].ordered == r.launch;
      if (++running_[r.job.client.index] > 1) return;  // on another GPU
      return enter(r, "running");
    case Mark::paused:
      if (gpus_[r.gpu].owner && gpus_[r.gpu].owner->launch == r.launch) {
        owned(*gpus_[r.gpu].owner, r.time);
        gpus_[r.gpu].owner.reset();
      }
      return enter(r, "waiting");
    case Mark::resumed:
      if (!is_native(r)) {
        if (gpus_[r.gpu].owner) owned(*gpus_[r.gpu].owner, r.time);
        gpus_[r.gpu].owner = r;
      }
      return enter(r, !is_native(r) && gpus_[r.gpu].evicted == r.launch ? "draining" : "running");
    case Mark::evict_ordered:
      gpus_[r.gpu].command = r.time;
      gpus_[r.gpu].evicted = r.launch;
      instant(r, "evict ordered");
      if (phase(r).name == "running") enter(r, "draining");
      return;
    case Mark::gone:
      if (native_.erase(r.launch) == 0) return gone(r);
      count(r, 0, -1);
      return leave(r);
    case Mark::left:
      if (gpus_[r.gpu].ordered == r.launch) reported(r);
      return;
    case Mark::finished:
      if (phase(r).of.job == r.job) leave(r);  // else it is another job's
      return instant(r, "finished");
    case Mark::holds:
      return held(r);
    case Mark::merged:
      return instant(r, "merged");
    case Mark::decided:
      return decided(r);
    case Mark::ended:
      if (counted_) count(r, 0, 0), show_counts();  // up to here they stayed as they are
      return ended(r.time);
  }
}

void Timeline::close() {
  closed_ = true;
  states_.record({.time = now_});
  ended(now_);
}

void Timeline::count(const Record& r, std::int64_t queued, std::int64_t in_streams) {
  queued_ += queued;
  in_streams_ += in_streams;
  counted_ = counts_changed_ = true;
  counted_at_ = r.time;
}

void Timeline::show_counts() {
  if (!std::exchange(counts_changed_, false)) return;
  if (queues_known_) counter("primary queue", queued_);
  counter("streams", in_streams_);
}

void Timeline::counter(const char* name, std::int64_t kernels) {
  events_.counter(kGpu, name, counted_at_, {{"kernels", kernels}});
}

std::string Timeline::kernel_of(const Record& r) const {
  const Client& client = workload_->clients[r.job.client.index];
  return client.kernels.empty() ? "" : client.kernels[r.kernel].name;
}

TraceEvents::Json Timeline::args(const Record& r) const {
  TraceEvents::Json out{{"job", r.job.number}};
  if (const std::string kernel = kernel_of(r); !kernel.empty()) out["kernel"] = kernel;
  if (r.launch.value > 0) out["launch"] = r.launch.value;
  if (r.mark == Mark::left) out["done"] = r.amount;
  return out;
}

void Timeline::decided(const Record& r) {
  if (!scheduler_) events_.thread(kGpu, kScheduler, "scheduler");
  scheduler_ = true;
  events_.span(kGpu, kScheduler, "decide", r.time, r.time + Duration{r.amount});
}

void Timeline::span(int pid, int tid, const std::string& name, Time from, const Record& r) {
  if (r.time <= from) return;
  events_.span(pid, tid, name, from, r.time, args(r));
}

void Timeline::instant(const Record& r, const char* name) {
  events_.instant(kClients, client_thread(r.job.client.index), name, r.time, args(r));
}

void Timeline::leave(const Record& r) {
  Phase& p = phase(r);
  if (!p.name.empty()) span(kClients, client_thread(r.job.client.index), p.name, p.since, r);
  p.name.clear();
}

void Timeline::enter(const Record& r, const char* name) {
  leave(r);
  phase(r) = {name, r.time, r};
}

void Timeline::begin_access() {
  if (!accesses_.empty()) return;
  events_.process(kAccess, "access");
  for (std::uint32_t c = 0; c < phases_.size(); ++c) {
    events_.thread(kAccess, client_thread(c), workload_->clients[c].name);
    accesses_.push_back({"direct", {}, {.job = {ClientId{c}, 0}}});
  }
}

void Timeline::access(const Record& r) {
  begin_access();
  Phase& now = accesses_[r.job.client.index];
  show_access(now, r.time);
  static constexpr std::array names{"direct", "intercept", "deny", "sampled"};
  now = {names[static_cast<std::size_t>(r.amount)], r.time, r};
}

void Timeline::show_access(const Phase& phase, Time until) {
  if (until <= phase.since) return;
  events_.span(kAccess, client_thread(phase.of.job.client.index), phase.name, phase.since, until);
}

void Timeline::copied(const Record& r) {
  const auto begun = copying_.lower_bound({r.gpu, engine(r), r.job});
  show_copy(begun->second, r.time);
  copy_lanes_[{r.gpu, engine(r)}].close(begun->second.lane, r.time);
  copying_.erase(begun);
  if (r.program_copy && phase(r).name.starts_with("copy")) leave(r);
}

// Copies that an engine makes at once have tracks of their own.
void Timeline::show_copy(const Copying& copying, Time until) {
  Record r = copying.begun;
  r.time = until;
  const int first = to_device(r) ? kCopyIn : kCopyOut;
  const int track = first + kCopyLane * static_cast<int>(copying.lane);
  if (track != first && named_copies_.insert({gpu_process(r), track}).second)
    events_.thread(gpu_process(r), track,
                   fmt::format("{} ({})", first == kCopyIn ? kCopyInName : kCopyOutName, copying.lane + 1));
  span(gpu_process(r), track, workload_->clients[r.job.client.index].name, copying.begun.time, r);
}

void Timeline::held(const Record& r) {
  events_.counter(gpu_process(r), "device memory", r.time,
                  {{workload_->clients[r.job.client.index].name, r.amount}});
}

// As an owner of the GPU, from the record of its start.
void Timeline::owned(const Record& start, Time until) {
  const std::string kernel = kernel_of(start);
  const std::string& client = workload_->clients[start.job.client.index].name;
  Record r = start;
  r.time = until;
  span(gpu_process(r), kOwner, kernel.empty() ? client : client + " " + kernel, start.time, r);
}

void Timeline::gone(const Record& r) {
  GpuTracks& gpu = gpus_[r.gpu];
  const bool owner = gpu.owner && gpu.owner->launch == r.launch;
  const Time since = owner ? gpu.owner->time : r.time;
  if (owner) owned(*gpu.owner, r.time);
  // An eviction ordered before the first block ran shares its time with the launch command, whose span is
  // drawn already.
  if (gpu.evicted == r.launch)
    span(gpu_process(r), kCommands, "evict", std::max(gpu.command.value_or(since), since), r);
  if (gpu.evicted == r.launch) gpu.evicted.reset();
  if (owner) gpu.owner.reset();
  if (gpu.ordered == r.launch) {
    gpu.command = r.time;
    gpu.running = false;
  }
  int& running = running_[r.job.client.index];
  if (running > 0) --running;
  if (running == 0) enter(r, "waiting");
}

// From the end of its last block, or from an eviction before its first one; without either it was on its way.
void Timeline::reported(const Record& r) {
  GpuTracks& gpu = gpus_[r.gpu];
  if (gpu.running) return;
  if (gpu.command)
    span(gpu_process(r), kCommands, "pending work", *gpu.command, r);
  else if (!gpu.begun)
    span(gpu_process(r), kCommands, "launch", gpu.launched, r);
}

void Timeline::ended(Time now) {
  for (const Phase& p : accesses_) show_access(p, now);
  for (const GpuTracks& gpu : gpus_) {
    if (!gpu.owner) continue;
    Record r = *gpu.owner;
    r.time = now;
    gone(r);
  }
  for (Phase& p : phases_) {
    Record r = p.of;
    r.time = now;
    leave(r);
  }
  for (const auto& [where, copying] : copying_) show_copy(copying, now);
}

}  // namespace gangway
