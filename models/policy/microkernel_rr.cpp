// Share-a-GPU's scheduler (Garg et al., II-D, II-E and IV): processes take turns on GPUs for a microkernel
// each, while the next one's state comes to device memory and the last one's goes; with fewer processes than
// GPUs their kernels are split. sim/memory/README.md defines it.
//
// Algorithm 2 as printed cannot begin: it sends PrepareState upon YieldedGPUMemory alone, which nobody sends
// before he was prepared; and it launches upon ReadyToLaunch alone, so who became ready while another ran is
// not launched when that yields. The text around it says what was meant: the head of the queue is prepared
// whenever there is room, and a ready process is launched whenever the GPU is free. That is the default;
// `protocol: literal` plays the algorithm as printed.
#include <algorithm>
#include <utility>

#include "models/policy/estimates.hpp"
#include "models/policy/kernel_splits.hpp"
#include "models/policy/microkernel_size.hpp"
#include "models/policy/process_queues.hpp"

namespace gangway {
namespace {

using namespace literals;

class MicrokernelRr : public Policy {
 public:
  explicit MicrokernelRr(const ParameterValues& values)
      : size_(values),
        queues_(values),
        splits_(queues_),
        ahead_(static_cast<std::size_t>(values.integer("ahead"))),
        keep_while_room_(values.choice("keep") == "while-room"),
        run_on_(values.choice("unready") == "run-on"),
        split_(values.choice("split") == "when-idle"),
        literal_(values.choice("protocol") == "literal"),
        jobs_(values.choice("blocks") == "job"),
        slice_(values.duration("slice")),
        resident_(values.choice("state") == "resident") {}

  Capabilities needs() const override {
    if (jobs_)
      return resident_ ? Capabilities{Capability::evict}
                       : Capabilities{Capability::evict, Capability::memory};
    return resident_ ? Capabilities{Capability::ranges}
                     : Capabilities{Capability::ranges, Capability::memory};
  }
  bool several_gpus() const override { return !resident_; }

  void note(Time now, const Fact& fact, const View& view) override {
    news_ = news_ || jobs_ || !std::holds_alternative<Started>(fact);
    if (const auto* opens = std::get_if<Opens>(&fact))
      on(*opens);
    else if (const auto* exited = std::get_if<Exited>(&fact))
      queues_.forget(exited->client);
    if (const auto* left = std::get_if<Left>(&fact))
      on(now, *left, view);
    else if (const auto* arrived = std::get_if<Arrived>(&fact))
      on(*arrived, view);
    else if (const auto* started = std::get_if<Started>(&fact))
      on(now, *started);
    else if (const auto* moved = std::get_if<Moved>(&fact))
      on(*moved);
  }

  void decide(Time now, const View& view, Orders& orders) override {
    if (queues_.gpus().empty()) {  // the decision before anything happens
      queues_.prepare(view.clients(), view.gpus());
      size_.prepare(view);
    }
    const bool several = queues_.gpus().size() > 1;
    // On one GPU nothing follows from a launch's beginning: decisions have been taken.
    if (!std::exchange(news_, false) && !several) return;
    queues_.line_up(view);
    if (split_ && several) splits_.split(view, orders);
    for (Gpu& gpu : queues_.gpus()) {
      if (jobs_ && gpu.running) watch_slice(gpu, now, view, orders);
      serve(gpu, now, view, orders);
    }
    ready_ = yielded_memory_ = false;
  }

 private:
  using Gpu = ProcessQueues::Gpu;
  using Place = ProcessQueues::Place;

  // --- What happens

  void on(const Opens& opens) {
    queues_.forget(opens.client);
    queues_.process(opens.client).job = {opens.client, 0};
  }

  // Where whole jobs are granted a process has one share, and it is all there is of it.
  void begin_job(Process& process) {
    process.split = false;
    process.spare.clear();
    process.shares.assign(1, {{{0}, {1}}, std::nullopt});
    queues_.request(process, process.shares.front());
  }

  // The process comes to the next kernel of its program.
  void begin_kernel(Process& process, const View& view) {
    if (jobs_) return begin_job(process);
    const JobFacts& job = view.job(process.job);
    const KernelFacts& kernel = job.current();
    process.split = false;
    process.spare.clear();
    process.shares.assign(1, {{job.done, kernel.block_tasks}, std::nullopt});
    process.later = process.later - kernel.declared.value_or(Duration{});
    queues_.request(process, process.shares.front());
  }

  void on(const Arrived& arrived, const View& view) {
    const JobFacts& job = view.job(arrived.job);
    Process& process = queues_.process(arrived.job.client);
    process.job = arrived.job;
    process.present = true;
    if (jobs_) queues_.forget(arrived.job.client), process.present = true;
    if (job.kernel == 0 && !jobs_) process.later = declared_total(job);
    begin_kernel(process, view);
  }

  void on(Time now, const Started& started) {
    for (Gpu& gpu : queues_.gpus())
      if (gpu.running && gpu.running->launch == started.launch) gpu.running->started = now;
  }

  void on(Time now, const Left& left, const View& view) {
    std::vector<Gpu>& gpus = queues_.gpus();
    const auto gpu = std::find_if(gpus.begin(), gpus.end(), [&](const Gpu& g) {
      return g.running && g.running->launch == left.launch;
    });
    if (gpu == gpus.end()) return;
    const ProcessQueues::Running ran = *std::exchange(gpu->running, std::nullopt);
    Process& process = queues_.process(left.job.client);
    if (jobs_) {
      gpu->yielder = left.job.client;
      process.shares.clear();
      process.present = !left.job_over;
      if (process.present) begin_job(process);
      return;
    }
    const JobFacts& job = view.job(left.job);
    size_.saw(left.job.client, job.kernels[ran.kernel], ran.range.size(), now - ran.started.value_or(now));
    const bool nothing_left = left.why != Why::completed && left.job_over;  // of a client that was given up
    if (job.id != left.job || job.finished() || nothing_left) {
      process.present = false;
      process.shares.clear();
      return;
    }
    gpu->yielder = left.job.client;
    if (left.why != Why::completed) return launch_over(process, gpu->id);
    process.shares.clear();
    if (!left.job_over) begin_kernel(process, view);
  }

  // One of several or of many microkernels of a kernel.
  void launch_over(Process& process, DeviceId gpu) {
    Share& share = *process.on(gpu);
    if (share.rest.empty() && !process.spare.empty()) {
      share.rest = process.spare.back();
      process.spare.pop_back();
    }
    if (share.rest.empty())
      process.shares.erase(process.shares.begin() + (&share - process.shares.data()));
    else
      queues_.request(process, share);
  }

  void on(const Moved& moved) {
    ready_ = ready_ || moved.move == MemoryMove::restore;
    yielded_memory_ = yielded_memory_ || moved.move == MemoryMove::save;
    Process& process = queues_.process(moved.job.client);
    Share* share = moved.move == MemoryMove::save ? process.on(moved.device) : nullptr;
    if (share == nullptr || share->state != Share::State::saves) return;
    if (process.shares.size() > 1) {  // the other GPUs go on with it
      process.spare.push_back(share->rest);
      process.shares.erase(process.shares.begin() + (share - process.shares.data()));
      return;
    }
    share->gpu.reset();
    queues_.request(process, *share);
  }

  // --- Places in queues

  bool ready(const Place& place, const Gpu& gpu, const View& view) const {
    if (resident_) return true;
    const JobFacts& job = view.job(queues_.process(place.client).job);
    if (jobs_) return view.memory().holds(job.id, gpu.id, kAllBlocks);
    return view.memory().holds(job.id, gpu.id, queues_.share_of(place).rest) ||
           view.memory().holds(job.id, gpu.id, next_range(place, job));
  }
  BlockRange restored_for(const Place& place) const {
    return queues_.process(place.client).split ? queues_.share_of(place).rest : kAllBlocks;
  }
  BlockRange next_range(const Place& place, const JobFacts& job) const {
    if (jobs_) return {{0}, {1}};
    const BlockRange rest = queues_.share_of(place).rest;
    return {rest.first, rest.first + size_.next(job, rest.size())};
  }

  // --- One GPU

  void serve(Gpu& gpu, Time now, const View& view, Orders& orders) {
    const std::optional<ClientId> yielder = std::exchange(gpu.yielder, std::nullopt);
    bool passed_over = false;
    const std::optional<Place> next = gpu.running ? std::nullopt : choose(gpu, view, yielder, passed_over);
    if (next) launch(*next, gpu, now, view, orders);
    if (resident_) return;
    // It may just have been fetched from here, for another GPU.
    const bool there = yielder && view.memory().residence(*yielder, gpu.id) == Residence::resident;
    if (there && (!next || next->client != *yielder) &&
        (passed_over || must_save(*yielder, next.has_value(), gpu, view)))
      queues_.save(*yielder, gpu.id, orders);
    const bool prepared = (!literal_ || yielded_memory_) && prepare(gpu, view, orders);
    if (!prepared) make_room(gpu, view, orders);
  }

  // Who gets the free GPU, if anybody.
  std::optional<Place> choose(const Gpu& gpu, const View& view, std::optional<ClientId> yielder,
                              bool& passed_over) const {
    const std::vector<Place>& queue = gpu.queue;
    if (literal_) {
      const bool head = ready_ && !queue.empty() && ready(queue[0], gpu, view);
      return head ? std::optional(queue[0]) : std::nullopt;
    }
    const auto next =
        std::find_if(queue.begin(), queue.end(), [&](const Place& place) { return ready(place, gpu, view); });
    if (next == queue.end()) return std::nullopt;
    const auto before = static_cast<std::size_t>(next - queue.begin());
    passed_over = next->client == yielder && (splits_.has_too_many(*yielder, view) ||
                                              (before > 0 && (!run_on_ || short_of_room(gpu, view, before))));
    return passed_over ? std::nullopt : std::optional(*next);
  }

  void launch(const Place& place, Gpu& gpu, Time now, const View& view, Orders& orders) {
    const JobFacts& job = view.job(queues_.process(place.client).job);
    const BlockRange range = next_range(place, job);
    const LaunchId id = orders.launch(job.id, gpu.id, jobs_ ? std::nullopt : std::optional(range));
    gpu.running = ProcessQueues::Running{id, job.id, job.kernel, range, now};
    slice_end_.reset();
    evicted_ = false;
    Share& share = queues_.share_of(place);
    share.state = Share::State::runs;
    share.gpu = gpu.id;
    share.rest.first = range.last;
    queues_.leave(place.client, gpu.id);
  }

  // A job's microkernel is what it does in a slice; then it yields if somebody is ready, or else gets another
  // one (III-B b).
  void watch_slice(Gpu& gpu, Time now, const View& view, Orders& orders) {
    if (!gpu.running->started || evicted_) return;
    if (!slice_end_) {
      slice_end_ = *gpu.running->started + slice_;
      if (*slice_end_ > now) orders.wake_at(*slice_end_);
    }
    if (now < *slice_end_) return;
    const bool somebody = std::any_of(gpu.queue.begin(), gpu.queue.end(), [&](const Place& place) {
      return !run_on_ || ready(place, gpu, view);
    });
    if (somebody) {
      evicted_ = true;
      orders.evict(gpu.running->launch);
    } else if (gpu.queue.empty()) {
      slice_end_ = now;  // until somebody comes
    } else {
      slice_end_ = now + slice_;
      orders.wake_at(*slice_end_);
    }
  }

  // Whether the yielder, which has not got the GPU again, gives up its memory (II-E: unless nobody waits).
  bool must_save(ClientId yielder, bool launched, const Gpu& gpu, const View& view) const {
    if (splits_.has_too_many(yielder, view)) return true;
    if (keep_while_room_) return short_of_room(gpu, view, gpu.queue.size());
    return launched || gpu.queue.size() > (queues_.waits_for(yielder, gpu.id) ? 1U : 0U);
  }

  // The first of the queue, in order: nobody passes one for which there is no room. Returns whether all of
  // them are ready or on their way.
  bool prepare(const Gpu& gpu, const View& view, Orders& orders) {
    const std::vector<Place>& queue = gpu.queue;
    for (std::size_t i = 0; i < std::min(ahead_, queue.size()); ++i) {
      const ClientId client = queue[i].client;
      const Process& process = queues_.process(client);
      const BlockRange blocks = restored_for(queue[i]);
      const Residence residence = view.memory().residence(client, gpu.id);
      if (residence == Residence::restoring || ready(queue[i], gpu, view)) continue;
      if (residence == Residence::saving) return false;
      if (view.memory().changed_elsewhere(process.job, gpu.id, blocks)) {
        queues_.fetch(client, gpu.id, blocks, view, orders);
        return false;
      }
      if (view.memory().takes(process.job, gpu.id, blocks) > view.memory().room(gpu.id)) return false;
      orders.restore(process.job, gpu.id, blocks);
    }
    return true;
  }

  // Whether one of the first `places` of the queue is to be prepared, but will not have room.
  bool short_of_room(const Gpu& gpu, const View& view, std::size_t places) const {
    const MemoryView& memory = view.memory();
    const std::vector<Place>& queue = gpu.queue;
    for (std::size_t i = 0; i < std::min({places, ahead_, queue.size()}); ++i) {
      const Residence residence = memory.residence(queue[i].client, gpu.id);
      if (residence != Residence::absent && residence != Residence::resident) continue;
      if (ready(queue[i], gpu, view)) continue;
      const JobId job = queues_.process(queue[i].client).job;
      const Bytes room = memory.room(gpu.id), takes = memory.takes(job, gpu.id, restored_for(queue[i]));
      if (takes > room && takes > room + leaving(gpu.id, memory)) return true;
    }
    return false;
  }

  // What is being saved from there.
  Bytes leaving(DeviceId id, const MemoryView& memory) const {
    Bytes sum;
    for (std::uint32_t c = 0; c < queues_.processes().size(); ++c)
      if (memory.residence(ClientId{c}, id) == Residence::saving) sum += memory.held(ClientId{c}, id);
    return sum;
  }

  // Those that are between two calls of their program need their memory last.
  void make_room(const Gpu& gpu, const View& view, Orders& orders) {
    const std::size_t all = gpu.queue.size();
    for (std::uint32_t c = 0; c < queues_.processes().size() && short_of_room(gpu, view, all); ++c) {
      const ClientId client{c};
      if (view.memory().residence(client, gpu.id) != Residence::resident || queues_.runs_on(client, gpu.id))
        continue;
      if (!queues_.waits_for(client, gpu.id)) queues_.save(client, gpu.id, orders);
    }
  }

  MicrokernelSize size_;
  ProcessQueues queues_;
  KernelSplits splits_;
  std::size_t ahead_;
  bool keep_while_room_, run_on_, split_, literal_;
  bool jobs_;  // a microkernel is what a whole job does in a slice
  Duration slice_;
  bool resident_;  // all clients' states, all the time: nothing is moved

  std::optional<Time> slice_end_;                // of the job that runs
  bool evicted_ = false;                         // it is to leave
  bool news_ = false;                            // in this instant, beside launches that began
  bool ready_ = false, yielded_memory_ = false;  // messages that came in this instant
};

const PolicyRegistration<MicrokernelRr> registered_microkernel_rr{
    "microkernel-rr",
    "round robin of microkernels, with memory saved and restored around them (Share-a-GPU)",
    {{"order", "of the queue", Parameter::Choice{{"round-robin", "priority", "shortest-first"}}},
     {"blocks",
      "of a microkernel: as take a slice by what the workload declares, or by the last microkernel's time, "
      "or so many block-tasks; or, of programs, whatever their job does in a slice",
      Parameter::Choice{{"declared", "profiled", "block-tasks", "job"}}},
     {"slice", "time slice of a microkernel; at least one wave of blocks", Parameter::Time{1_s, 1_us, 100_s}},
     {"block_tasks", "block-tasks of a microkernel, with blocks: block-tasks",
      Parameter::Integer{1, 1, 1'000'000'000'000}},
     {"ahead", "number of processes at the head of the queue that are prepared",
      Parameter::Integer{1, 1, 1000}},
     {"keep", "how long a process that yields keeps its state: while nobody else waits, or lacks room",
      Parameter::Choice{{"while-alone", "while-room"}}},
     {"unready", "what a process does if its successor is not ready: run on, or yield anyway",
      Parameter::Choice{{"run-on", "yield"}}},
     {"split", "whether kernels are split over GPUs: if GPUs are idle and it pays, or never",
      Parameter::Choice{{"when-idle", "never"}}},
     {"protocol", "the scheduler's protocol: repaired, or Algorithm 2 as printed, which never starts a job",
      Parameter::Choice{{"repaired", "literal"}}},
     {"state", "clients' state: moved to and from the device, or always resident there, as on a real one",
      Parameter::Choice{{"moved", "resident"}}}}};

}  // namespace
}  // namespace gangway
