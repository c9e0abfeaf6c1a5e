#include "tests/models/bounds/sets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace gangway::testing {
namespace {

const AppliedBound& named(const BoundReport& report, const std::string& name) {
  const auto found = std::find_if(report.bounds.begin(), report.bounds.end(),
                                  [&](const AppliedBound& a) { return a.bound->name == name; });
  if (found == report.bounds.end()) throw std::out_of_range("no bound " + name);
  return *found;
}

}  // namespace

TaskSet sporadic(const ThreadLayout& layout, const std::vector<TaskRow>& rows, QueueOrder order) {
  SporadicTasks tasks;
  tasks.layout = layout;
  tasks.order = order;
  for (const TaskRow& row : rows) {
    SporadicTask task;
    task.name = fmt::format("t{}", tasks.tasks.size() + 1);
    task.grid = {row.w * row.g * row.b, row.g, row.b};
    task.period = row.T;
    tasks.tasks.push_back(std::move(task));
  }
  return {"set", "", "", std::move(tasks)};
}

const std::vector<KnownSet>& thirteen_sets() {
  static const std::vector<KnownSet> sets{{"A", 4, {{2, 9, 2, 2}, {3, 10, 1, 3}, {1, 8, 4, 1}}, {6, 6, 6}},
                                          {"B", 8, {{1, 12, 2, 3}, {6, 12, 2, 1}, {6, 12, 4, 1}}, {7, 8, 7}},
                                          {"C", 2, {{1, 3}, {2, 6}, {2, 6}}, {3, 3, 3}},
                                          {"D", 4, {{3, 5, 1, 2}, {2, 4}, {1, 6}, {4, 12}}, {4, 3, 3, 5}},
                                          {"E", 6, {{2, 6, 3, 2}, {3, 9, 2, 2}, {1, 12, 5, 2}}, {6, 7, 6}},
                                          {"F", 4, {{2, 4, 1, 2}, {3, 6, 1, 2}, {1, 6, 1, 2}}, {3, 4, 3}},
                                          {"G", 5, {{1, 4, 3, 1}, {1, 10, 1, 5}, {2, 10, 2, 2}}, {4, 4, 4}},
                                          {"H", 3, {{4, 12}, {3, 6, 2, 1}, {2, 4}}, {6, 5, 5}},
                                          {"I", 3, {{2, 4}, {2, 4}, {2, 4}, {1, 4, 2, 1}}, {4, 4, 4, 3}},
                                          {"J", 4, {{1, 8, 6, 1}, {1, 10, 5, 2}, {1, 12, 4, 3}}, {9, 9, 8}},
                                          {"K", 2, {{2, 5}, {2, 6}, {3, 10}}, {4, 4, 5}},
                                          {"L", 4, {{1, 10, 8, 1}, {1, 40, 10, 2}, {1, 12, 3, 1}}, {8, 8, 8}},
                                          {"M", 4, {{1, 5, 4, 1}, {1, 40, 40, 1}}, {11, 11}}};
  return sets;
}

std::vector<std::string> bounds(const BoundReport& report, const std::string& name) {
  std::vector<std::string> out;
  for (const BoundOrUnmet& task : named(report, name).result.tasks) {
    const auto* value = std::get_if<Rational>(&task);
    out.push_back(value != nullptr ? value->text() : "-");
  }
  return out;
}

std::vector<std::string> tightest(const BoundReport& report) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < report.tasks.size(); ++i)
    out.push_back(report.tightest(i) != nullptr ? report.tightest(i)->text() : "-");
  return out;
}

std::string needs(const BoundReport& report, const std::string& name, std::size_t task) {
  const auto* why = std::get_if<Unmet>(&named(report, name).result.tasks.at(task));
  return why != nullptr ? why->condition : "";
}

std::optional<Rational> figure(const BoundReport& report, const std::string& bound, const std::string& name) {
  for (const Figure& f : named(report, bound).result.figures)
    if (f.name == name) return f.value;
  return std::nullopt;
}

}  // namespace gangway::testing
