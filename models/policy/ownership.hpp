// What all ownership policies of one GPU share: who waits, who owns the GPU, quanta counted from the first
// block, evictions ordered once. A policy says whom to choose, for how long, and whether a waiting job
// displaces the owner.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "models/policy.hpp"

namespace gangway {

class OwnershipPolicy : public Policy {
 public:
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
    Waiting waiting;  // as it was when chosen
    LaunchId launch;
    std::uint32_t kernel = 0;  // what was launched, from which block-task on
    BlockCount first;
    std::optional<Time> started;
    bool evicting = false;
  };
  struct Choice {
    std::size_t index = 0;              // into waiting()
    std::optional<Duration> quantum;    // none: until it completes
    std::optional<BlockCount> slice{};  // block-tasks to launch at most; none: all that are left
  };

  // In the order of beginning to wait; not empty when choose() is called.
  const std::vector<Waiting>& waiting() const { return waiting_; }
  const Owner& owner() const { return *owner_; }

  virtual Choice choose(Time now, const View& view) = 0;
  // The quantum when the last one expired and nobody waits.
  virtual Duration renewed_quantum(Time now, const View& view);
  // A run begins: room for what the policy keeps by client, so that nothing is allocated while time counts.
  virtual void prepare(std::size_t clients);
  // Whether the owner has to leave for a waiting job.
  virtual bool displaced(Time now, const View& view);
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
  void on(Time now, const Left& fact);
  void take(Time now, const View& view, Orders& orders);
  void watch(Time now, const View& view, Orders& orders);
  void evict(Orders& orders);

  std::vector<Waiting> waiting_;
  std::optional<Owner> owner_;
  std::optional<Duration> quantum_;  // of the owner, until its timer is set
  TimerId timer_;                    // 0: none
  bool expired_ = false;
};

}  // namespace gangway
