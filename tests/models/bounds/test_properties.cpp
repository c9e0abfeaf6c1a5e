// What must hold of all bounds of every set, strange ones included; and that they are found with reasonable
// effort.
#include <array>

#include "experiments/studies/taskset_files.hpp"
#include "models/random.hpp"
#include "tests/allocations.hpp"
#include "tests/cases.hpp"
#include "tests/catch.hpp"
#include "tests/models/bounds/sets.hpp"

namespace gangway {
namespace {

using namespace testing;

constexpr std::int64_t kMostAllocations = 100'000'000;  // some ten seconds; sanitizers do not count them

const Rational* value(const BoundReport& report, const std::string& name, std::size_t task) {
  for (const AppliedBound& applied : report.bounds)
    if (applied.bound->name == name) return std::get_if<Rational>(&applied.result.tasks[task]);
  return nullptr;
}

// Where both apply, the first is no larger than the second.
void check_order(const BoundReport& report, const char* less, const char* more, std::size_t task) {
  const Rational* a = value(report, less, task);
  const Rational* b = value(report, more, task);
  if (a != nullptr && b != nullptr) CHECK(*a <= *b);
}

void check(const TaskSet& set) {
  INFO(to_yaml(set));
  const std::int64_t before = allocations();
  const BoundReport report = bound_responses(set);
  CHECK(allocations() - before < kMostAllocations);
  const auto& tasks = std::get<SporadicTasks>(set.tasks).tasks;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (const Rational* least = report.tightest(i)) CHECK(*least >= tasks[i].grid.block_time());
    for (const auto& [less, more] : {std::pair{"T1", "T1-closed"},
                                     {"T1", "T2"},
                                     {"T3", "T3-closed"},
                                     {"T5", "T5-closed"},
                                     {"T5-with-T1", "T5"}})
      check_order(report, less, more, i);
    CHECK((value(report, "T1", i) == nullptr || value(report, "T2", i) != nullptr));
  }
}

TEST_CASE("refinements are no looser than what they refine", "[long]") {
  for (const char* order : {"became-head", "release-ready"})
    for (const char* blocks : {"1", "8"})
      for (const char* utilisation : {"0.3", "0.5", "0.8"}) {
        const auto generator = task_set_generator("randfixedsum", {{"order", order},
                                                                   {"most_blocks", blocks},
                                                                   {"utilisation", utilisation},
                                                                   {"most_threads", "8"},
                                                                   {"most", "0.9"}});
        for (const int number : case_numbers(25, 6'000))
          check(generator.draw(5, static_cast<std::uint64_t>(number)));
      }
}

// Magnitudes from 10^-15 to 10^15, as files may have them.
Rational strange(Stream& random) {
  constexpr std::array<std::int64_t, 5> kNumbers{1, 3, 999'999'999'999'999, 1'000'000'000'000'000, 1024};
  Rational a = kNumbers[random.below(kNumbers.size())];
  Rational b = 1 + static_cast<std::int64_t>(random.below(1'000'000'007));
  switch (random.below(4)) {
    case 0:
      return a;
    case 1:
      return b / 1'000'000;
    case 2:
      return Rational(1) / a;
    default:
      return b;
  }
}

TEST_CASE("sets of strange numbers have bounds or reasons, with reasonable effort", "[long]") {
  for (const int n : case_numbers(150, 15'000)) {
    Stream random(static_cast<std::uint64_t>(n), "strange", {});
    const bool pooled = random.below(2) == 0;
    const auto threads = 1 + static_cast<std::int64_t>(random.below(random.below(2) == 0 ? 16 : 5000));
    std::vector<TaskRow> rows(1 + random.below(random.below(4) == 0 ? 32 : 5));
    const bool single = random.below(2) == 0;
    for (TaskRow& row : rows) {
      row.b = 1 + static_cast<std::int64_t>(
                      random.below(static_cast<std::uint64_t>(std::min<std::int64_t>(threads, 1024))));
      row.g =
          single ? 1 : 1 + static_cast<std::int64_t>(random.below(random.below(3) == 0 ? 1'000'000'000 : 6));
      row.T = strange(random);
      row.w =
          random.below(2) == 0 ? strange(random) : row.T / static_cast<std::int64_t>(1 + random.below(200));
    }
    const auto order = static_cast<QueueOrder>(random.below(3));
    check(sporadic(pooled ? pool_layout(threads)
                          : multiprocessors(1 + static_cast<std::int64_t>(random.below(200)), threads),
                   rows, order));
  }
}

}  // namespace
}  // namespace gangway
