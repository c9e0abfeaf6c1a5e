// Shared by all ownership policies: the waiting jobs, the owner of each GPU, quanta counted from the first
// block, evictions ordered once, and how long a job keeps a GPU between two kernels. A policy decides whom to
// choose, for how long, and, if waiting jobs can displace owners, how urgent jobs are. On several GPUs a job
// owns one at a time; rules: models/policy/README.md, "On several GPUs".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/policy.hpp"
#include "models/policy/estimates.hpp"

namespace gangway {

class OwnershipPolicy : public Policy {
 public:
  OwnershipPolicy() = default;
  explicit OwnershipPolicy(const Estimates& estimates) : estimates_(estimates) {}

  // How long a job keeps the GPU after a kernel while its next one is not eligible; 0 takes the GPU away at
  // the end of every kernel (models/policy/README.md, "Between two kernels of a job").
  static Parameter linger_parameter();
  void set_linger(Duration linger) { linger_ = linger; }

  Capabilities needs() const override { return {Capability::evict}; }
  bool several_gpus() const final { return true; }
  bool heeds_clients_gpus() const final { return true; }
  void note(Time now, const Fact& fact, const View& view) final;
  void decide(Time now, const View& view, Orders& orders) final;

 protected:
  struct Waiting {
    JobId job;
    Time arrived;
    Time since;               // when this wait began
    Duration waited;          // in earlier waits of this job
    std::uint64_t place = 0;  // increases in the order in which waits begin
    bool provided = false;    // in this decision: a GPU is being vacated for it
  };
  struct Owner {
    Waiting waiting;           // as when chosen
    LaunchId launch;           // the latest
    std::uint32_t kernel = 0;  // what was launched, and from which block-task
    BlockCount first;
    std::optional<Time> started;     // the launch
    std::optional<Time> turn_began;  // start of its first launch since it was chosen: quanta count from here
    bool evicting = false;
    std::optional<Duration> quantum;        // as chosen; none: until it completes
    bool displaced = false;                 // by a more urgent waiting job
    bool lingers = false;                   // between two kernels
    std::optional<std::uint64_t> returned;  // it has come back: the place it would have in waiting()
  };
  struct Choice {
    std::size_t index = 0;            // into candidates()
    std::optional<Duration> quantum;  // none: until it completes
  };

  // Ordered by the beginning of the wait.
  const std::vector<Waiting>& waiting() const { return waiting_; }
  // null: nobody owns the GPU.
  const Owner* owner_of(DeviceId gpu) const {
    const auto& owner = gpus_[gpu.index].owner;
    return owner ? &*owner : nullptr;
  }
  // During choose(): waiting jobs that may use a free GPU, at least one.
  const std::vector<Waiting>& candidates() const { return narrowed_ ? candidates_ : waiting_; }

  // Chooses who gets a free GPU: the lowest-numbered one it may use.
  virtual Choice choose(Time now, const View& view) = 0;
  // Limit on the block-tasks per launch of the job's current kernel; none: all that are left.
  virtual std::optional<BlockCount> slice(const JobFacts& job) const;
  // After an expired quantum: whether the owner gets another one although a waiting job may use its GPU.
  virtual bool keeps(Time now, const View& view, const Owner& owner, DeviceId gpu);
  // The next quantum if nobody waits, or if the owner keeps its GPU. By default as long as the first.
  virtual Duration renewed_quantum(Time now, const View& view, const Owner& owner);
  // A run begins: allocates what the policy keeps per client, so that nothing is allocated while time counts.
  virtual void prepare(std::size_t clients);
  // A decision begins; waiting() is complete.
  virtual void consider(const View& view);
  // Whether the owner must leave for a more urgent waiting job. A lingering owner is judged by its next
  // kernel, since nothing has to be evicted.
  virtual bool yields(const Owner& owner) const;
  // Urgency of a waiting job or an owner; greater is more urgent. All are equal if no owner yields.
  virtual std::int64_t urgency(const View& view, const Waiting& waiting) const;
  virtual std::int64_t owner_urgency(Time now, const View& view, const Owner& owner) const;
  // The owner left: its launch completed `tasks` block-tasks between its start and now.
  virtual void left(Time now, const Owner& owner, BlockCount tasks);
  // The owner, which lingered, loses the GPU.
  virtual void stopped_lingering(Time now, const Owner& owner);

  // For policies that need job times; updated here.
  Estimates estimates_;

  // The candidate with the least `value`; ties go to the earliest arrival, then to the first client.
  template <typename Value>
  std::size_t least(Value value) const {
    const std::vector<Waiting>& all = candidates();
    std::size_t best = 0;
    auto least = value(all[0]);
    for (std::size_t i = 1; i < all.size(); ++i) {
      auto its = value(all[i]);
      if (!before(i, its, best, least)) continue;
      best = i;
      least = std::move(its);
    }
    return best;
  }

 private:
  template <typename V>
  bool before(std::size_t i, const V& a, std::size_t j, const V& b) const {
    if (a < b || b < a) return a < b;
    const Waiting &x = candidates()[i], &y = candidates()[j];
    return x.arrived != y.arrived ? x.arrived < y.arrived : x.job.client < y.job.client;
  }
  struct Gpu {
    DeviceId id;
    std::optional<Owner> owner;
    bool begins_quantum = false;  // the owner's first, once its kernel has started
    TimerId timer;                // 0: none
    bool expired = false;
    TimerId linger_timer;  // likewise
    bool lingered = false;
    bool chosen_now = false;   // the owner was chosen in this decision
    std::int64_t urgency = 0;  // of the owner in this decision, if it yields
  };

  void begin(const View& view);
  void on(const Arrived& fact, Time now, const View& view);
  void on(const Left& fact, Time now, const View& view);
  Gpu* gpu_of(LaunchId launch);
  void wait(Waiting job, Time now);

  // ownership.cpp: taking GPUs.
  void take_free(Time now, const View& view, Orders& orders);
  bool narrow(const View& view, GpuSet free);
  void launch(Gpu& gpu, const View& view, Orders& orders);

  // ownership_leaving.cpp: leaving GPUs.
  void displace(Time now, const View& view, Orders& orders);
  std::size_t most_urgent_that_can_act(const View& view, GpuSet vacated, GpuSet yielding) const;
  const Gpu* least_urgent_below(std::int64_t urgency, GpuSet gpus) const;
  bool provide(const Gpu& gpu, const View& view);
  void watch(Gpu& gpu, Time now, const View& view, Orders& orders);
  void wait_for_owner(Gpu& gpu, Time now, const View& view, Orders& orders);
  bool ends_turn(const Gpu& gpu, Time now, const View& view);
  void vacate(Gpu& gpu, Time now, Orders& orders);
  void release(Gpu& gpu, Orders& orders);
  void end_quantum(Gpu& gpu, Time from, Duration quantum, Orders& orders);

  Duration linger_;
  std::vector<Gpu> gpus_;  // by number
  std::vector<Waiting> waiting_;
  std::uint64_t places_ = 0;             // number given out in waiting_
  bool narrowed_ = false;                // some waiting jobs can use no free GPU
  std::vector<Waiting> candidates_;      // then the others ...
  std::vector<std::size_t> of_waiting_;  // ... and their positions in waiting_
};

// Registers an ownership policy from its file; adds `linger` to its parameters.
template <typename P>
struct OwnershipRegistration : Registration<PolicyEntry> {
  OwnershipRegistration(std::string name, std::string summary, std::vector<Parameter> parameters,
                        const std::source_location& where = std::source_location::current())
      : Registration<PolicyEntry>(
            PolicyEntry{{std::move(name), std::move(summary), with_linger(std::move(parameters))},
                        [](const ParameterValues& values) -> std::unique_ptr<Policy> {
                          auto policy = std::make_unique<P>(values);
                          policy->set_linger(values.duration("linger"));
                          return policy;
                        }},
            where) {}

 private:
  static std::vector<Parameter> with_linger(std::vector<Parameter> own) {
    own.push_back(OwnershipPolicy::linger_parameter());
    return own;
  }
};

}  // namespace gangway
