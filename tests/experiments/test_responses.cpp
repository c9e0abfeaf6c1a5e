// Simulated task sets against hand-worked responses and against every bound that is proven.
#include "experiments/studies/responses.hpp"
#include "experiments/studies/worst_case.hpp"
#include "models/bounds/report.hpp"
#include "models/error.hpp"
#include "models/random.hpp"
#include "tests/cases.hpp"
#include "tests/catch.hpp"

namespace gangway::testing {
namespace {

TaskSet set_of(const std::string& yaml) {
  const Node node = parse_yaml("kind: taskset\nversion: 1\nname: t\n" + yaml, "taskset");
  return read_task_set(Field(node, ""));
}

std::int64_t between(Stream& random, std::int64_t least, std::int64_t most) {
  return least + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most - least + 1)));
}

TaskSet random_set(std::uint64_t number) {
  Stream random(number, "task set", {});
  static const std::vector<std::string> orders{"became-head", "became-head", "release-ready", "release-all"};
  const bool in_pool = random.below(4) != 0;
  const std::int64_t threads = between(random, 2, 8), sms = in_pool ? 1 : between(random, 1, 3);
  std::string yaml =
      in_pool ? "device: {layout: pool, m: " + std::to_string(threads)
              : "device: {layout: sm, sms: " + std::to_string(sms) + ", threads: " + std::to_string(threads);
  yaml += "}\norder: " + orders[random.below(orders.size())] + "\ntasks:\n";
  const std::int64_t tasks = between(random, 2, 5);
  const bool single = random.below(2) == 0;
  for (std::int64_t i = 0; i < tasks; ++i) {
    const std::int64_t g = single ? 1 : between(random, 1, 5), b = between(random, 1, threads);
    const std::int64_t w = between(random, 1, 4);
    yaml += "  - {name: t" + std::to_string(i) + ", C: " + std::to_string(g * b * w) +
            ", T: " + std::to_string(between(random, 3, 14)) + ", g: " + std::to_string(g) +
            ", b: " + std::to_string(b) + "}\n";
  }
  return set_of(yaml);
}

}  // namespace

TEST_CASE("two tasks that exclude each other wait for each other", "[responses]") {
  const TaskSet set = set_of(
      "device: {layout: pool, m: 4}\n"
      "tasks: [{name: a, C: 8, T: 10, g: 1, b: 4}, {name: b, C: 6, T: 10, g: 1, b: 3}]\n");
  const SimulatedResponses seen = simulate_responses(set, Rational(100), 1);
  CHECK(seen.exact);
  CHECK(seen.tasks[0]->value == Rational(4));
  CHECK(seen.tasks[1]->value == Rational(4));
}

TEST_CASE("the first counterexample grows by 10 in every second job", "[responses]") {
  const TaskSet set = set_of(
      "device: {layout: pool, m: 2}\n"
      "tasks: [{name: n1, C: 20, T: 60, g: 1, b: 1}, {name: n2, C: 20, T: 60, g: 1, b: 1},\n"
      "        {name: n3, C: 20, T: 60, g: 1, b: 1}, {name: tau, C: 10, T: 14, g: 1, b: 1}]\n");
  // U = 1.71 is below 2, yet the backlog grows by one job of 10 in 100.
  const SimulatedResponses seen = simulate_responses(set, Rational(16'000), 1);
  CHECK(seen.tasks[3]->value >= Rational(1'030));
}

TEST_CASE("a long run tells what grows, what is met and what is neither", "[responses]") {
  // The second set needs the whole device for 1.15 of the time.
  const LongRun light =
      simulate_periodically(set_of("device: {layout: pool, m: 2}\ntasks: [{name: a, C: 4, T: 8, g: 2, b: 1}, "
                                   "{name: b, C: 8, T: 16, g: 2, b: 1}]\n"),
                            100, 1);
  CHECK(light.jobs >= 190);
  CHECK(light.jobs <= 200);
  for (const auto& task : light.tasks) CHECK((task.met && !task.growing));
  CHECK(light.tasks[0].largest >= Rational(2));
  CHECK(light.tasks[0].largest <= Rational(6));
  const LongRun heavy =
      simulate_periodically(set_of("device: {layout: pool, m: 2}\ntasks: [{name: a, C: 12, T: 8, g: 1, b: "
                                   "2}, {name: b, C: 8, T: 10, g: 1, b: 2}]\n"),
                            400, 1);
  CHECK_FALSE(heavy.tasks[0].met);
  CHECK(heavy.tasks[0].growing);
  const LongRun late =
      simulate_periodically(set_of("device: {layout: pool, m: 2}\ntasks: [{name: a, C: 2, T: 4, g: 1, b: 1}, "
                                   "{name: b, C: 10, T: 40, g: 1, b: 2}]\n"),
                            400, 1);
  CHECK_FALSE(late.tasks[0].met);  // behind b for 5
  CHECK_FALSE(late.tasks[0].growing);
}

TEST_CASE("times that no clock can hold are rounded to the safe side", "[responses]") {
  const TaskSet set = set_of(
      "device: {layout: pool, m: 4}\n"
      "tasks: [{name: a, C: 1/999999937, T: 1/3, g: 1, b: 1}, {name: b, C: 142857142857/1000000000037, T: "
      "10, g: 3, b: 4}]\n");
  const SimulatedResponses seen = simulate_responses(set, Rational(100), 1);
  CHECK_FALSE(seen.exact);
  CHECK(seen.tasks[0]->value <= Rational(1, 999'999'937) + Rational(1, 7));
  CHECK(seen.tasks[1]->value <= Rational(1, 3));
}

TEST_CASE("a short block beside long ones is never longer than it may be", "[responses]") {
  // 333.3 ns and 1/999 s need 2 10^13 ticks of a second, and the other time more than there are.
  for (const char* fast : {"3333/10000000000", "333333337/1000000000000037"}) {
    const TaskSet set = set_of(
        "device: {layout: pool, m: 4}\n"
        "tasks: [{name: slow, C: 0.5, T: 2, g: 1, b: 1}, {name: fast, T: 1/999, g: 1, b: 1, C: " +
        std::string(fast) + "}]\n");
    const BoundReport report = bound_responses(set);
    const SimulatedResponses seen = simulate_responses(set, Rational(10), 1);
    CHECK(seen.exact == (seen.scale == Rational(19'980'000'000'000)));
    CHECK(seen.tasks[1]->value <= *report.tightest(1));
    CHECK(seen.tasks[1]->value >= *report.tightest(1) * Rational(999'999, 1'000'000));
    const LongRun run = simulate_periodically(set, 500, 1);
    CHECK(run.tasks[1].largest <= *report.tightest(1));
    const SearchedResponses searched = search_worst_case(set, {std::nullopt, 5}, 1, false);
    CHECK(searched.tasks[1]->response <= *report.tightest(1));
  }
}

TEST_CASE("what would be nothing after rounding is refused", "[responses]") {
  const TaskSet set = set_of(
      "device: {layout: pool, m: 4}\n"
      "tasks: [{name: a, C: 1/999999999989, T: 1, g: 1, b: 1}, {name: b, C: 1/7, T: 1000000007, g: 3, b: "
      "4}]\n");
  CHECK_THROWS_WITH(simulate_responses(set, Rational(100), 1),
                    "--simulate: key 'horizon': found a block of 1/999999999989, expected at least 1/500000, "
                    "as the run has up to 10^15 ticks of 1/1000000 and blocks need 2");
  CHECK_THROWS_AS(search_worst_case(set, {std::nullopt, 5}, 1, false), InputError);
  CHECK_THROWS_AS(simulate_periodically(set, 2, 1), InputError);
}

TEST_CASE("times at which kernels are submitted are never rounded", "[responses]") {
  const auto set = [](const char* at) {
    return set_of(
        "device: {layout: pool, m: 4}\nsubmitted: listed\n"
        "streams: [{name: s, kernels: [{name: a, C: 1/3, g: 1, b: 1}]},\n"
        "          {name: t, kernels: [{name: b, C: 333333337/1000000000000037, g: 1, b: 1, at: " +
        std::string(at) + "}]}]\n");
  };
  const SimulatedResponses seen = simulate_responses(set("0.1"), Rational(1), 1);
  CHECK_FALSE(seen.exact);
  CHECK(seen.tasks[1]->value <= Rational(1, 10) + Rational(333333337, 1000000000000037));
  CHECK_THROWS_AS(simulate_responses(set("1/7"), Rational(1), 1), InputError);
}

TEST_CASE("no simulated response is above a proven bound", "[responses][long]") {
  const CaseNumbers numbers = case_numbers(8'000, 1'000'000);
  int bounded = 0;
  for (const int number : numbers) {
    INFO("set " << number);
    const TaskSet set = random_set(static_cast<std::uint64_t>(number));
    const BoundReport report = bound_responses(set);
    // Most busy windows are short; one set in 50 is watched for longer.
    const SimulatedResponses seen =
        simulate_responses(set, Rational(number % 50 == 0 ? 300 : 45), static_cast<std::uint64_t>(number));
    REQUIRE(seen.exact);
    for (std::size_t i = 0; i < seen.tasks.size(); ++i)
      for (const AppliedBound& applied : report.bounds)
        if (const auto* bound = std::get_if<Rational>(&applied.result.tasks[i])) {
          INFO(applied.bound->name << ", " << report.tasks[i].name);
          REQUIRE(seen.tasks[i]->value <= *bound);
          ++bounded;
        }
  }
  CHECK(bounded > numbers.size());
}

}  // namespace gangway::testing
