// What was seen of a kernel's launches as a model has it.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "hw/calibration/drift.hpp"
#include "hw/calibration/launches.hpp"
#include "hw/calibration/rounded.hpp"
#include "models/fit/location.hpp"

namespace gangway {
namespace {

constexpr std::size_t kFewestRests = 6, kFewestEvictions = 10;
// Block-tasks are taken to be in step only where that says clearly better how long launches take.
constexpr double kClearlyBetter = 0.7;

double median_or_none(const std::vector<double>& values) { return values.empty() ? 0 : median(values); }

// The value that halves the weight.
double weighted_median(std::vector<std::pair<double, double>> valued) {
  std::sort(valued.begin(), valued.end());
  const double all = std::accumulate(valued.begin(), valued.end(), 0.0,
                                     [](double sum, const auto& v) { return sum + v.second; });
  double sum = 0;
  for (const auto& [value, weight] : valued)
    if ((sum += weight) >= all / 2) return value;
  return valued.back().first;
}

struct EachLaunch {
  double each = 0, error = 0;  // ns: of the time; the mean absolute residual
};

// launch = longer + each + share * (time - each), with the share that the launch has of the kernel, by least
// absolute deviations.
template <typename Share>
EachLaunch each_launch(const SeenLaunches& seen, double longer, Share share) {
  std::vector<std::pair<double, double>> said;
  for (const SeenLaunch& l : seen.rests) {
    const double left = 1 - share(l.tasks);
    if (left > 0.02) said.emplace_back((l.ns - longer - (1 - left) * seen.time) / left, left);
  }
  EachLaunch found;
  if (said.empty()) return found;
  found.each = std::clamp(weighted_median(std::move(said)), 0.0, 0.9 * seen.time);
  for (const SeenLaunch& l : seen.rests)
    found.error += std::abs(l.ns - longer - found.each - share(l.tasks) * (seen.time - found.each));
  found.error /= static_cast<double>(seen.rests.size());
  return found;
}

void describe_rests(const SeenLaunches& seen, MeasuredLaunches& out) {
  if (seen.rests.size() < kFewestRests || seen.blocks <= 0) return;
  const double longer = static_cast<double>(out.after_another.ns);
  const auto waves = [&](double tasks) { return std::ceil(tasks / seen.blocks); };
  const EachLaunch evenly = each_launch(seen, longer, [&](double tasks) { return tasks / seen.tasks; });
  const EachLaunch in_step =
      each_launch(seen, longer, [&](double tasks) { return waves(tasks) / waves(seen.tasks); });
  const bool together = seen.tasks > seen.blocks && in_step.error < kClearlyBetter * evenly.error;
  out.in_step = together ? static_cast<std::int64_t>(seen.blocks) : 0;
  out.each = rounded((together ? in_step : evenly).each);
}

// Sum of squares of what the mean of the `near` others nearest in order leaves, by delay and by work.
std::pair<double, double> left_over(const std::vector<MeasuredEviction>& all, std::int64_t near) {
  double delay = 0, work = 0;
  const auto n = static_cast<std::int64_t>(all.size());
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t first = i, last = i + 1;  // with itself
    double delays = 0, works = 0;
    const auto at = [&](std::int64_t j) { return all[static_cast<std::size_t>(j)]; };
    const auto take = [&](std::int64_t j) {
      delays += static_cast<double>((at(j).gone - at(j).ordered).ns);
      works += static_cast<double>((at(j).work - at(j).ordered).ns);
    };
    while (last - first <= near)
      if (last == n ||
          (first > 0 && at(i).ordered - at(first - 1).ordered <= at(last).ordered - at(i).ordered))
        take(--first);
      else
        take(last++);
    const auto k = static_cast<double>(near);
    delay += std::pow(static_cast<double>((at(i).gone - at(i).ordered).ns) - delays / k, 2);
    work += std::pow(static_cast<double>((at(i).work - at(i).ordered).ns) - works / k, 2);
  }
  return {delay, work};
}

void describe_evictions(const SeenLaunches& seen, MeasuredLaunches& out) {
  if (seen.evictions.size() < kFewestEvictions) return;
  const double each = static_cast<double>(out.each.ns);
  for (const SeenEviction& e : seen.evictions)
    out.evictions.push_back(
        {rounded(e.ordered), rounded(e.gone), rounded(e.tasks / seen.tasks * (seen.time - each))});
  std::sort(out.evictions.begin(), out.evictions.end(),
            [](const auto& a, const auto& b) { return a.ordered < b.ordered; });
  out.near = best_neighbours(out.evictions);
  if (seen.late.empty()) return;
  const double whole = seen.time + static_cast<double>(out.after_another.ns);
  out.too_late = rounded(std::max(0.0, whole - latest_order(seen.evictions, seen.late)));
}

// A job as readings tell of it, in ns: whole, or evicted and then, as a rule, the rest.
struct PlayedJob {
  std::optional<double> whole, delay, late;
  double ordered = 0, work = 0;
  std::optional<SeenLaunch> rest;
};

void add_jobs(const std::vector<PlayedJob>& jobs, SeenLaunches& seen) {
  std::vector<JobTime> times;
  std::vector<std::size_t> timed;  // jobs known from end to end
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const PlayedJob& job = jobs[i];
    if (job.whole) times.push_back({false, *job.whole});
    if (job.delay && job.rest) times.push_back({true, job.ordered + *job.delay + job.rest->ns});
    if (times.size() > timed.size()) timed.push_back(i);
  }
  const std::vector<double> slower = slowdowns(times, seen.time);
  double by = 1;
  std::size_t next = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const PlayedJob& job = jobs[i];
    if (next < timed.size() && timed[next] == i) by = slower[next++];
    seen.slower = std::max(seen.slower, by - 1);
    if (job.whole) seen.after_another.push_back(*job.whole / by);
    if (job.late) seen.late.push_back(*job.late / by);
    if (job.rest) seen.rests.push_back({job.rest->tasks, job.rest->ns / by});
    if (job.delay)
      seen.evictions.push_back({job.ordered / by, (job.ordered + *job.delay) / by,
                                (job.ordered + job.work) / seen.time * seen.tasks});
  }
}

}  // namespace

std::int64_t best_neighbours(const std::vector<MeasuredEviction>& evictions) {
  const auto most = static_cast<std::int64_t>(evictions.size()) - 1;
  if (most < 1) return 1;
  const auto [all_delay, all_work] = left_over(evictions, most);
  std::int64_t best = most;
  double least = 2;  // of all others, by what these leave
  for (std::int64_t near = 1; near < most; near = near < 4 ? near + 1 : near * 3 / 2) {
    const auto [delay, work] = left_over(evictions, near);
    const double left = (all_delay > 0 ? delay / all_delay : 1) + (all_work > 0 ? work / all_work : 1);
    if (left < least) best = near, least = left;
  }
  return best;
}

double latest_order(const std::vector<SeenEviction>& evictions, const std::vector<double>& late) {
  std::vector<std::pair<double, bool>> orders;  // true: too late
  for (const SeenEviction& e : evictions) orders.push_back({e.ordered, false});
  for (const double order : late) orders.push_back({order, true});
  std::sort(orders.begin(), orders.end());
  // With the border before order i: those on the wrong side.
  std::size_t wrong = evictions.size(), least = wrong, best = 0;
  for (std::size_t i = 0; i < orders.size(); ++i) {
    wrong = orders[i].second ? wrong + 1 : wrong - 1;
    if (wrong <= least) least = wrong, best = i + 1;
  }
  if (best == 0) return orders.front().first;
  if (best == orders.size()) return orders.back().first;
  return (orders[best - 1].first + orders[best].first) / 2;
}

MeasuredLaunches described(const SeenLaunches& seen) {
  MeasuredLaunches out;
  out.launch = rounded(median(seen.command));
  if (!seen.pending_work.empty()) out.pending_work = rounded(median(seen.pending_work));
  out.after_another = rounded(median_or_none(seen.after_another) - seen.time);
  describe_rests(seen, out);
  describe_evictions(seen, out);
  return out;
}

SeenLaunches seen_launches(const Calibration& c, const std::string& mechanism, const std::string& name,
                           const Kernel& kernel) {
  SeenLaunches seen;
  std::vector<double> whole;
  std::vector<PlayedJob> jobs;
  for (const Reading& r : c.readings) {
    if (r.kernel != name || r.mechanism != mechanism) continue;
    if (r.quantity == "transformed") whole.push_back(r.value);
    if (r.quantity == "launch after another") seen.command.push_back(r.value);
    if (r.quantity == "pending work of the whole" || r.quantity == "pending work after an eviction")
      seen.pending_work.push_back(r.value);
    if (r.quantity == "transformed after another") jobs.emplace_back().whole = r.value;
    if (r.quantity == "eviction") jobs.emplace_back().delay = r.value;
    if (jobs.empty()) continue;
    if (r.quantity == kOrderTooLate) jobs.back().late = r.value;
    if (r.quantity == "eviction's order") jobs.back().ordered = r.value;
    if (r.quantity == "work after an eviction's order") jobs.back().work = r.value;
    if (r.quantity == kRestOfKernel) jobs.back().rest = SeenLaunch{static_cast<double>(r.parameter), r.value};
  }
  seen.tasks = static_cast<double>(kernel.block_tasks.count);
  seen.blocks = static_cast<double>(c.persistent_blocks.at(name));
  seen.time = median_or_none(whole);
  add_jobs(jobs, seen);
  return seen;
}

}  // namespace gangway
