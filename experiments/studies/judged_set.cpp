#include "experiments/studies/judged_set.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "experiments/studies/responses.hpp"
#include "experiments/studies/worst_case.hpp"
#include "models/error.hpp"
#include "models/random.hpp"

namespace gangway {
namespace {

struct SeenTask {
  std::optional<Rational> simulated, searched;
  std::optional<Rational> largest() const {
    if (!simulated || !searched) return simulated ? simulated : searched;
    return std::max(*simulated, *searched);
  }
};

std::optional<Rational> period_of(const TaskSet& set, std::size_t task) {
  if (const auto* sporadic = std::get_if<SporadicTasks>(&set.tasks)) return sporadic->tasks[task].period;
  if (const auto* owning = std::get_if<OwningTasks>(&set.tasks)) return owning->tasks[task].period;
  return std::nullopt;
}

// Holds what was seen against one bound of each task (none: not bounded).
template <typename BoundOf, typename Stopped>
JudgedSet::Verdict verdict_of(const TaskSet& set, const std::string& name, const std::vector<SeenTask>& seen,
                              BoundOf bound_of, Stopped stopped) {
  JudgedSet::Verdict verdict;
  verdict.bound = name;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const Rational* bound = bound_of(i);
    const auto period = period_of(set, i);
    verdict.all = verdict.all && bound != nullptr;
    verdict.stopped += stopped(i) ? 1 : 0;
    verdict.in_time = verdict.in_time && bound != nullptr && (!period || *bound <= *period);
    const auto largest = seen[i].largest();
    if (bound != nullptr && largest) verdict.ratios.push_back((*largest / *bound).number());
  }
  return verdict;
}

std::string number(const std::optional<Rational>& value) { return value ? to_text(value->number()) : ""; }

std::string rows_of(const TaskSet& set, std::uint64_t which, const BoundReport& report,
                    const std::vector<SeenTask>& seen) {
  std::string rows;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const BoundedTask& task = report.tasks[i];
    const Rational* bound = report.tightest(i);
    const auto largest = seen[i].largest();
    rows += fmt::format(
        "{},{},{},{},{},{},{},{},{},{}\n", which, task.name, number(task.utilisation),
        number(period_of(set, i)), bound != nullptr ? report.bounds[*task.tightest].bound->name : "",
        bound != nullptr ? to_text(bound->number()) : "", number(seen[i].simulated), number(seen[i].searched),
        bound != nullptr && largest ? to_text((*largest / *bound).number()) : "",
        fmt::join(report.stopped(i), " "));
  }
  return rows;
}

}  // namespace

std::optional<JudgedSet> judge(const Study& study, const StudyPoint& point, std::uint64_t number,
                               std::size_t order, const std::atomic<bool>& stop) {
  const TaskSet set = point.set(number, order);
  const BoundReport report = bound_responses(set);
  std::vector<SeenTask> seen(report.tasks.size());
  JudgedSet judged;
  Stream random(point.seed, "study", {number});
  const std::uint64_t seed = random.next();  // one for each set, the same in all orders
  if (study.simulated_jobs) {
    const LongRun run = simulate_periodically(set, *study.simulated_jobs, seed);
    judged.met = std::all_of(run.tasks.begin(), run.tasks.end(), [](const auto& t) { return t.met; });
    judged.growing = std::any_of(run.tasks.begin(), run.tasks.end(), [](const auto& t) { return t.growing; });
    for (std::size_t i = 0; i < seen.size(); ++i) seen[i].simulated = run.tasks[i].largest;
    judged.jobs += run.jobs;
    judged.events += run.events;
  }
  if (study.search_steps) {
    const SearchedResponses found = search_worst_case(set, {std::nullopt, *study.search_steps}, seed, stop);
    if (found.interrupted) return std::nullopt;
    for (std::size_t i = 0; i < seen.size(); ++i) seen[i].searched = found.tasks[i]->response;
    judged.jobs += found.jobs;
  }
  for (std::size_t i = 0; i < seen.size(); ++i)
    if (const auto largest = seen[i].largest()) check_observation(report, i, *largest);
  for (const AppliedBound& applied : report.bounds)
    judged.bounds.push_back(verdict_of(
        set, applied.bound->name, seen,
        [&](std::size_t i) { return std::get_if<Rational>(&applied.result.tasks[i]); },
        [&](std::size_t i) { return BoundReport::stopped(applied, i); }));
  judged.bounds.push_back(verdict_of(
      set, kTightest, seen, [&](std::size_t i) { return report.tightest(i); },
      [&](std::size_t i) { return !report.stopped(i).empty(); }));
  if (study.write_tasks) judged.rows = rows_of(set, number, report, seen);
  return judged;
}

}  // namespace gangway
