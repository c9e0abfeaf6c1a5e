// What all ownership policies of one GPU share: who waits, who owns the GPU, quanta counted from the first
// block, evictions ordered once, and how long a job keeps the GPU between two of its kernels. A policy says
// whom to choose, for how long, and whether a waiting job displaces the owner.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/policy.hpp"

namespace gangway {

class OwnershipPolicy : public Policy {
 public:
  // How long a job may keep the GPU after a kernel completed while its next one is not eligible; 0 takes the
  // GPU from it at every end of a kernel (models/policy/README.md, "Between two kernels of a job").
  static Parameter linger_parameter();
  void set_linger(Duration linger) { linger_ = linger; }

  Capabilities needs() const override { return {Capability::evict}; }
  void note(Time now, const Fact& fact, const View& view) final;
  void decide(Time now, const View& view, Orders& orders) final;

 protected:
  struct Waiting {
    JobId job;
    Time arrived;
    Time since;       // when this wait began
    Duration waited;  // in earlier waits of this job
  };
  struct Owner {
    Waiting waiting;           // as it was when chosen
    LaunchId launch;           // the latest
    std::uint32_t kernel = 0;  // what was launched, from which block-task on
    BlockCount first;
    std::optional<Time> started;     // the launch
    std::optional<Time> turn_began;  // its first launch started since it was chosen: quanta count from here
    bool evicting = false;
    bool lingers = false;                 // between two kernels
    std::optional<std::size_t> returned;  // it came back: its place among those that waiting() then holds
  };
  struct Choice {
    std::size_t index = 0;            // into waiting()
    std::optional<Duration> quantum;  // none: until it completes
  };

  // In the order of beginning to wait; not empty when choose() is called.
  const std::vector<Waiting>& waiting() const { return waiting_; }
  const Owner& owner() const { return *owner_; }

  virtual Choice choose(Time now, const View& view) = 0;
  // How many block-tasks of the job's current kernel to launch at most; none: all that are left.
  virtual std::optional<BlockCount> slice(const JobFacts& job) const;
  // The quantum when the last one expired and nobody waits.
  virtual Duration renewed_quantum(Time now, const View& view);
  // A run begins: room for what the policy keeps by client, so that nothing is allocated while time counts.
  virtual void prepare(std::size_t clients);
  // Whether the owner has to leave for a waiting job.
  virtual bool displaced(Time now, const View& view);
  // The same of an owner that lingers, judged by its next kernel: nothing has to be evicted.
  virtual bool displaced_between_kernels(Time now, const View& view) { return displaced(now, view); }
  // The owner left: its launch did `tasks` block-tasks between its start and now.
  virtual void left(Time now, BlockCount tasks);

  // The waiting job for which `value` is least; ties go to who arrived first, then to the first client.
  template <typename Value>
  std::size_t least(Value value) const {
    std::size_t best = 0;
    auto least = value(waiting_[0]);
    for (std::size_t i = 1; i < waiting_.size(); ++i) {
      auto its = value(waiting_[i]);
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
    const Waiting &x = waiting_[i], &y = waiting_[j];
    return x.arrived != y.arrived ? x.arrived < y.arrived : x.job.client < y.job.client;
  }
  void on(const Arrived& fact, Time now, const View& view);
  void on(const Left& fact, Time now, const View& view);
  void take(Time now, const View& view, Orders& orders);
  void launch(const View& view, Orders& orders);
  void watch(Time now, const View& view, Orders& orders);
  void wait_for_owner(Time now, const View& view, Orders& orders);
  void evict(Orders& orders);
  void release(Orders& orders);

  Duration linger_;
  std::vector<Waiting> waiting_;
  std::optional<Owner> owner_;
  std::optional<Duration> quantum_;  // of the owner, until its timer is set
  TimerId timer_;                    // 0: none
  bool expired_ = false;
  TimerId linger_timer_;  // likewise
  bool lingered_ = false;
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
