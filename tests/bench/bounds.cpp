// How much processor time all bounds of one random task set take, and how many sets can be drawn. Prints one
// JSON line: microseconds per set for each kind of set, the slowest set, and sets per second.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "experiments/studies/taskset_files.hpp"
#include "models/bounds/report.hpp"

namespace {

using namespace gangway;

constexpr std::uint64_t kSets = 5'000;

double seconds_since(std::clock_t began) {
  return static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
}

// Mean and longest time in microseconds.
void measure(const char* name, const std::vector<std::pair<std::string, std::string>>& parameters,
             const char* end) {
  const TaskSetGenerator generator = task_set_generator("uunifast-discard", parameters);
  double all = 0, longest = 0;
  std::size_t bounded = 0;
  for (std::uint64_t number = 0; number < kSets; ++number) {
    const TaskSet set = generator.draw(1, number);
    const auto began = std::clock();
    const BoundReport report = bound_responses(set);
    const double seconds = seconds_since(began);
    all += seconds;
    longest = std::max(longest, seconds);
    for (std::size_t i = 0; i < report.tasks.size(); ++i) bounded += report.tightest(i) != nullptr ? 1 : 0;
  }
  fmt::print("\"{}\": {{\"us_per_set\": {:.1f}, \"longest_us\": {:.0f}, \"tasks_bounded\": {}}}{}", name,
             1e6 * all / kSets, 1e6 * longest, bounded, end);
}

}  // namespace

int main() {
  const std::pair<std::string, std::string> ready{"order", "release-ready"};
  fmt::print("{{");
  measure("R2 order, U = 0.5 m", {}, ", ");
  measure("R2 order, U = 0.8 m", {{"utilisation", "0.8"}}, ", ");
  measure("release order, single blocks, U = 0.5 m", {ready, {"most_blocks", "1"}}, ", ");
  measure("release order, single blocks, U = 0.7 m", {ready, {"most_blocks", "1"}, {"utilisation", "0.7"}},
          ", ");
  measure("4096 threads, U = 0.5 m",
          {{"threads", "4096"},
           {"most_threads", "1024"},
           {"least_threads", "32"},
           {"block_sizes", "powers-of-two"}},
          ", ");
  measure("132 SMs, U = 0.5 m",
          {{"sms", "132"},
           {"threads", "2048"},
           {"most_blocks", "1000"},
           {"most_threads", "1024"},
           {"least_threads", "32"}},
          ", ");
  const TaskSetGenerator generator = task_set_generator("randfixedsum", {});
  const auto began = std::clock();
  std::size_t bytes = 0;
  for (std::uint64_t number = 0; number < 10 * kSets; ++number)
    bytes += to_yaml(generator.draw(1, number)).size();
  fmt::print("\"sets_drawn_per_second\": {:.0f}, \"bytes_per_set\": {}}}\n",
             10 * kSets / seconds_since(began), bytes / (10 * kSets));
}
