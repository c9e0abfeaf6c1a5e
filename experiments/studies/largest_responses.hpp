// The largest response of each client in a run, and of each task over many.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "experiments/studies/responses.hpp"
#include "experiments/studies/simulated_taskset.hpp"
#include "models/metrics/run_meter.hpp"

namespace gangway {

// Limits of all simulations for --simulate.
inline const Origin kSimulateOption{"--simulate", 0};
inline constexpr std::int64_t kMostSimulatedJobs = 20'000'000;
inline constexpr std::uint64_t kRounds = 3;  // per pattern, with different orders at ties

class LargestResponses : public JobSink, public TraceSink {
 public:
  // `nominal`: by client, releases from which responses count instead of actual ones, if listed. Must outlive
  // this object.
  explicit LargestResponses(std::size_t clients, const std::vector<std::vector<Duration>>* nominal = nullptr)
      : nominal_(nominal), meter_(clients, *this), worst_(clients) {}

  void record(const Record& record) override { meter_.record(record); }
  void job(const JobResult& job) override {
    if (!job.finish) return;
    ++jobs_;
    const std::uint32_t client = job.id.client.index;
    const bool listed = nominal_ != nullptr && !(*nominal_)[client].empty();
    const Time release = listed ? Time{} + (*nominal_)[client][job.id.number] : job.arrival;
    if (!worst_[client] || *job.finish - release > worst_[client]->first)
      worst_[client] = {*job.finish - release, job.id.number};
  }

  // Adds responses larger than those known to `out`. The workload's clients are named like the tasks.
  template <typename Task>
  void add_to(SimulatedResponses& out, const Workload& workload, const std::vector<Task>& tasks,
              const Ticks& ticks, const char* pattern) const {
    out.jobs += jobs_;
    for (std::size_t c = 0; c < workload.clients.size(); ++c) {
      if (!worst_[c]) continue;
      const auto task = std::find_if(tasks.begin(), tasks.end(),
                                     [&](const Task& t) { return t.name == workload.clients[c].name; });
      auto& known = out.tasks[static_cast<std::size_t>(task - tasks.begin())];
      const Rational value = ticks.time(worst_[c]->first);
      if (!known || value > known->value) known = {value, pattern, worst_[c]->second};
    }
  }

 private:
  const std::vector<std::vector<Duration>>* nominal_;
  RunMeter meter_;
  std::vector<std::optional<std::pair<Duration, std::uint32_t>>> worst_;
  std::uint64_t jobs_ = 0;
};

}  // namespace gangway
