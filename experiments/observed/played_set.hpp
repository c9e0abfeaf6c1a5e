// Common to all ways of playing task sets.
#pragma once

#include <memory>
#include <vector>

#include "experiments/observed/observed_releases.hpp"
#include "experiments/observed/observed_responses.hpp"
#include "hw/real_device.hpp"

namespace gangway {

// A set's times in whole ns. Throws InputError for a set without a unit.
class SetClock {
 public:
  explicit SetClock(const TaskSet& set);
  Duration down(const Rational& time) const { return {*Rational::floor_of(time * scale_, 1).integer()}; }
  Duration up(const Rational& time) const { return {*Rational::ceil_of(time * scale_, 1).integer()}; }
  const Rational& scale() const { return scale_; }  // ns per unit of the set

 private:
  Rational scale_;
};

// Throws InputError with `--world NAME` as origin.
[[noreturn]] void refuse_set(const WorldEntry& world, const std::string& key, const std::string& found,
                             const std::string& expected);

// The device of a real-time world. Throws RunError if there is none.
Device real_device_of(const WorldEntry& world);

// The largest response of each client over consecutive runs, beside a sink that judges the runs.
class ObservedRun : public TraceSink {
 public:
  ObservedRun(TraceSink& judge, const std::vector<std::vector<Duration>>& nominal,
              const std::atomic<bool>& stop)
      : judge_(judge), nominal_(nominal), stop_(stop), largest_(nominal.size()) {}

  void record(const Record& record) override;
  void blocks(const BlockSpan& span) override { judge_.blocks(span); }
  bool wants_blocks() const override { return judge_.wants_blocks(); }
  void uncertain(Duration clock) override { judge_.uncertain(clock); }
  bool stopped() const override { return stop_; }
  // Adds responses larger than those known to `out`.
  void add_to(ObservedResponses& out, const std::string& pattern) const;

 private:
  TraceSink& judge_;
  const std::vector<std::vector<Duration>>& nominal_;
  const std::atomic<bool>& stop_;
  std::vector<std::optional<ObservedTask>> largest_;
  std::uint64_t jobs_ = 0;
};

// Sets the clients' releases, in the order of the run's tasks; returns the nominal ones.
std::vector<std::vector<Duration>> release(Workload& workload, const ReleasedRun& run);

// Share of a cost's limit taken on `sim`: all, or random.
class CostShare {
 public:
  CostShare(std::uint64_t seed, std::uint64_t run) : random_(seed, "costs", {run}), all_(run % 2 == 0) {}
  Duration of(Duration cost) {
    if (all_) return cost;
    return {static_cast<std::int64_t>(static_cast<double>(cost.ns) * random_.uniform())};
  }

 private:
  Stream random_;
  bool all_;
};

ObservedResponses observe_owners(const TaskSet& set, const ObserveOptions& options,
                                 const std::atomic<bool>& stop);
ObservedResponses observe_queue(const TaskSet& set, const ObserveOptions& options,
                                const std::atomic<bool>& stop);

}  // namespace gangway
