#include "experiments/observed/searched_owners.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/studies/simulated_owners.hpp"
#include "models/error.hpp"
#include "models/random.hpp"

namespace gangway {
namespace {

constexpr std::size_t kMostJobsFound = 400;  // of one simulation
constexpr int kFarthest = 12;                // how often the distance of a shift may be halved

using Plan = std::vector<std::vector<Duration>>;  // releases by task, in ticks

// What a plan does: the largest response of each task, and when jobs were launched and over.
class PlayedPlan : public TraceSink {
 public:
  explicit PlayedPlan(const Plan& plan) : plan_(plan), worst(plan.size(), -1), ends(plan.size()) {}
  void record(const Record& record) override {
    if (record.mark == Mark::launch_ordered) launches.push_back(record.time.ns);
    if (record.mark != Mark::finished) return;
    const std::uint32_t task = record.job.client.index;
    worst[task] = std::max(worst[task], record.time.ns - plan_[task][record.job.number].ns);
    ends[task].push_back(record.time.ns);
  }

 private:
  const Plan& plan_;

 public:
  std::vector<std::int64_t> worst, launches;
  std::vector<std::vector<std::int64_t>> ends;
};

class OwnerSearch {
 public:
  OwnerSearch(const OwningTasks& set, Duration horizon, std::uint64_t seed)
      : runs_(set, Rational(horizon.ns), "ns", Origin{"--climb", 0}, "times"),
        ring_(set.quantum),
        seed_(seed) {
    horizon_ = runs_.ticks().up(Rational(horizon.ns));
    for (std::size_t i = 0; i < set.tasks.size(); ++i) {
      periods_.push_back(runs_.ticks().up(*set.tasks[i].period));
      workload_.clients.push_back(runs_.client(i));
    }
  }

  // The target comes as soon as it may, at first a moment after those that delay it; all others come again
  // when one of its jobs is over.
  Plan closed_loop(std::size_t target) {
    Plan plan(periods_.size(), {Duration{}});
    for (std::size_t i = 0; i < target && !ring_; ++i) plan[i].front() = Duration{1};
    plan[target].clear();
    for (std::int64_t at = 1; at < horizon_ || at == 1; at += periods_[target]) {
      plan[target].push_back(Duration{at});
      if (plan[target].size() * plan.size() >= kMostJobsFound) break;
    }
    for (std::int64_t now = 0; jobs_of(plan) < kMostJobsFound;) {
      const PlayedPlan seen = play(plan);
      bool came = false;
      for (const std::int64_t end : seen.ends[target]) {
        if (end <= now || end > horizon_) continue;
        for (std::size_t i = 0; i < plan.size(); ++i) {
          if (i == target || plan[i].back().ns + periods_[i] > end) continue;
          plan[i].push_back(Duration{end});
          came = true;
        }
        now = end;
        if (came) break;  // what follows depends on it
      }
      if (!came) break;
    }
    return plan;
  }

  // `steps` changes to a plan, of which those stay that do not shorten the target's largest response.
  Plan climb(std::size_t target, Plan plan, std::uint64_t steps, const std::atomic<bool>& stop) {
    Stream random(seed_, "climb of owners", {target});
    PlayedPlan seen = play(plan);
    std::int64_t height = seen.worst[target];
    std::vector<std::int64_t> instants = instants_of(seen);
    for (std::uint64_t step = 0; step < steps && !stop; ++step) {
      Plan changed = plan;
      if (!change(changed, instants, random)) continue;
      const PlayedPlan now = play(changed);
      if (now.worst[target] < height) continue;
      height = now.worst[target];
      instants = instants_of(now);
      plan = std::move(changed);
    }
    return plan;
  }

  Plan in_ns(Plan plan) const {
    for (auto& releases : plan)
      for (Duration& release : releases)
        release.ns = *Rational::ceil_of(runs_.ticks().time(release), 1).integer();
    return plan;
  }

 private:
  static std::size_t jobs_of(const Plan& plan) {
    std::size_t jobs = 0;
    for (const auto& releases : plan) jobs += releases.size();
    return jobs;
  }

  static std::vector<std::int64_t> instants_of(const PlayedPlan& seen) {
    std::vector<std::int64_t> all = seen.launches;
    for (const auto& ends : seen.ends) all.insert(all.end(), ends.begin(), ends.end());
    return all;
  }

  PlayedPlan play(const Plan& plan) {
    for (std::size_t i = 0; i < plan.size(); ++i) {
      workload_.clients[i].repeat.releases = plan[i];
      workload_.clients[i].repeat.jobs = static_cast<std::uint32_t>(plan[i].size());
    }
    PlayedPlan seen(plan);
    runs_.play(workload_, seed_, seen);
    return seen;
  }

  // One job comes at or beside the launch or end of another, or some time away; others of its task make room.
  bool change(Plan& plan, const std::vector<std::int64_t>& instants, Stream& random) const {
    const std::size_t task = random.below(plan.size());
    auto& all = plan[task];
    const std::size_t job = random.below(all.size());
    std::int64_t at = all[job].ns;
    if (random.below(2) == 0 && !instants.empty()) {
      at = instants[random.below(instants.size())] + static_cast<std::int64_t>(random.below(3)) - 1;
    } else {
      const std::int64_t most = std::max<std::int64_t>(1, periods_[task] >> random.below(kFarthest));
      const auto by = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most))) + 1;
      at += random.below(2) == 0 ? by : -by;
    }
    const bool changed = at != all[job].ns;
    all[job].ns = at;
    for (std::size_t k = job + 1; k < all.size(); ++k)
      all[k].ns = std::max(all[k].ns, all[k - 1].ns + periods_[task]);
    for (std::size_t k = job; k > 0; --k) all[k - 1].ns = std::min(all[k - 1].ns, all[k].ns - periods_[task]);
    return changed && all.front().ns >= 0 && all.back().ns <= horizon_;
  }

  OwnerRuns runs_;
  bool ring_;
  std::uint64_t seed_;
  std::int64_t horizon_ = 0;  // in ticks, as are the periods
  std::vector<std::int64_t> periods_;
  Workload workload_;
};

}  // namespace

std::vector<FoundReleases> bad_releases_of_owners(const OwningTasks& set, Duration horizon,
                                                  std::uint64_t steps, std::uint64_t seed,
                                                  const std::atomic<bool>& stop) {
  std::vector<FoundReleases> found;
  try {
    OwnerSearch search(set, horizon, seed);
    for (std::size_t i = 0; i < set.tasks.size() && !stop; ++i) {
      const Plan loop = search.closed_loop(i);
      found.push_back({fmt::format("closed loop around {}", set.tasks[i].name), search.in_ns(loop)});
      if (steps == 0) continue;
      found.push_back({fmt::format("searched for {}", set.tasks[i].name),
                       search.in_ns(search.climb(i, loop, steps, stop))});
    }
  } catch (const InputError&) {  // too long to be simulated exactly
    found.clear();
  }
  return found;
}

}  // namespace gangway
