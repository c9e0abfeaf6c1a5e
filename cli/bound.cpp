#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "experiments/responses.hpp"
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

// The largest response seen, and what share it is of the tightest bound.
void print_seen(const BoundReport& report, const SimulatedResponses& simulated, std::size_t i,
                const std::string& unit) {
  const auto& seen = simulated.tasks[i];
  if (!seen) {
    fmt::print("  {:<11} nothing finished\n", "simulated");
    return;
  }
  fmt::print("  {:<11} {}, {}, job {}", "simulated", text_of(seen->value, unit), seen->pattern, seen->job);
  if (const Rational* bound = report.tightest(i))
    fmt::print(": {:.3f} of the bound", (seen->value / *bound).number());
  fmt::print("\n");
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

void print(const TaskSet& set, const BoundReport& report,
           const std::optional<SimulatedResponses>& simulated) {
  print_totals(set, report);
  for (std::size_t i = 0; i < report.tasks.size(); ++i) {
    print_task(report, i, set.unit);
    if (simulated) print_seen(report, *simulated, i, set.unit);
  }
  print_set(report, set.unit);
  if (simulated)
    fmt::print("\n{} jobs simulated{}\n", simulated->jobs,
               simulated->exact ? "" : ", with block times rounded down and periods up to 10^-6");
}

nlohmann::ordered_json json_of(const TaskSet& set, const BoundReport& report,
                               const std::optional<SimulatedResponses>& simulated) {
  nlohmann::ordered_json json = to_json(set, report);
  if (!simulated) return json;
  for (std::size_t i = 0; i < simulated->tasks.size(); ++i) {
    auto& entry = json["tasks"][i]["simulated"];
    const auto& seen = simulated->tasks[i];
    if (!seen) continue;
    entry = {{"exact", seen->value.text()},
             {"value", seen->value.number()},
             {"pattern", seen->pattern},
             {"job", seen->job}};
    if (const Rational* bound = report.tightest(i)) entry["ratio"] = (seen->value / *bound).number();
  }
  json["simulation"] = {{"jobs", simulated->jobs}, {"exact", simulated->exact}};
  return json;
}

}  // namespace

void add_bound(CLI::App& app, int& code) {
  auto file = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  auto horizon = std::make_shared<std::string>();
  auto seed = std::make_shared<std::uint64_t>(1);
  CLI::App* sub =
      app.add_subcommand("bound", "response-time bounds of a task set, and why others do not apply");
  sub->add_option("taskset", *file, "task set file")->required();
  sub->add_option("--simulate", *horizon,
                  "also the largest responses seen in simulation, of jobs released up to this time");
  sub->add_option("--seed", *seed, "of the simulated releases");
  sub->add_flag("--json", *json, "for programs");
  sub->callback([file, json, horizon, seed, &code] {
    const Node root = read_yaml(*file);
    const TaskSet set = read_task_set(Field(root, ""));
    const BoundReport report = bound_responses(set);
    std::optional<SimulatedResponses> simulated;
    if (!horizon->empty()) simulated = simulate_responses(set, simulation_horizon(set, *horizon), *seed);
    if (*json)
      fmt::print("{}\n", json_of(set, report, simulated).dump(1));
    else
      print(set, report, simulated);
    code = 0;
  });
}

}  // namespace gangway
