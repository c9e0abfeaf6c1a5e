#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "models/bounds/report.hpp"

namespace gangway {
namespace {

// 23/3 = 7.66667 ms
std::string text_of(const Rational& value, const std::string& unit) {
  const std::string decimal = fmt::format("{:.6g}{}{}", value.number(), unit.empty() ? "" : " ", unit);
  return value.whole() && decimal.find('e') == std::string::npos
             ? decimal
             : fmt::format("{} = {}", value.text(), decimal);
}

std::string text_of(const Figure& figure, const std::string& unit) {
  return fmt::format("{}{} = {}", figure.name, figure.of.empty() ? "" : " of " + figure.of,
                     text_of(figure.value, figure.time ? unit : ""));
}

std::string text_of(const std::vector<Figure>& figures, const std::string& unit) {
  std::string text;
  for (const Figure& figure : figures) text += (text.empty() ? "" : ", ") + text_of(figure, unit);
  return text;
}

void print_totals(const TaskSet& set, const BoundReport& report) {
  fmt::print("{}: {} {}", set.name, report.tasks.size(), report.tasks.size() == 1 ? "task" : "tasks");
  if (report.threads) fmt::print(", m = {}", *report.threads);
  if (report.utilisation) fmt::print(", U = {}", text_of(*report.utilisation, ""));
  if (report.least_busy)
    fmt::print(", M* = {}", *report.least_busy);
  else if (report.threads)
    fmt::print(", M* infinite: nothing ever waits for room");
  fmt::print("\n");
}

void print_unmet(const Unmet& why, const std::string& unit) {
  fmt::print("-  needs {}{}{}\n", why.condition, why.numbers.empty() ? "" : "; ", text_of(why.numbers, unit));
}

void print_task(const BoundReport& report, std::size_t i, const std::string& unit) {
  const BoundedTask& task = report.tasks[i];
  fmt::print("\n{}", task.name);
  if (task.utilisation) fmt::print(", u = {}", text_of(*task.utilisation, ""));
  if (const Rational* least = report.tightest(i))
    fmt::print(": at most {} ({})\n", text_of(*least, unit), report.bounds[*task.tightest].bound->name);
  else
    fmt::print(": no bound applies\n");
  for (const AppliedBound& applied : report.bounds) {
    if (BoundReport::refused(applied) != nullptr) continue;
    const BoundOrUnmet& bound = applied.result.tasks[i];
    fmt::print("  {:<11} ", applied.bound->name);
    if (const auto* value = std::get_if<Rational>(&bound))
      fmt::print("{}\n", text_of(*value, unit));
    else
      print_unmet(std::get<Unmet>(bound), unit);
  }
}

// What is said of the whole set.
void print_set(const BoundReport& report, const std::string& unit) {
  bool first = true;
  for (const AppliedBound& applied : report.bounds) {
    const Unmet* why = BoundReport::refused(applied);
    if (why == nullptr && applied.result.figures.empty()) continue;
    fmt::print("{}  {:<11} ", first ? "\nall tasks\n" : "", applied.bound->name);
    first = false;
    if (why != nullptr)
      print_unmet(*why, unit);
    else
      fmt::print("{}\n", text_of(applied.result.figures, unit));
  }
}

void print(const TaskSet& set, const BoundReport& report) {
  print_totals(set, report);
  for (std::size_t i = 0; i < report.tasks.size(); ++i) print_task(report, i, set.unit);
  print_set(report, set.unit);
}

}  // namespace

void add_bound(CLI::App& app, int& code) {
  auto file = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  CLI::App* sub =
      app.add_subcommand("bound", "response-time bounds of a task set, and why others do not apply");
  sub->add_option("taskset", *file, "task set file")->required();
  sub->add_flag("--json", *json, "for programs");
  sub->callback([file, json, &code] {
    const Node root = read_yaml(*file);
    const TaskSet set = read_task_set(Field(root, ""));
    const BoundReport report = bound_responses(set);
    if (*json)
      fmt::print("{}\n", to_json(set, report).dump(1));
    else
      print(set, report);
    code = 0;
  });
}

}  // namespace gangway
