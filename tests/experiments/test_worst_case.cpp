// The search for worst cases: that what it finds is legal, is found again, and is at least what exhaustive
// search over periodic releases finds.
#include <fmt/format.h>

#include <algorithm>

#include "experiments/running/unmanaged_runs.hpp"
#include "experiments/studies/worst_case.hpp"
#include "models/bounds/report.hpp"
#include "models/random.hpp"
#include "tests/cases.hpp"
#include "tests/catch.hpp"
#include "tests/models/bounds/sets.hpp"
#include "tests/scenario.hpp"
#include "workloads/taskset_generator.hpp"

namespace gangway::testing {
namespace {

const std::atomic<bool> kGoOn{false};

SearchedResponses search(const TaskSet& set, std::uint64_t steps, std::uint64_t seed = 1) {
  return search_worst_case(set, {std::nullopt, steps}, seed, kGoOn);
}

TaskSet attacked_set_of(const std::string& yaml) {
  const Node node = parse_yaml("kind: taskset\nversion: 1\nname: t\n" + yaml, "taskset");
  return read_task_set(Field(node, ""));
}

// The largest response of a client when the workload is played by itself.
class LargestOf : public TraceSink {
 public:
  LargestOf(const Workload& workload, std::string name) : workload_(workload), name_(std::move(name)) {}
  void record(const Record& record) override {
    if (record.mark != Mark::gone || workload_.clients[record.job.client.index].name != name_) return;
    const Duration release = workload_.clients[record.job.client.index].repeat.releases[record.job.number];
    largest = std::max(largest, record.time - (Time{} + release));
  }
  Duration largest;

 private:
  const Workload& workload_;
  std::string name_;
};

void check_legal(const SporadicTasks& set, const WorstCase& worst, const Rational& scale) {
  for (const Client& client : worst.workload.clients) {
    const auto task = std::find_if(set.tasks.begin(), set.tasks.end(),
                                   [&](const SporadicTask& t) { return t.name == client.name; });
    REQUIRE(task != set.tasks.end());
    const auto& releases = client.repeat.releases;
    REQUIRE(releases.front() >= Duration{});
    for (std::size_t k = 1; k < releases.size(); ++k)
      REQUIRE(Rational((releases[k] - releases[k - 1]).ns) >= task->period * scale);
    const Kernel& kernel = client.kernels.front();
    REQUIRE(Rational(kernel.block_task_length->ns) <= task->grid.block_time() * scale);
    for (const BlockException& e : kernel.exceptions) {
      REQUIRE(e.length.ns >= 1);
      REQUIRE(e.length < *kernel.block_task_length);
      REQUIRE(e.block < task->grid.blocks);
    }
  }
}

void check_replay(const WorstCase& worst, const std::string& task) {
  LargestOf largest(worst.workload, task);
  UnmanagedRuns(worst.workload, worst.device).play(1, largest);
  CHECK(largest.largest == worst.simulated);
}

}  // namespace

TEST_CASE("the search reaches what all periodic releases reach, and mostly three quarters of the bounds",
          "[search]") {
  std::vector<double> ratios;
  for (const KnownSet& known : thirteen_sets()) {
    INFO("set " << known.name);
    const TaskSet set = sporadic(pool_layout(known.m), known.rows);
    const BoundReport report = bound_responses(set);
    const SearchedResponses found = search(set, 4'000);
    REQUIRE(found.exact);
    for (std::size_t i = 0; i < known.rows.size(); ++i) {
      INFO("task " << i + 1);
      REQUIRE(found.tasks[i]);
      CHECK(found.tasks[i]->response >= Rational(known.largest[i]));
      check_legal(std::get<SporadicTasks>(set.tasks), *found.tasks[i], found.scale);
      check_replay(*found.tasks[i], fmt::format("t{}", i + 1));
      check_observation(report, i, found.tasks[i]->response);
      if (const Rational* bound = report.tightest(i))
        ratios.push_back((found.tasks[i]->response / *bound).number());
    }
  }
  std::sort(ratios.begin(), ratios.end());
  REQUIRE(ratios.size() >= 38);
  CHECK(ratios[ratios.size() / 2] >= 0.75);
}

TEST_CASE("the same seed and steps find the same, another seed other releases", "[search]") {
  const KnownSet& known = thirteen_sets()[4];
  const TaskSet set = sporadic(pool_layout(known.m), known.rows);
  const SearchedResponses one = search(set, 1'200), again = search(set, 1'200);
  CHECK(one.jobs == again.jobs);
  CHECK(one.jobs != search(set, 1'200, 2).jobs);
  for (std::size_t i = 0; i < one.tasks.size(); ++i) {
    CHECK(one.tasks[i]->response == again.tasks[i]->response);
    CHECK(one.tasks[i]->workload.clients[0].repeat.releases ==
          again.tasks[i]->workload.clients[0].repeat.releases);
  }
}

TEST_CASE("shorter blocks can make a response longer, and the search finds that", "[search]") {
  // With full blocks x joins the queue at 2 and ends at 4. If c ends before 2, y comes first and keeps x out.
  const TaskSet set = attacked_set_of(
      "device: {layout: pool, m: 4}\nsubmitted: listed\nstreams:\n"
      "  - {name: s1, kernels: [{name: a, C: 2, g: 1, b: 1}, {name: x, C: 4, g: 1, b: 4}]}\n"
      "  - {name: s2, kernels: [{name: c, C: 3, g: 1, b: 1}, {name: y, C: 20, g: 1, b: 1}]}\n");
  const SearchedResponses found = search(set, 1'000);
  CHECK(found.tasks[1]->response > Rational(22));
  CHECK(found.tasks[1]->response < Rational(23));
}

TEST_CASE("a search with a limit in time stops, and says how to repeat it", "[search]") {
  const KnownSet& known = thirteen_sets()[0];
  const TaskSet set = sporadic(pool_layout(known.m), known.rows);
  const SearchedResponses timed = search_worst_case(set, {0.01, 0}, 3, kGoOn);
  REQUIRE(timed.steps > 0);
  const SearchedResponses again = search(set, timed.steps, 3);
  CHECK(again.jobs == timed.jobs);
  for (std::size_t i = 0; i < timed.tasks.size(); ++i)
    CHECK(timed.tasks[i]->response == again.tasks[i]->response);
  const std::atomic<bool> stopped{true};
  const SearchedResponses none = search_worst_case(set, {std::nullopt, 1000}, 3, stopped);
  CHECK(none.interrupted);
  CHECK_FALSE(none.tasks[0]);
}

TEST_CASE("kernels that are submitted once: the worst order", "[search]") {
  const TaskSet set = attacked_set_of(
      "device: {layout: pool, m: 4}\nstreams:\n"
      "  - {name: s1, kernels: [{name: a, C: 4, g: 1, b: 4}, {name: b, C: 8, g: 1, b: 4}]}\n"
      "  - {name: s2, kernels: [{name: c, C: 12, g: 1, b: 4}]}\n");
  const SearchedResponses found = search(set, 200);
  CHECK(found.tasks[0]->response == Rational(4));  // after c
  CHECK(found.tasks[1]->response == Rational(6));
  CHECK(found.tasks[2]->response == Rational(4));  // after a
}

TEST_CASE("an observation above a bound is an error that names both", "[search]") {
  const TaskSet set = sporadic(pool_layout(2), {{1, 3}, {2, 6}, {2, 6}});
  const BoundReport report = bound_responses(set);
  CHECK_NOTHROW(check_observation(report, 0, Rational(3)));
  CHECK_THROWS_AS(check_observation(report, 0, Rational(3'000'001, 1'000'000)), RunError);
  CHECK_THROWS_WITH(check_observation(report, 1, 4),
                    "a response of t2 was seen to be 4, above 7/2, which T1 "
                    "says it cannot exceed: the theorem or its program is "
                    "wrong");
}

TEST_CASE("no response that the search finds is above a proven bound", "[search][long]") {
  const CaseNumbers numbers = case_numbers(200, 5'000);
  int bounded = 0;
  for (const int number : numbers) {
    Stream random(static_cast<std::uint64_t>(number), "kind of set", {});
    const std::vector<std::string> orders{"became-head", "release-ready"};
    std::vector<std::pair<std::string, std::string>> parameters;
    const bool single = random.below(2) == 0, in_pool = random.below(4) > 0;
    const std::string yaml = fmt::format(
        "{{tasks: {}, utilisation: {}, sms: {}, threads: {}, order: {}, shortest: 4, longest: 40, "
        "most_blocks: {}, "
        "most: 0.6}}",
        2 + random.below(3), 0.4 + 0.1 * static_cast<double>(random.below(5)), in_pool ? 0 : 2,
        2 + random.below(6), orders[random.below(2)], single ? 1 : 5);
    const Node given = parse_yaml(yaml, "parameters");
    const UtilisationMethod& method = UtilisationMethods::named("uunifast-discard", "test", "method");
    const TaskSetGenerator generator(method, ParameterValues(method.parameters, Field(given, "")));
    INFO("set " << number << " " << yaml);
    std::optional<TaskSet> set;
    try {
      set = generator.draw(7, static_cast<std::uint64_t>(number));
    } catch (const RunError&) {
      continue;  // no such set
    }
    const BoundReport report = bound_responses(*set);
    const SearchedResponses found = search(*set, 1'000, static_cast<std::uint64_t>(number));
    for (std::size_t i = 0; i < report.tasks.size(); ++i) {
      REQUIRE(found.tasks[i]);
      CHECK_NOTHROW(check_observation(report, i, found.tasks[i]->response));
      bounded += report.tightest(i) != nullptr ? 1 : 0;
    }
  }
  CHECK(bounded > numbers.size());
}

}  // namespace gangway::testing
