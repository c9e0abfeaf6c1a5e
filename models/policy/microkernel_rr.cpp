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
#include <initializer_list>
#include <tuple>
#include <utility>

#include "models/policy/estimates.hpp"
#include "models/policy/microkernel_size.hpp"
#include "models/policy/shares.hpp"

namespace gangway {
namespace {

using namespace literals;

class MicrokernelRr : public Policy {
 public:
  explicit MicrokernelRr(const ParameterValues& values)
      : size_(values),
        by_priority_(values.choice("order") == "priority"),
        by_length_(values.choice("order") == "shortest-first"),
        ahead_(static_cast<std::size_t>(values.integer("ahead"))),
        keep_while_room_(values.choice("keep") == "while-room"),
        run_on_(values.choice("unready") == "run-on"),
        splits_(values.choice("split") == "when-idle"),
        literal_(values.choice("protocol") == "literal") {}

  Capabilities needs() const override { return {Capability::ranges, Capability::memory}; }
  bool several_gpus() const override { return true; }

  void note(Time now, const Fact& fact, const View& view) override {
    news_ = news_ || !std::holds_alternative<Started>(fact);
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
    if (processes_.size() < view.clients()) {  // the decision before anything happens
      processes_.resize(view.clients());
      size_.prepare(view.clients());
      gpus_.resize(view.gpus());
    }
    // On one GPU nothing follows from a launch's beginning: decisions have been taken.
    if (!std::exchange(news_, false) && gpus_.size() == 1) return;
    line_up(view);
    if (splits_ && gpus_.size() > 1) split(view, orders);
    for (std::uint32_t g = 0; g < gpus_.size(); ++g) serve(DeviceId{g}, now, view, orders);
    ready_ = yielded_memory_ = false;
  }

 private:
  using Rank = std::tuple<std::int64_t, std::uint64_t>;
  struct Place {  // in a queue
    Rank rank;
    ClientId client;
    std::size_t share = 0;
    bool operator<(const Place& other) const { return rank < other.rank; }
  };
  struct Running {
    LaunchId launch;
    JobId job;
    std::uint32_t kernel = 0;
    BlockRange range;
    Time ordered, started;
  };
  struct Gpu {
    std::optional<Running> running;
    std::vector<Place> queue;         // as of this decision
    std::optional<ClientId> yielder;  // left in this instant, with kernels left
  };

  // --- What happens

  void request(Process& process, Share& share) {
    share.state = Share::State::requests;
    share.since = ++requests_;
    new_.push_back(process.job.client);
  }

  // The process comes to the next kernel of its program.
  void begin_kernel(Process& process, const View& view) {
    const KernelFacts& kernel = view.job(process.job).current();
    process.split = false;
    process.spare.clear();
    process.shares.assign(1, {{{0}, kernel.block_tasks}, std::nullopt});
    process.later = process.later - kernel.declared;
    request(process, process.shares.front());
  }

  void on(const Arrived& arrived, const View& view) {
    const JobFacts& job = view.job(arrived.job);
    Process& process = processes_[arrived.job.client.index];
    process.job = arrived.job;
    process.present = true;
    if (job.kernel == 0) process.later = declared_total(job);
    begin_kernel(process, view);
  }

  void on(Time now, const Started& started) {
    for (Gpu& gpu : gpus_)
      if (gpu.running && gpu.running->launch == started.launch) gpu.running->started = now;
  }

  void on(Time now, const Left& left, const View& view) {
    const auto gpu = std::find_if(gpus_.begin(), gpus_.end(), [&](const Gpu& g) {
      return g.running && g.running->launch == left.launch;
    });
    if (gpu == gpus_.end()) return;
    const Running ran = *std::exchange(gpu->running, std::nullopt);
    Process& process = processes_[left.job.client.index];
    const JobFacts& job = view.job(left.job);
    size_.saw(left.job.client, job.kernels[ran.kernel], ran.range.size(), now - ran.started);
    if (job.id != left.job || job.finished()) {
      process.present = false;
      process.shares.clear();
      return;
    }
    gpu->yielder = left.job.client;
    if (left.why != Why::completed) return launch_over(process, id_of(*gpu));
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
      request(process, share);
  }

  void on(const Moved& moved) {
    ready_ = ready_ || moved.direction == Direction::restore;
    yielded_memory_ = yielded_memory_ || moved.direction == Direction::save;
    Process& process = processes_[moved.job.client.index];
    Share* share = moved.direction == Direction::save ? process.on(moved.device) : nullptr;
    if (share == nullptr || share->state != Share::State::saves) return;
    if (process.shares.size() > 1) {  // the other GPUs go on with it
      process.spare.push_back(share->rest);
      process.shares.erase(process.shares.begin() + (share - process.shares.data()));
      return;
    }
    share->gpu.reset();
    request(process, *share);
  }

  // --- Queues

  DeviceId id_of(const Gpu& gpu) const { return {static_cast<std::uint32_t>(&gpu - gpus_.data())}; }
  const JobFacts& facts(ClientId client, const View& view) const {
    return view.job(processes_[client.index].job);
  }
  Share& share_of(const Place& place) { return processes_[place.client.index].shares[place.share]; }
  const Share& share_of(const Place& place) const {
    return processes_[place.client.index].shares[place.share];
  }

  Rank rank(const Process& process, const Share& share, const View& view) const {
    const JobFacts& job = view.job(process.job);
    std::int64_t first = 0;
    if (by_priority_) first = -std::int64_t{job.current().priority};
    if (by_length_) first = declared_left(job).ns;
    return {first, share.since};
  }

  // Of the current kernel.
  static Duration declared_left(const JobFacts& job) {
    const KernelFacts& kernel = job.current();
    return {
        mul_div_floor((kernel.block_tasks - job.done).count, kernel.declared.ns, kernel.block_tasks.count)};
  }

  // All that request, in order, each on its GPU or the one that it would best go to. One GPU's queue stays as
  // it is but for those who leave it, and those who come.
  void line_up(const View& view) {
    if (gpus_.size() == 1) {
      std::vector<Place>& queue = gpus_[0].queue;
      for (const ClientId client : new_) {
        const Process& process = processes_[client.index];
        const Place place{rank(process, process.shares[0], view), client};
        queue.insert(std::upper_bound(queue.begin(), queue.end(), place), place);
      }
      new_.clear();
      return;
    }
    new_.clear();
    places_.clear();
    for (std::uint32_t c = 0; c < processes_.size(); ++c) {
      const Process& process = processes_[c];
      for (std::size_t s = 0; s < process.shares.size(); ++s)
        if (process.shares[s].state == Share::State::requests)
          places_.push_back({rank(process, process.shares[s], view), ClientId{c}, s});
    }
    std::sort(places_.begin(), places_.end());
    for (Gpu& gpu : gpus_) gpu.queue.clear();
    for (const Place& place : places_) gpus_[best_gpu(place, view).index].queue.push_back(place);
  }

  // Where its state is; else where there is room, the shortest queue, and a free GPU or the one whose owner
  // came first.
  DeviceId best_gpu(const Place& place, const View& view) const {
    const Share& share = share_of(place);
    if (share.gpu) return *share.gpu;
    const JobId job = processes_[place.client.index].job;
    const auto cost = [&](DeviceId id) {
      const Gpu& gpu = gpus_[id.index];
      const Residence residence = view.memory().residence(place.client, id);
      const bool there = residence == Residence::resident || residence == Residence::restoring;
      return std::tuple(!there, view.memory().takes(job, id, kAllBlocks) > view.memory().room(id),
                        gpu.queue.size(), gpu.running.has_value(),
                        gpu.running ? gpu.running->ordered : Time{});
    };
    DeviceId best{0};
    for (std::uint32_t g = 1; g < gpus_.size(); ++g)
      if (cost(DeviceId{g}) < cost(best)) best = DeviceId{g};
    return best;
  }

  bool ready(const Place& place, DeviceId gpu, const View& view) const {
    const JobFacts& job = facts(place.client, view);
    return view.memory().holds(job.id, gpu, share_of(place).rest) ||
           view.memory().holds(job.id, gpu, next_range(place, job));
  }
  BlockRange restored_for(const Place& place) const {
    return processes_[place.client.index].split ? share_of(place).rest : kAllBlocks;
  }
  BlockRange next_range(const Place& place, const JobFacts& job) const {
    const BlockRange rest = share_of(place).rest;
    return {rest.first, rest.first + size_.next(job, rest.size())};
  }

  // --- One GPU

  void serve(DeviceId id, Time now, const View& view, Orders& orders) {
    Gpu& gpu = gpus_[id.index];
    const std::optional<ClientId> yielder = std::exchange(gpu.yielder, std::nullopt);
    bool passed_over = false;
    const std::optional<Place> next = gpu.running ? std::nullopt : choose(id, view, yielder, passed_over);
    if (next) launch(*next, id, now, view, orders);
    const bool there =
        yielder && view.memory().residence(*yielder, id) == Residence::resident;  // and not fetched from here
    if (there && (!next || next->client != *yielder) &&
        (passed_over || must_save(*yielder, next.has_value(), id, view)))
      save(*yielder, id, orders);
    const bool prepared = (!literal_ || yielded_memory_) && prepare(id, view, orders);
    if (!prepared) make_room(id, view, orders);
  }

  // Who gets the free GPU, if anybody.
  std::optional<Place> choose(DeviceId id, const View& view, std::optional<ClientId> yielder,
                              bool& passed_over) const {
    const std::vector<Place>& queue = gpus_[id.index].queue;
    if (literal_) {
      const bool head = ready_ && !queue.empty() && ready(queue[0], id, view);
      return head ? std::optional(queue[0]) : std::nullopt;
    }
    const auto next =
        std::find_if(queue.begin(), queue.end(), [&](const Place& place) { return ready(place, id, view); });
    if (next == queue.end()) return std::nullopt;
    const auto before = static_cast<std::size_t>(next - queue.begin());
    passed_over = next->client == yielder && (has_too_many(*yielder, view) ||
                                              (before > 0 && (!run_on_ || short_of_room(id, view, before))));
    return passed_over ? std::nullopt : std::optional(*next);
  }

  void launch(const Place& place, DeviceId id, Time now, const View& view, Orders& orders) {
    const JobFacts& job = facts(place.client, view);
    const BlockRange range = next_range(place, job);
    Gpu& gpu = gpus_[id.index];
    gpu.running = Running{orders.launch(job.id, id, range), job.id, job.kernel, range, now, {}};
    Share& share = share_of(place);
    share.state = Share::State::runs;
    share.gpu = id;
    share.rest.first = range.last;
    leave_queue(place.client, id);
  }

  void leave_queue(ClientId client, DeviceId id) {
    std::erase_if(gpus_[id.index].queue, [&](const Place& place) { return place.client == client; });
  }
  bool in_queue(ClientId client, DeviceId id) const {
    const std::vector<Place>& queue = gpus_[id.index].queue;
    return std::any_of(queue.begin(), queue.end(),
                       [&](const Place& place) { return place.client == client; });
  }

  // Whether the yielder, which has not got the GPU again, gives up its memory (II-E: unless nobody waits).
  bool must_save(ClientId yielder, bool launched, DeviceId id, const View& view) const {
    if (has_too_many(yielder, view)) return true;
    if (keep_while_room_) return short_of_room(id, view, gpus_[id.index].queue.size());
    return launched || gpus_[id.index].queue.size() > (in_queue(yielder, id) ? 1U : 0U);
  }

  // Its share that requests this GPU does so again behind that, and on any.
  void save(ClientId client, DeviceId id, Orders& orders) {
    Process& process = processes_[client.index];
    for (const Place& place : gpus_[id.index].queue) {
      if (place.client != client) continue;
      share_of(place).state = Share::State::saves;
      share_of(place).gpu = id;
    }
    leave_queue(client, id);
    orders.save(process.job, id);
  }

  // The first of the queue, in order: nobody passes one for which there is no room. Returns whether all of
  // them are ready or on their way.
  bool prepare(DeviceId id, const View& view, Orders& orders) {
    const std::vector<Place>& queue = gpus_[id.index].queue;
    for (std::size_t i = 0; i < std::min(ahead_, queue.size()); ++i) {
      const ClientId client = queue[i].client;
      const Process& process = processes_[client.index];
      const BlockRange blocks = restored_for(queue[i]);
      const Residence residence = view.memory().residence(client, id);
      if (residence == Residence::restoring || ready(queue[i], id, view)) continue;
      if (residence == Residence::saving) return false;
      if (view.memory().changed_elsewhere(process.job, id, blocks)) {
        fetch(client, id, blocks, view, orders);
        return false;
      }
      if (view.memory().takes(process.job, id, blocks) > view.memory().room(id)) return false;
      orders.restore(process.job, id, blocks);
    }
    return true;
  }

  bool runs_on(ClientId client, DeviceId id) const {
    return gpus_[id.index].running && gpus_[id.index].running->job.client == client;
  }

  // What other GPUs have changed goes to the host first.
  void fetch(ClientId client, DeviceId to, BlockRange blocks, const View& view, Orders& orders) {
    const JobId job = processes_[client.index].job;
    for (std::uint32_t g = 0; g < gpus_.size(); ++g) {
      const DeviceId from{g};
      if (from != to && !runs_on(client, from) && view.memory().changed_on(job, from, blocks) &&
          view.memory().residence(client, from) == Residence::resident)
        save(client, from, orders);
    }
  }

  // Whether one of the first `places` of the queue is to be prepared, but will not have room.
  bool short_of_room(DeviceId id, const View& view, std::size_t places) const {
    const MemoryView& memory = view.memory();
    const std::vector<Place>& queue = gpus_[id.index].queue;
    for (std::size_t i = 0; i < std::min({places, ahead_, queue.size()}); ++i) {
      const Residence residence = memory.residence(queue[i].client, id);
      if (residence != Residence::absent && residence != Residence::resident) continue;
      if (ready(queue[i], id, view)) continue;
      const JobId job = processes_[queue[i].client.index].job;
      const Bytes room = memory.room(id), takes = memory.takes(job, id, restored_for(queue[i]));
      if (takes > room && takes > room + leaving(id, memory)) return true;
    }
    return false;
  }

  // What is being saved from there.
  Bytes leaving(DeviceId id, const MemoryView& memory) const {
    Bytes sum;
    for (std::uint32_t c = 0; c < processes_.size(); ++c)
      if (memory.residence(ClientId{c}, id) == Residence::saving) sum += memory.held(ClientId{c}, id);
    return sum;
  }

  // Those that are between two calls of their program need their memory last.
  void make_room(DeviceId id, const View& view, Orders& orders) {
    const std::size_t all = gpus_[id.index].queue.size();
    for (std::uint32_t c = 0; c < processes_.size() && short_of_room(id, view, all); ++c) {
      const ClientId client{c};
      if (view.memory().residence(client, id) != Residence::resident || runs_on(client, id)) continue;
      if (!in_queue(client, id)) save(client, id, orders);
    }
  }

  // --- Several GPUs for one kernel (IV-A)

  std::int64_t gpus_in(std::initializer_list<Residence> states, ClientId client, const View& view) const {
    std::int64_t gpus = 0;
    for (std::uint32_t g = 0; g < gpus_.size(); ++g)
      gpus += std::count(states.begin(), states.end(), view.memory().residence(client, DeviceId{g}));
    return gpus;
  }
  std::int64_t uses(ClientId client, const View& view) const {
    return gpus_in({Residence::restoring, Residence::resident, Residence::saving}, client, view);
  }

  // Others could use some of them; those that it leaves already do not count.
  bool has_too_many(ClientId client, const View& view) const {
    return gpus_.size() > 1 &&
           gpus_in({Residence::restoring, Residence::resident}, client, view) > processes_[client.index].gpus;
  }

  // With fewer processes than GPUs each may use an even number of them.
  void split(const View& view, Orders& orders) {
    const auto all = static_cast<std::int64_t>(gpus_.size());
    const std::int64_t present = std::count_if(processes_.begin(), processes_.end(),
                                               [](const Process& process) { return process.present; });
    std::int64_t number = 0;
    for (std::uint32_t c = 0; c < processes_.size(); ++c) {
      Process& process = processes_[c];
      if (!process.present) continue;
      process.gpus = std::max<std::int64_t>(1, all / present + (number++ < all % present ? 1 : 0));
      if (process.gpus > 1 && !process.shares.empty()) widen(ClientId{c}, view, orders);
    }
  }

  void widen(ClientId client, const View& view, Orders& orders) {
    std::vector<DeviceId> joining = idle_for(client, view);
    for (std::size_t i = 0; i < joining.size(); ++i)
      if (!join(client, joining[i], joining.size() - i, view, orders)) return;
  }

  // GPUs that nobody else has a use for, and where it has none itself now.
  std::vector<DeviceId> idle_for(ClientId client, const View& view) const {
    const Process& process = processes_[client.index];
    std::int64_t more = process.gpus - std::max<std::int64_t>(1, uses(client, view));
    std::vector<DeviceId> idle;
    for (std::uint32_t g = 0; g < gpus_.size(); ++g) {
      const DeviceId id{g};
      if (gpus_[g].running || !gpus_[g].queue.empty()) continue;
      bool others = false;
      for (std::uint32_t c = 0; c < processes_.size(); ++c)
        others =
            others || (c != client.index && view.memory().residence(ClientId{c}, id) != Residence::absent);
      const Residence residence = view.memory().residence(client, id);
      if (others || residence == Residence::saving) continue;
      if (residence == Residence::absent && more-- <= 0) continue;
      idle.push_back(id);
    }
    return idle;
  }

  // Returns whether the GPU takes part in the kernel.
  bool join(ClientId client, DeviceId id, std::size_t joining, const View& view, Orders& orders) {
    Process& process = processes_[client.index];
    if (process.on(id) != nullptr) return false;
    const MemoryView& memory = view.memory();
    const BlockRange part = process.part_for(joining, view.job(process.job).current());
    if (part.empty() || memory.takes(process.job, id, part) > memory.room(id)) return false;
    const bool stale = memory.changed_elsewhere(process.job, id, part);
    if (!pays(client, id, part, stale, view)) return false;
    if (stale) {  // between two kernels all of it can go to the host first
      if (!process.runs()) fetch(client, id, kAllBlocks, view, orders);
      return false;
    }
    bind(client);
    process.take(part);
    process.split = true;
    process.shares.push_back({part, id});
    request(process, process.shares.back());
    gpus_[id.index].queue.push_back(
        {rank(process, process.shares.back(), view), client, process.shares.size() - 1});
    return true;
  }

  // Shares of a kernel stay apart: one that could go anywhere goes to the GPU where it is in the queue.
  void bind(ClientId client) {
    for (const Gpu& gpu : gpus_)
      for (const Place& place : gpu.queue)
        if (place.client == client) share_of(place).gpu = id_of(gpu);
  }

  // Whether what the program gains by one more GPU is more than what the moves for it take.
  bool pays(ClientId client, DeviceId id, BlockRange part, bool stale, const View& view) const {
    const JobFacts& job = facts(client, view);
    const MemoryView& memory = view.memory();
    const Duration left = processes_[client.index].later + declared_left(job);
    const auto gpus = static_cast<std::int64_t>(processes_[client.index].shares.size());
    const Duration gain{left.ns / (gpus * (gpus + 1))};
    Bytes moved = memory.copies(job.id, id, part);
    if (stale) moved += memory.takes(job.id, id, kAllBlocks);
    const auto kernels = static_cast<std::int64_t>(job.kernels.size() - job.kernel);
    const Duration merges{
        mul_div_floor(memory.copy_time(memory.merged(client)).ns, 2 * (gpus + 1) * kernels, 1)};
    return gain > memory.copy_time(moved) + merges;
  }

  MicrokernelSize size_;
  bool by_priority_, by_length_;
  std::size_t ahead_;
  bool keep_while_room_, run_on_, splits_, literal_;

  std::vector<Process> processes_;  // by client
  std::vector<Gpu> gpus_;
  std::vector<Place> places_;
  std::vector<ClientId> new_;  // who requests since the last decision
  std::uint64_t requests_ = 0;
  bool news_ = false;                            // in this instant, beside launches that began
  bool ready_ = false, yielded_memory_ = false;  // messages that came in this instant
};

const PolicyRegistration<MicrokernelRr> registered{
    "microkernel-rr",
    "round robin of microkernels, memory saved and restored around them (Share-a-GPU)",
    {{"order", "of the queue", Parameter::Choice{{"round-robin", "priority", "shortest-first"}}},
     {"blocks",
      "of a microkernel: as take a slice by what the workload declares, or by the last microkernel's time, "
      "or "
      "so many block-tasks",
      Parameter::Choice{{"declared", "profiled", "block-tasks"}}},
     {"slice", "time slice that a microkernel is to take, but at least one wave of blocks",
      Parameter::Time{1_s, 1_us, 100_s}},
     {"block_tasks", "of a microkernel, with blocks: block-tasks",
      Parameter::Integer{1, 1, 1'000'000'000'000}},
     {"ahead", "how many processes at the head of the queue are prepared", Parameter::Integer{1, 1, 1000}},
     {"keep", "how long a process that yields keeps its state: while nobody else waits, or lacks room",
      Parameter::Choice{{"while-alone", "while-room"}}},
     {"unready", "what a process does whose successor is not ready: it runs on, or yields all the same",
      Parameter::Choice{{"run-on", "yield"}}},
     {"split", "kernels over several GPUs: where GPUs are idle and it pays, or never",
      Parameter::Choice{{"when-idle", "never"}}},
     {"protocol", "the scheduler's: repaired, or Algorithm 2 as printed, which never begins",
      Parameter::Choice{{"repaired", "literal"}}}}};

}  // namespace
}  // namespace gangway
