// Bounds with costs, held against a device that is as slow as the costs say.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/observed/observed_releases.hpp"
#include "experiments/observed/observed_responses.hpp"
#include "experiments/observed/searched_owners.hpp"
#include "models/bounds/measured_costs.hpp"
#include "models/error.hpp"
#include "models/random.hpp"
#include "tests/cases.hpp"
#include "tests/catch.hpp"

namespace gangway::testing {
namespace {

TaskSet observed_set_of(const std::string& yaml) {
  const Node node = parse_yaml("kind: taskset\nversion: 1\nname: t\n" + yaml, "taskset");
  return read_task_set(Field(node, ""));
}

std::int64_t anything(Stream& random, std::int64_t least, std::int64_t most) {
  return least + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most - least + 1)));
}

ObserveOptions in_simulation(std::uint64_t seed, std::int64_t us) {
  ObserveOptions options;
  options.world = &Worlds::named("sim", "test", "world");
  options.length = Duration{us * 1000};
  options.seed = seed;
  options.search = 0;
  return options;
}

// Which costs a set has; the others are 0.
struct Given {
  std::vector<std::string> keys;
  bool has(const char* key) const { return std::find(keys.begin(), keys.end(), key) != keys.end(); }
};
const Given kOfOwners{{"lateness", "launch", "eviction", "ending"}};
const Given kOfQueues{{"lateness", "issue", "refill", "stream"}};

// What a stream takes between two kernels is no less than what a block's room does.
std::string costs_text(Stream& random, const Given& given) {
  std::string text;
  std::int64_t least = 1;
  for (const std::string& key : given.keys) {
    const std::int64_t cost = anything(random, key == "stream" ? least : 1, 6);
    if (key == "refill") least = cost;
    text += fmt::format("{}{}: {} us", text.empty() ? "" : ", ", key, cost);
  }
  return "costs: {" + text + "}\n";
}

// Periods long enough that most have bounds, short enough that these matter.
TaskSet random_owners(std::uint64_t number, const Given& given) {
  Stream random(number, "observed owners", {});
  const std::int64_t tasks = anything(random, 2, 4);
  const bool ring = random.below(3) == 0;
  std::string yaml = ring ? fmt::format("scheduler: round-robin\nquantum: {} us\n", anything(random, 8, 30))
                          : "scheduler: fixed-priority\n";
  yaml += costs_text(random, given) + "tasks:\n";
  for (std::int64_t i = 0; i < tasks; ++i) {
    const std::int64_t c = anything(random, 4, 40);
    yaml += fmt::format("  - {{name: t{}, c: {} us, e: {} us, l: {} us, J: {} us, T: {} us}}\n", i, c,
                        anything(random, 0, 6), anything(random, 0, 4), random.below(3) == 0 ? 3 : 0,
                        c * tasks * anything(random, 1, 3) + anything(random, 20, ring ? 400 : 120));
  }
  return observed_set_of(yaml);
}

TaskSet random_queue(std::uint64_t number, const Given& given) {
  Stream random(number, "observed queue", {});
  const bool pool = random.below(2) == 0;
  const std::int64_t threads = anything(random, 2, 6), sms = pool ? 1 : anything(random, 1, 3);
  std::string yaml = pool ? fmt::format("device: {{layout: pool, m: {}}}\n", threads)
                          : fmt::format("device: {{layout: sm, sms: {}, threads: {}}}\n", sms, threads);
  yaml += costs_text(random, given) + "tasks:\n";
  const std::int64_t tasks = anything(random, 2, 4);
  for (std::int64_t i = 0; i < tasks; ++i) {
    const std::int64_t b = anything(random, 1, threads), g = anything(random, 1, 6) * sms;
    const std::int64_t w = anything(random, 5, 40);
    yaml += fmt::format("  - {{name: t{}, C: {} us, g: {}, b: {}, T: {} us}}\n", i, g * b * w, g, b,
                        w * ((g * b + threads * sms - 1) / (threads * sms)) * anything(random, 1, 2 * tasks) +
                            anything(random, 20, 150));
  }
  return observed_set_of(yaml);
}

struct Tally {
  int sets = 0, refused = 0, bounded = 0, above = 0, unmet = 0;
  std::string first;
};

// Plays sets with all costs and holds them against bounds in which those of `left_out` do not appear.
template <typename Draw, typename LeaveOut>
Tally hold(Draw draw, const Given& given, LeaveOut leave_out, const CaseNumbers& numbers) {
  Tally tally;
  const std::atomic<bool> stop{false};
  for (const int number : numbers) {
    const TaskSet set = draw(static_cast<std::uint64_t>(number), given);
    TaskSet poorer = set;
    leave_out(poorer);
    ++tally.sets;
    BoundReport bounds;
    try {
      bounds = bound_with_costs(poorer);
      static_cast<void>(with_costs(set));
    } catch (const InputError&) {
      ++tally.refused;
      continue;
    }
    const ObservedResponses seen =
        observe_responses(set, in_simulation(static_cast<std::uint64_t>(number), 6000), stop);
    const Judgement judged = judge(set, bounds, seen);
    for (const auto& ratio : judged.ratios) tally.bounded += ratio ? 1 : 0;
    tally.above += judged.violated.empty() ? 0 : 1;
    tally.unmet += judged.unmet.empty() ? 0 : 1;
    if (tally.first.empty() && !(judged.violated + judged.unmet).empty())
      tally.first = fmt::format("set {}: {} {}", number, judged.violated, judged.unmet);
  }
  return tally;
}

void nothing(TaskSet&) {}
template <typename Tasks, typename Costs>
auto without(std::optional<Costs> Tasks::*costs, Rational Costs::*cost) {
  return [=](TaskSet& set) { (*(std::get<Tasks>(set.tasks).*costs)).*cost = 0; };
}

}  // namespace

TEST_CASE("owners as slow as their costs say stay below their bounds", "[long]") {
  const Tally tally = hold(random_owners, kOfOwners, nothing, case_numbers(2000, 50'000));
  INFO(tally.first);
  CHECK(tally.above == 0);
  CHECK(tally.unmet == 0);
  CHECK(tally.bounded > tally.sets);
}

TEST_CASE("every cost of owners is needed") {
  const CaseNumbers numbers(0, 300);
  const auto count = [&](Rational OwnerCosts::*cost) {
    return hold(random_owners, kOfOwners, without(&OwningTasks::costs, cost), numbers).above;
  };
  CHECK(count(&OwnerCosts::lateness) > 0);
  CHECK(count(&OwnerCosts::launch) > 0);
  CHECK(count(&OwnerCosts::eviction) > 0);
  CHECK(count(&OwnerCosts::ending) > 0);
}

TEST_CASE("a pattern lasts for several of the longest period, however short the run") {
  const std::vector<ReleasedTask> tasks{{Duration{100}, {}, {}}, {Duration{700}, {}, {}}};
  CHECK(pattern_length(tasks, Duration{80}, 3) == Duration{2100});
  CHECK(pattern_length(tasks, Duration{80}, 0) == Duration{10});  // eight patterns
  CHECK(pattern_length(tasks, Duration{80'000}, 3) == Duration{10'000});
  for (const ReleasedRun& run : released_runs(tasks, Duration{2100}, 1))
    if (run.pattern == "synchronous") CHECK(run.tasks[1].nominal.size() == 3);
}

TEST_CASE("in a closed loop others come when a job of the target is over") {
  OwningTasks set;
  set.tasks.push_back(
      {.name = "a", .run = 20, .eviction = 0, .launch = 0, .jitter = 0, .period = Rational(50)});
  set.tasks.push_back(
      {.name = "b", .run = 30, .eviction = 10, .launch = 0, .jitter = 0, .period = Rational(200)});
  const auto found = bad_releases_of_owners(set, Duration{400}, 0, 1, std::atomic<bool>{false});
  REQUIRE(found.size() == 2);
  CHECK(found[0].pattern == "closed loop around a");
  // a comes every 50 from a moment after 0 on, b at 0 and, 200 later, at the next end of a job of a.
  CHECK(found[0].nominal[0].size() == 8);
  CHECK(found[0].nominal[1] == std::vector<Duration>{Duration{0}, Duration{221}});
}

TEST_CASE("searches find releases of owners that are worse than the patterns, and legal") {
  int worse = 0;
  for (const int number : CaseNumbers(0, 40)) {
    const TaskSet set = random_owners(static_cast<std::uint64_t>(number), Given{});
    ObserveOptions options = in_simulation(static_cast<std::uint64_t>(number), 1);
    options.search = 40;
    const auto seen = observe_responses(set, options, std::atomic<bool>{false});
    for (const auto& task : seen.tasks)
      worse += task && (task->pattern.starts_with("searched") || task->pattern.starts_with("closed")) ? 1 : 0;
    CHECK(judge(set, bound_with_costs(set), seen).violated.empty());
    CHECK(seen.assumptions.held());
    const auto& owners = std::get<OwningTasks>(set.tasks);
    OwningTasks in_ns = owners;
    for (OwningTask& task : in_ns.tasks)
      for (Rational* time : {&task.run, &task.eviction, &task.launch, &*task.period}) *time = *time * 1000;
    if (in_ns.quantum) *in_ns.quantum = *in_ns.quantum * 1000;
    for (const auto& found :
         bad_releases_of_owners(in_ns, Duration{900'000}, 40, 1, std::atomic<bool>{false}))
      for (std::size_t i = 0; i < found.nominal.size(); ++i)
        for (std::size_t k = 1; k < found.nominal[i].size(); ++k)
          CHECK(Rational((found.nominal[i][k] - found.nominal[i][k - 1]).ns) >= *in_ns.tasks[i].period);
  }
  CHECK(worse > 20);
}

TEST_CASE("queues as slow as their costs say stay below their bounds", "[long]") {
  const Tally tally = hold(random_queue, kOfQueues, nothing, case_numbers(2000, 50'000));
  INFO(tally.first);
  CHECK(tally.above == 0);
  CHECK(tally.unmet == 0);
  CHECK(tally.bounded > tally.sets / 2);
}

TEST_CASE("every cost of queues is needed") {
  const CaseNumbers numbers(0, 300);
  const auto count = [&](const char* key, Rational QueueCosts::*cost) {
    return hold(random_queue, Given{{key}}, without(&SporadicTasks::costs, cost), numbers).above;
  };
  CHECK(count("lateness", &QueueCosts::lateness) > 0);
  CHECK(count("issue", &QueueCosts::issue) > 0);
  CHECK(count("refill", &QueueCosts::refill) > 0);
}

TEST_CASE("a stream that takes long between two kernels can make what has a bound grow") {
  const std::string tasks =
      "tasks: [{name: a, C: 20 us, T: 12 us, g: 1, b: 2}, {name: b, C: 60 us, T: 6 ms, g: 1, b: 2}]\n";
  const TaskSet free = observed_set_of("device: {layout: pool, m: 2}\n" + tasks);
  const TaskSet slow = observed_set_of("device: {layout: pool, m: 2}\ncosts: {stream: 3 us}\n" + tasks);
  const auto seen = observe_responses(slow, in_simulation(1, 8000), std::atomic<bool>{false});
  CHECK(seen.assumptions.held());
  CHECK(bound_with_costs(free).tightest(0) != nullptr);
  CHECK(bound_with_costs(slow).tightest(0) == nullptr);
  CHECK_FALSE(judge(slow, bound_with_costs(free), seen).violated.empty());
}

}  // namespace gangway::testing
