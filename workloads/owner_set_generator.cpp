#include "workloads/owner_set_generator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace gangway {
namespace {

constexpr std::int64_t kMilli = 1000;

Rational to_milli(double value) { return {std::llround(value * static_cast<double>(kMilli)), kMilli}; }

}  // namespace

std::vector<Parameter> owner_set_parameters() {
  using P = Parameter;
  return {{"tasks", "how many", P::Integer{5, 1, 32}},
          {"utilisation", "utilisation of the set: sum of times as owner over periods",
           P::Number{0.5, 0.000'1, 10}},
          {"most", "largest utilisation of one task", P::Number{1, 0.000'1, 10}},
          {"scheduler", "who owns the GPU", P::Choice{{"fixed-priority", "round-robin"}}},
          {"quantum", "of round robin", P::Number{5, 0.001, 1e6}},
          {"shortest", "period, to_milli to a whole number", P::Number{50, 1, 1e6}},
          {"longest", "period", P::Number{500, 1, 1e6}},
          {"eviction", "longest eviction delay; uniform from 0", P::Number{2, 0, 1e6}},
          {"launch", "longest launch; uniform from 0", P::Number{1, 0, 1e6}}};
}

OwnerSetGenerator::OwnerSetGenerator(const UtilisationMethod& method, const ParameterValues& values)
    : method_(&method),
      tasks_(static_cast<std::size_t>(values.integer("tasks"))),
      total_(values.number("utilisation")),
      most_(values.number("most")),
      shortest_(std::round(values.number("shortest"))),
      longest_(values.number("longest")),
      eviction_(values.number("eviction")),
      launch_(values.number("launch")) {
  if (values.choice("scheduler") == "round-robin") quantum_ = to_milli(values.number("quantum"));
  if (total_ >= static_cast<double>(tasks_) * most_)
    throw std::invalid_argument("a utilisation of tasks times most or above");
  if (shortest_ > longest_) throw std::invalid_argument("shortest above longest");
}

TaskSet OwnerSetGenerator::draw(std::uint64_t seed, std::uint64_t number) const {
  Stream random(seed, method_->name + " of owners", {number});
  OwningTasks set;
  set.quantum = quantum_;
  for (const double utilisation : method_->draw(tasks_, total_, most_, random)) {
    const double period = std::round(shortest_ * std::pow(longest_ / shortest_, random.uniform()));
    OwningTask task;
    task.run = std::max(Rational(1, kMilli), to_milli(utilisation * period));
    task.eviction = to_milli(eviction_ * random.uniform());
    task.launch = to_milli(launch_ * random.uniform());
    task.period = to_milli(period);
    set.tasks.push_back(std::move(task));
  }
  std::stable_sort(set.tasks.begin(), set.tasks.end(),
                   [](const auto& a, const auto& b) { return a.period < b.period; });
  for (std::size_t i = 0; i < tasks_; ++i) set.tasks[i].name = fmt::format("t{}", i + 1);
  return {fmt::format("set-{}", number), "", "", std::move(set)};
}

}  // namespace gangway
