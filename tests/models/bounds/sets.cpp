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

TaskSet sporadic(const ThreadLayout& layout, const std::vector<Row>& rows, QueueOrder order) {
  SporadicTasks tasks;
  tasks.layout = layout;
  tasks.order = order;
  for (const Row& row : rows) {
    SporadicTask task;
    task.name = fmt::format("t{}", tasks.tasks.size() + 1);
    task.grid = {row.w * row.g * row.b, row.g, row.b};
    task.period = row.T;
    tasks.tasks.push_back(std::move(task));
  }
  return {"set", "", "", std::move(tasks)};
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
