// Simulated kernels that own the GPU against hand-worked responses and against T7 and T8.
#include <fmt/format.h>

#include "experiments/studies/responses.hpp"
#include "models/bounds/report.hpp"
#include "models/random.hpp"
#include "tests/cases.hpp"
#include "tests/catch.hpp"
#include "workloads/owner_set_generator.hpp"

namespace gangway::testing {
namespace {

struct OwnerRow {
  std::int64_t c, e, l, J, T;
};

TaskSet owners(const std::vector<OwnerRow>& rows, std::optional<Rational> quantum = {}) {
  OwningTasks set;
  set.quantum = std::move(quantum);
  for (const OwnerRow& row : rows) {
    OwningTask task{fmt::format("t{}", set.tasks.size() + 1), row.c, row.e, row.l, row.J, std::nullopt};
    if (row.T > 0) task.period = row.T;
    set.tasks.push_back(std::move(task));
  }
  return {"set", "", "", std::move(set)};
}

std::vector<Rational> largest(const TaskSet& set, std::int64_t horizon, std::uint64_t seed = 1) {
  const SimulatedResponses seen = simulate_responses(set, horizon, seed);
  const BoundReport report = bound_responses(set);
  REQUIRE(seen.exact);
  std::vector<Rational> values;
  for (std::size_t i = 0; i < seen.tasks.size(); ++i) {
    check_observation(report, i, seen.tasks[i]->value);
    values.push_back(seen.tasks[i]->value);
  }
  return values;
}

}  // namespace

TEST_CASE("a lower owner leaves within its eviction delay, and starts once more", "[owners]") {
  // t1: t2's eviction 3, its own launch 1 and run 2. t2: t1's 3 or, evicted, at most 3 + 3 + 1 more in each
  // of two visits of t1.
  const auto seen = largest(owners({{2, 1, 1, 0, 12}, {9, 3, 1, 0, 60}}), 6'000);
  CHECK(seen[0] == Rational(6));
  CHECK(seen[1] > Rational(9 + 1 + 3 + 3 + 1));
}

TEST_CASE("T7's examples", "[owners]") {
  const auto seen =
      largest(owners({{50, 5, 10, 0, 400}, {120, 20, 10, 30, 900}, {300, 40, 15, 0, 2000}}), 100'000);
  CHECK(seen[0] > Rational(90));  // 60 alone; at most 115
  CHECK(seen[1] > Rational(200));
  CHECK(seen[2] > Rational(500));
  // No bound for the third, which is released faster than it can be served.
  largest(owners({{2, 1, 1, 0, 12}, {4, 2, 1, 1, 24}, {9, 3, 1, 0, 60}}), 3'000);
}

TEST_CASE("T8's examples: round robin, each job after the last, and with periods", "[owners]") {
  const auto seen = largest(owners({{10, 1, 1, 0, 0}, {3, 1, 1, 0, 0}, {7, 2, 1, 0, 0}}, Rational(4)), 3'000);
  // t1, three turns: 10 + 3 + 2 of its own; between them t2's turns of 4 and t3's of 7, 4 and 7.
  CHECK(seen[0] == Rational(45));
  CHECK(seen[1] == Rational(17));
  CHECK(seen[2] == Rational(31));
  // An evicted task is in the ring when its eviction ends. If it were when the quantum expires, t2 would take
  // up to 32 and refute its bound of 30.
  const auto periodic = largest(
      owners({{17, 5, 2, 0, 42}, {3, 3, 0, 0, 34}, {11, 0, 1, 0, 90}, {18, 4, 3, 0, 147}}, Rational(4)),
      20'000);
  CHECK(periodic[1] <= Rational(30));
  CHECK(periodic[1] > Rational(20));
}

TEST_CASE("no simulated response of an owner is above a proven bound", "[owners][long]") {
  const CaseNumbers numbers = case_numbers(400, 40'000);
  int bounded = 0;
  for (const int number : numbers) {
    Stream random(static_cast<std::uint64_t>(number), "owners", {});
    const auto between = [&](std::int64_t least, std::int64_t most) {
      return least + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most - least + 1)));
    };
    const bool ring = random.below(2) == 0;
    std::vector<OwnerRow> rows;
    for (std::int64_t tasks = between(2, 5); tasks > 0; --tasks)
      rows.push_back(
          {between(1, 12), between(0, 4), between(0, 3), ring ? 0 : between(0, 8), between(20, 150)});
    const TaskSet set = owners(rows, ring ? std::optional(Rational(between(1, 6))) : std::nullopt);
    const BoundReport report = bound_responses(set);
    const SimulatedResponses seen = simulate_responses(set, 600, static_cast<std::uint64_t>(number));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      INFO("set " << number);
      CHECK_NOTHROW(check_observation(report, i, seen.tasks[i]->value));
      bounded += report.tightest(i) != nullptr ? 1 : 0;
    }
  }
  CHECK(bounded > numbers.size());
}

TEST_CASE("drawn sets of owners have the utilisation asked for and shorter periods first", "[owners]") {
  const UtilisationMethod& method = UtilisationMethods::named("uunifast-discard", "test", "method");
  const auto parameters = owner_set_parameters();
  const Node given =
      parse_yaml("{tasks: 4, utilisation: 0.7, scheduler: round-robin, quantum: 2.5, eviction: 3}", "test");
  const OwnerSetGenerator generator(method, ParameterValues(parameters, Field(given, "")));
  for (std::uint64_t number = 0; number < 50; ++number) {
    const TaskSet drawn = generator.draw(3, number);
    const auto& set = std::get<OwningTasks>(drawn.tasks);
    REQUIRE(set.tasks.size() == 4);
    CHECK(set.quantum == Rational(5, 2));
    Rational utilisation, last;
    for (const OwningTask& task : set.tasks) {
      utilisation += task.run / *task.period;
      CHECK(*task.period >= last);
      CHECK(task.eviction <= Rational(3));
      last = *task.period;
    }
    CHECK(utilisation.number() == Approx(0.7).margin(1e-4));
  }
}

}  // namespace gangway::testing
