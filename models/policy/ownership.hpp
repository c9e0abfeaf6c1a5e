// What all ownership policies share: who waits, who owns which GPU, quanta counted from the first block,
// evictions ordered once, and how long a job keeps a GPU between two of its kernels. A policy says whom to
// choose, for how long, and how urgent jobs are where a waiting one displaces an owner. On several GPUs a job
// owns one at a time; models/policy/README.md, "On several GPUs", has the rules.
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

  // How long a job may keep the GPU after a kernel completed while its next one is not eligible; 0 takes the
  // GPU from it at every end of a kernel (models/policy/README.md, "Between two kernels of a job").
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
    std::uint64_t place = 0;  // grows in the order of beginning to wait
    bool provided = false;    // in this decision: a GPU is being vacated for it
  };
  struct Owner {
    Waiting waiting;           // as it was when chosen
    LaunchId launch;           // the latest
    std::uint32_t kernel = 0;  // what was launched, from which block-task on
    BlockCount first;
    std::optional<Time> started;     // the launch
    std::optional<Time> turn_began;  // its first launch started since it was chosen: quanta count from here
    bool evicting = false;
    bool displaced = false;                 // by a waiting job that is more urgent
    bool lingers = false;                   // between two kernels
    std::optional<std::uint64_t> returned;  // it came back: the place that it would have in waiting()
  };
  struct Choice {
    std::size_t index = 0;            // into candidates()
    std::optional<Duration> quantum;  // none: until it completes
  };

  // In the order of beginning to wait.
  const std::vector<Waiting>& waiting() const { return waiting_; }
  // In choose(): those of them that may use a GPU which is free, at least one.
  const std::vector<Waiting>& candidates() const { return narrowed_ ? candidates_ : waiting_; }

  // Who gets a free GPU: the first by number that it may use.
  virtual Choice choose(Time now, const View& view) = 0;
  // How many block-tasks of the job's current kernel to launch at most; none: all that are left.
  virtual std::optional<BlockCount> slice(const JobFacts& job) const;
  // The quantum has expired: whether the owner gets another one although somebody waits who may use its GPU.
  virtual bool keeps(Time now, const View& view, const Owner& owner, DeviceId gpu);
  // The quantum when the last one expired and nobody waits, or the owner keeps its GPU.
  virtual Duration renewed_quantum(Time now, const View& view, const Owner& owner);
  // A run begins: room for what the policy keeps by client, so that nothing is allocated while time counts.
  virtual void prepare(std::size_t clients);
  // A decision begins, with everybody who has come to wait in waiting().
  virtual void consider(const View& view);
  // Whether the owner has to leave for a waiting job that is more urgent. One that lingers is judged by its
  // next kernel: nothing has to be evicted.
  virtual bool yields(const Owner& owner) const;
  // How urgent a waiting job is, and an owner: more where it is greater. All are alike if no owner yields.
  virtual std::int64_t urgency(const View& view, const Waiting& waiting) const;
  virtual std::int64_t owner_urgency(Time now, const View& view, const Owner& owner) const;
  // The owner left: its launch did `tasks` block-tasks between its start and now.
  virtual void left(Time now, const Owner& owner, BlockCount tasks);

  // Of policies that ask how long jobs take; kept up to date here.
  Estimates estimates_;

  // The candidate for which `value` is least; ties go to who arrived first, then to the first client.
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
    std::optional<Duration> quantum;  // of the owner, until its timer is set
    TimerId timer;                    // 0: none
    bool expired = false;
    TimerId linger_timer;  // likewise
    bool lingered = false;
    bool chosen_now = false;   // the owner, in this decision
    std::int64_t urgency = 0;  // of the owner, in this decision, where it yields
  };

  void begin(const View& view);
  void on(const Arrived& fact, Time now, const View& view);
  void on(const Left& fact, Time now, const View& view);
  Gpu* gpu_of(LaunchId launch);
  void wait(Waiting job, Time now);

  // ownership.cpp: how GPUs are taken.
  void take_free(Time now, const View& view, Orders& orders);
  bool narrow(const View& view, GpuSet free);
  void launch(Gpu& gpu, const View& view, Orders& orders);

  // ownership_leaving.cpp: how they are left.
  void displace(Time now, const View& view, Orders& orders);
  std::size_t most_urgent_that_can_act(const View& view, GpuSet vacated, GpuSet yielding) const;
  const Gpu* least_urgent_below(std::int64_t urgency, GpuSet gpus) const;
  bool provide(const Gpu& gpu, const View& view);
  void watch(Gpu& gpu, Time now, const View& view, Orders& orders);
  void wait_for_owner(Gpu& gpu, Time now, const View& view, Orders& orders);
  bool ends_turn(const Gpu& gpu, Time now, const View& view);
  void vacate(Gpu& gpu, Time now, Orders& orders);
  void release(Gpu& gpu, Orders& orders);

  Duration linger_;
  std::vector<Gpu> gpus_;  // by number
  std::vector<Waiting> waiting_;
  std::uint64_t places_ = 0;             // that were given in waiting_
  bool narrowed_ = false;                // some of those that wait may use no free GPU
  std::vector<Waiting> candidates_;      // then, the others ...
  std::vector<std::size_t> of_waiting_;  // ... and which of waiting_ each is
};

// Registers an ownership policy from its file, with `linger` beside its own parameters.
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
