// Random task sets: the laws of each method, and sets as their parameters ask for.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "experiments/studies/taskset_files.hpp"
#include "models/error.hpp"
#include "tests/catch.hpp"

namespace gangway {
namespace {

using Parameters = std::vector<std::pair<std::string, std::string>>;

const SporadicTasks& sporadic(const TaskSet& set) { return std::get<SporadicTasks>(set.tasks); }

const UtilisationMethod& method(const std::string& name) {
  return UtilisationMethods::named(name, "test", "method");
}

TEST_CASE("utilisations sum up and stay below the limit") {
  struct Case {
    std::size_t tasks;
    double total, most;
  };
  for (const std::string& name : UtilisationMethods::names())
    for (const auto& [tasks, total, most] : {Case{1, 0.5, 1}, Case{2, 1.9, 1}, Case{5, 2.5, 1}, Case{8, 4, 8},
                                             Case{32, 3, 1}, Case{3, 0.001, 0.5}}) {
      Stream random(1, "utilisations", {tasks});
      for (int n = 0; n < 200; ++n) {
        const auto shares = method(name).draw(tasks, total, most, random);
        REQUIRE(shares.size() == tasks);
        CHECK(std::accumulate(shares.begin(), shares.end(), 0.0) == Approx(total));
        for (const double share : shares) REQUIRE((share > 0 && share <= most));
      }
    }
}

// Both draw evenly over the same simplex, so a share is at most x with probability 1 - (1 - x)^(n - 1) where
// the limit does not bite; and where it does, they must agree with each other.
TEST_CASE("both methods draw evenly") {
  constexpr int kDraws = 20'000;
  const auto share_below = [&](const char* name, double total, double limit) {
    Stream random(2, "even", {});
    int below = 0;
    for (int n = 0; n < kDraws; ++n)
      for (const double share : method(name).draw(3, total, 1, random)) below += share < limit ? 1 : 0;
    return below / (3.0 * kDraws);
  };
  for (const char* name : {"uunifast-discard", "randfixedsum"}) {
    CHECK(share_below(name, 1, 0.25) == Approx(1 - 0.75 * 0.75).margin(0.01));
    CHECK(share_below(name, 1, 0.5) == Approx(1 - 0.5 * 0.5).margin(0.01));
  }
  for (const double limit : {0.3, 0.6, 0.9})
    CHECK(share_below("uunifast-discard", 1.7, limit) ==
          Approx(share_below("randfixedsum", 1.7, limit)).margin(0.01));
}

TEST_CASE("sets are as their parameters ask for, and the same for the same seed") {
  for (const Parameters& parameters :
       {Parameters{}, Parameters{{"utilisation", "0.8"}, {"tasks", "12"}, {"threads", "64"}},
        Parameters{{"periods", "harmonic"},
                   {"shortest", "5"},
                   {"longest", "90"},
                   {"most_blocks", "1"},
                   {"utilisation", "0.2"}},
        Parameters{{"sms", "4"},
                   {"threads", "2048"},
                   {"least_threads", "33"},
                   {"most_threads", "1024"},
                   {"block_sizes", "powers-of-two"},
                   {"order", "release-ready"},
                   {"most_blocks", "512"}}}) {
    const TaskSetGenerator generator = task_set_generator("randfixedsum", parameters);
    const auto is = [&](const char* name, const char* value) {
      return std::find(parameters.begin(), parameters.end(),
                       std::pair<std::string, std::string>(name, value)) != parameters.end();
    };
    for (std::uint64_t number = 0; number < 100; ++number) {
      const TaskSet set = generator.draw(3, number);
      CHECK(to_yaml(set) == to_yaml(generator.draw(3, number)));
      CHECK(to_yaml(set) != to_yaml(generator.draw(4, number)));
      const TaskSet read = read_task_set(Field(parse_yaml(to_yaml(set), "drawn"), ""));
      CHECK(to_yaml(read) == to_yaml(set));
      double utilisation = 0;
      for (const SporadicTask& task : sporadic(set).tasks) {
        utilisation += (task.grid.work / task.period).number();
        CHECK(task.grid.block_time() <= task.period);
        CHECK(task.period.whole());
        if (is("most_blocks", "1")) CHECK(task.grid.blocks == 1);
        if (is("least_threads", "33")) CHECK((task.grid.threads & (task.grid.threads - 1)) == 0);
        if (is("least_threads", "33")) CHECK(task.grid.threads >= 64);
        if (is("periods", "harmonic"))
          CHECK((task.period == Rational(5) || task.period == Rational(10) || task.period == Rational(20) ||
                 task.period == Rational(40) || task.period == Rational(80)));
      }
      const double share = is("utilisation", "0.8") ? 0.8 : is("utilisation", "0.2") ? 0.2 : 0.5;
      CHECK(utilisation == Approx(share * static_cast<double>(sporadic(set).layout.total())).epsilon(1e-3));
    }
  }
}

TEST_CASE("parameters that do not fit together are refused") {
  for (const Parameters& parameters :
       {Parameters{{"tasks", "2"}, {"most", "0.2"}}, Parameters{{"shortest", "2000"}},
        Parameters{{"least_threads", "9"}}, Parameters{{"tasks", "0"}}, Parameters{{"taskss", "3"}},
        Parameters{{"least_threads", "3"}, {"most_threads", "3"}, {"block_sizes", "powers-of-two"}}})
    CHECK_THROWS_AS(task_set_generator("uunifast-discard", parameters), InputError);
  CHECK_THROWS_AS(task_set_generator("uunifast", {}), InputError);
  // One block of one thread cannot have a utilisation of 4 in one task.
  const auto impossible =
      task_set_generator("randfixedsum", {{"tasks", "1"}, {"most_blocks", "1"}, {"most_threads", "1"}});
  CHECK_THROWS_AS(impossible.draw(1, 0), RunError);
}

}  // namespace
}  // namespace gangway
