// Share-a-GPU's scheduler (Garg et al., II-D and II-E): processes take turns on the GPU for a microkernel
// each, while the next one's state comes to device memory and the last one's goes. sim/memory/README.md
// defines it.
//
// Algorithm 2 as printed cannot begin: it sends PrepareState upon YieldedGPUMemory alone, which nobody sends
// before he was prepared; and it launches upon ReadyToLaunch alone, so who became ready while another ran is
// not launched when that yields. The text around it says what was meant: the head of the queue is prepared
// whenever there is room, and a ready process is launched whenever the GPU is free. That is the default;
// `protocol: literal` plays the algorithm as printed.
#include <algorithm>
#include <tuple>
#include <utility>

#include "models/policy/slices.hpp"

namespace gangway {
namespace {

using namespace literals;

// How many block-tasks a microkernel has.
class MicrokernelSize {
 public:
  explicit MicrokernelSize(const ParameterValues& values)
      : how_(values.choice("blocks")),
        slice_(values.duration("slice")),
        block_tasks_(values.integer("block_tasks")) {}

  void prepare(std::size_t clients) { seen_.assign(clients, {}); }

  BlockCount next(const JobFacts& job) const {
    const KernelFacts& kernel = job.current();
    const BlockCount left = kernel.block_tasks - job.done;
    if (how_ == "block-tasks") return std::min(left, BlockCount{block_tasks_});
    if (how_ == "declared") return std::min(left, waves_within(kernel, slice_));
    const Seen seen = seen_of(job.id.client, kernel.same_as);
    if (seen.waves == 0) return std::min(left, whole_waves(kernel, 1));
    const std::int64_t waves =
        mul_div_floor(slice_.ns, seen.waves, std::max<std::int64_t>(1, seen.elapsed.ns));
    return std::min(left, whole_waves(kernel, std::min(waves, waves_of(kernel, kernel.block_tasks))));
  }

  // The last microkernel of this kernel.
  void saw(ClientId client, const KernelFacts& kernel, BlockCount tasks, Duration elapsed) {
    std::vector<Seen>& seen = seen_[client.index];
    if (seen.size() <= kernel.same_as) seen.resize(kernel.same_as + std::size_t{1});
    seen[kernel.same_as] = {waves_of(kernel, tasks), elapsed};
  }

 private:
  struct Seen {
    std::int64_t waves = 0;
    Duration elapsed;
  };
  Seen seen_of(ClientId client, std::uint32_t kernel) const {
    const std::vector<Seen>& seen = seen_[client.index];
    return kernel < seen.size() ? seen[kernel] : Seen{};
  }

  std::string how_;
  Duration slice_;
  std::int64_t block_tasks_;
  std::vector<std::vector<Seen>> seen_;  // by client and kernel
};

class MicrokernelRr : public Policy {
 public:
  explicit MicrokernelRr(const ParameterValues& values)
      : size_(values),
        by_priority_(values.choice("order") == "priority"),
        by_length_(values.choice("order") == "shortest-first"),
        ahead_(static_cast<std::size_t>(values.integer("ahead"))),
        keep_while_room_(values.choice("keep") == "while-room"),
        run_on_(values.choice("unready") == "run-on"),
        literal_(values.choice("protocol") == "literal") {}

  Capabilities needs() const override { return {Capability::ranges, Capability::memory}; }

  void note(Time now, const Fact& fact, const View& view) override {
    if (const auto* left = std::get_if<Left>(&fact)) {
      on(now, *left, view);
    } else if (const auto* arrived = std::get_if<Arrived>(&fact)) {
      processes_[arrived->job.client.index].job = arrived->job;
      request(arrived->job.client);
    } else if (const auto* started = std::get_if<Started>(&fact)) {
      if (running_ && running_->launch == started->launch) running_->started = now;
    } else if (const auto* moved = std::get_if<Moved>(&fact)) {
      ready_ = ready_ || moved->direction == Direction::restore;
      yielded_memory_ = yielded_memory_ || moved->direction == Direction::save;
      Process& process = processes_[moved->job.client.index];
      if (moved->direction == Direction::save && std::exchange(process.again, false))
        request(moved->job.client);
    }
  }

  void decide(Time, const View& view, Orders& orders) override {
    if (processes_.size() < view.clients()) {  // the decision before anything happens
      processes_.resize(view.clients());
      size_.prepare(view.clients());
    }
    line_up(view);
    const std::optional<ClientId> next = running_ ? std::nullopt : choose(view);
    if (next) launch(*next, view, orders);
    if (yielder_ && next != yielder_ && must_save(next.has_value(), view)) save(*yielder_, orders);
    if (!literal_ || yielded_memory_) prepare(view, orders);
    make_room(view, orders);
    yielder_.reset();
    ready_ = yielded_memory_ = false;
  }

 private:
  static constexpr DeviceId kDevice{0};

  // What the paper's kernel control block holds beside the job's progress; the process's state follows from
  // this and from where its memory is.
  struct Process {
    JobId job;
    bool requests = false;    // Wait, RestoreState or ReadyToLaunch, by its memory
    bool again = false;       // requests when its state is saved
    std::uint64_t since = 0;  // when it began to request, as a number that grows
  };
  struct Running {
    LaunchId launch;
    JobId job;
    std::uint32_t kernel = 0;
    BlockCount first;
    Time started;
  };

  void request(ClientId client) {
    processes_[client.index].requests = true;
    processes_[client.index].since = ++requests_;
  }

  void on(Time now, const Left& left, const View& view) {
    if (!running_ || running_->launch != left.launch) return;
    const Running ran = *std::exchange(running_, std::nullopt);
    const JobFacts& job = view.job(left.job);
    if (left.done && *left.done > ran.first)
      size_.saw(left.job.client, job.kernels[ran.kernel], *left.done - ran.first, now - ran.started);
    if (job.id != left.job || job.finished()) return;
    yielder_ = left.job.client;
    if (!left.job_over) request(left.job.client);
  }

  // The queue: all that request, in order.
  void line_up(const View& view) {
    queue_.clear();
    for (std::uint32_t c = 0; c < processes_.size(); ++c)
      if (processes_[c].requests) queue_.push_back({rank(processes_[c], view), ClientId{c}});
    std::sort(queue_.begin(), queue_.end());
  }

  using Rank = std::tuple<std::int64_t, std::uint64_t>;
  Rank rank(const Process& process, const View& view) const {
    const JobFacts& job = view.job(process.job);
    const KernelFacts& kernel = job.current();
    std::int64_t first = 0;
    if (by_priority_) first = -std::int64_t{kernel.priority};
    if (by_length_)
      first =
          mul_div_floor((kernel.block_tasks - job.done).count, kernel.declared.ns, kernel.block_tasks.count);
    return {first, process.since};
  }

  const JobFacts& facts(ClientId client, const View& view) const {
    return view.job(processes_[client.index].job);
  }
  Residence residence(ClientId client, const View& view) const { return facts(client, view).residence; }

  // Who gets the free GPU, if anybody.
  std::optional<ClientId> choose(const View& view) const {
    if (literal_) {
      const bool head = ready_ && !queue_.empty() && residence(queue_[0].client, view) == Residence::resident;
      return head ? std::optional(queue_[0].client) : std::nullopt;
    }
    const auto next = std::find_if(queue_.begin(), queue_.end(), [&](const Place& place) {
      return residence(place.client, view) == Residence::resident;
    });
    if (next == queue_.end()) return std::nullopt;
    const auto before = static_cast<std::size_t>(next - queue_.begin());
    if (next->client == yielder_ && before > 0 && (!run_on_ || short_of_room(view, before)))
      return std::nullopt;
    return next->client;
  }

  void launch(ClientId client, const View& view, Orders& orders) {
    const JobFacts& job = facts(client, view);
    running_ = Running{{}, job.id, job.kernel, job.done, {}};
    running_->launch = orders.launch(job.id, kDevice, {job.done, job.done + size_.next(job)});
    processes_[client.index].requests = false;
    std::erase_if(queue_, [&](const Place& place) { return place.client == client; });
  }

  // Whether the yielder, which has not got the GPU again, gives up its memory (II-E: unless nobody waits).
  bool must_save(bool launched, const View& view) const {
    const bool requests = processes_[yielder_->index].requests;
    if (requests && !launched && !literal_) return true;  // it was passed over for one that lacks room
    if (keep_while_room_) return short_of_room(view, queue_.size());
    return launched || queue_.size() > (requests ? 1U : 0U);
  }

  void save(ClientId client, Orders& orders) {
    Process& process = processes_[client.index];
    process.again = std::exchange(process.requests, false);
    std::erase_if(queue_, [&](const Place& place) { return place.client == client; });
    orders.save(process.job, kDevice);
  }

  // The first of the queue, in order: nobody passes one for which there is no room.
  void prepare(const View& view, Orders& orders) {
    for (std::size_t i = 0; i < std::min(ahead_, queue_.size()); ++i) {
      const JobFacts& job = facts(queue_[i].client, view);
      if (job.residence == Residence::restoring || job.residence == Residence::resident) continue;
      if (job.residence == Residence::saving || job.memory > view.room(kDevice)) return;
      orders.restore(job.id, kDevice);
    }
  }

  // Whether one of the first `places` of the queue is to be prepared, but will not have room.
  bool short_of_room(const View& view, std::size_t places) const {
    Bytes room = view.room(kDevice);
    for (std::uint32_t c = 0; c < processes_.size(); ++c) {
      const JobFacts& job = view.job({ClientId{c}, 0});
      if (job.residence == Residence::saving) room.count += job.memory.count;
    }
    for (std::size_t i = 0; i < std::min({places, ahead_, queue_.size()}); ++i) {
      const JobFacts& job = facts(queue_[i].client, view);
      if (job.residence == Residence::absent && job.memory > room) return true;
    }
    return false;
  }

  // Those that are between two calls of their program need their memory last.
  void make_room(const View& view, Orders& orders) {
    for (std::uint32_t c = 0; c < processes_.size(); ++c) {
      const Process& process = processes_[c];
      const JobFacts& job = view.job({ClientId{c}, 0});
      if (process.requests || (running_ && running_->job.client.index == c)) continue;
      if (job.residence != Residence::resident || !short_of_room(view, queue_.size())) continue;
      save(ClientId{c}, orders);
    }
  }

  struct Place {
    Rank rank;
    ClientId client;
    bool operator<(const Place& other) const { return rank < other.rank; }
  };

  MicrokernelSize size_;
  bool by_priority_, by_length_;
  std::size_t ahead_;
  bool keep_while_room_, run_on_, literal_;

  std::vector<Process> processes_;  // by client
  std::vector<Place> queue_;
  std::optional<Running> running_;
  std::uint64_t requests_ = 0;
  // In this instant:
  std::optional<ClientId> yielder_;              // left, with kernels left
  bool ready_ = false, yielded_memory_ = false;  // messages that came
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
     {"protocol", "the scheduler's: repaired, or Algorithm 2 as printed, which never begins",
      Parameter::Choice{{"repaired", "literal"}}}}};

}  // namespace
}  // namespace gangway
