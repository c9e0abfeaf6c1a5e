#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/bound_in_world.hpp"
#include "cli/command_tree.hpp"
#include "cli/commands.hpp"
#include "cli/interrupt.hpp"
#include "cli/seed_option.hpp"
#include "experiments/results/files.hpp"
#include "experiments/studies/responses.hpp"
#include "experiments/studies/worst_case.hpp"
#include "models/bounds/measured_costs.hpp"

namespace gangway {
namespace {

// 23/3 = 7.66667 ms
std::string text_of(const Rational& value, const std::string& unit) {
  const std::string decimal = fmt::format("{:.6g}{}{}", value.number(), unit.empty() ? "" : " ", unit);
  return value.whole() && decimal.find('e') == std::string::npos
             ? decimal
             : fmt::format("{} = {}", value.text(), decimal);
}

// What was played besides.
struct Seen {
  std::optional<SimulatedResponses> simulated;
  std::optional<SearchedResponses> searched;
};

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

// What was seen of the task, and what share it is of the tightest bound.
void print_seen(const BoundReport& report, std::size_t i, const char* how, const Rational& seen,
                const std::string& where, const std::string& unit) {
  fmt::print("  {:<11} {}, {}", how, text_of(seen, unit), where);
  if (const Rational* bound = report.tightest(i))
    fmt::print(": {:.3f} of the bound", (seen / *bound).number());
  fmt::print("\n");
}

void print_seen(const BoundReport& report, const Seen& seen, std::size_t i, const std::string& unit) {
  if (seen.simulated) {
    if (const auto& largest = seen.simulated->tasks[i])
      print_seen(report, i, "simulated", largest->value,
                 fmt::format("{}, job {}", largest->pattern, largest->job), unit);
    else
      fmt::print("  {:<11} nothing finished\n", "simulated");
  }
  if (seen.searched)
    if (const auto& worst = seen.searched->tasks[i])
      print_seen(report, i, "searched", worst->response, fmt::format("job {}", worst->job), unit);
}

void print_task(const BoundReport& report, std::size_t i, const std::string& unit) {
  const BoundedTask& task = report.tasks[i];
  fmt::print("\n{}", task.name);
  if (task.utilisation) fmt::print(", u = {}", text_of(*task.utilisation, ""));
  const std::vector<std::string> stopped = report.stopped(i);
  if (const Rational* least = report.tightest(i))
    fmt::print(": at most {} ({}){}", text_of(*least, unit), report.bounds[*task.tightest].bound->name,
               stopped.empty() ? "" : ", perhaps less");
  else
    fmt::print(": no bound {}", stopped.empty() ? "applies" : "found");
  if (!stopped.empty()) fmt::print(", as a step limit stopped {}", fmt::join(stopped, ", "));
  fmt::print("\n");
  for (const AppliedBound& applied : report.bounds) {
    if (BoundReport::refused(applied) != nullptr) continue;
    const BoundOrUnmet& bound = applied.result.tasks[i];
    fmt::print("  {:<11} ", applied.bound->name);
    const std::string* looser = BoundReport::looser(applied, i);
    if (const auto* value = std::get_if<Rational>(&bound))
      fmt::print("{}{}{}\n", text_of(*value, unit), looser ? ", perhaps looser than it need be: " : "",
                 looser ? *looser : "");
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

bool has_horizon(const TaskSet& set) { return !std::holds_alternative<OneShotKernels>(set.tasks); }

void print(const TaskSet& set, const BoundReport& report, const Seen& seen, std::uint64_t seed) {
  print_totals(set, report);
  for (std::size_t i = 0; i < report.tasks.size(); ++i) {
    print_task(report, i, set.unit);
    print_seen(report, seen, i, set.unit);
  }
  print_set(report, set.unit);
  const auto rounded = [&](bool exact, const Rational& scale) {
    return exact ? ""
                 : fmt::format(", with block times rounded down and periods up to multiples of {}",
                               text_of(Rational(1) / scale, set.unit));
  };
  if (seen.simulated)
    fmt::print("\n{} jobs simulated{}{}\n", seen.simulated->jobs,
               rounded(seen.simulated->exact, seen.simulated->scale),
               has_horizon(set) ? "" : ", whatever the time, as these kernels are submitted once");
  if (seen.searched)
    fmt::print("\n{} simulations for each task, {} jobs{}; the same once more: --steps {} --seed {}\n",
               seen.searched->steps, seen.searched->jobs, rounded(seen.searched->exact, seen.searched->scale),
               seen.searched->steps, seed);
}

nlohmann::ordered_json json_of(const BoundReport& report, std::size_t i, const Rational& seen) {
  nlohmann::ordered_json json{{"exact", seen.text()}, {"value", seen.number()}};
  if (const Rational* bound = report.tightest(i)) json["ratio"] = (seen / *bound).number();
  return json;
}

nlohmann::ordered_json json_of(const TaskSet& set, const BoundReport& report, const Seen& seen) {
  nlohmann::ordered_json json = to_json(set, report);
  for (std::size_t i = 0; i < report.tasks.size(); ++i) {
    auto& task = json["tasks"][i];
    if (seen.simulated) {
      task["simulated"] = nullptr;
      if (const auto& largest = seen.simulated->tasks[i]) {
        task["simulated"] = json_of(report, i, largest->value);
        task["simulated"].update({{"pattern", largest->pattern}, {"job", largest->job}});
      }
    }
    if (seen.searched) {
      task["searched"] = nullptr;
      if (const auto& worst = seen.searched->tasks[i]) {
        task["searched"] = json_of(report, i, worst->response);
        task["searched"].update({{"simulated_ns", worst->simulated.ns}, {"job", worst->job}});
      }
    }
  }
  if (seen.simulated) json["simulation"] = {{"jobs", seen.simulated->jobs}, {"exact", seen.simulated->exact}};
  if (seen.searched)
    json["search"] = {{"steps", seen.searched->steps},
                      {"jobs", seen.searched->jobs},
                      {"ns_per_unit", seen.searched->scale.text()},
                      {"exact", seen.searched->exact}};
  return json;
}

struct BoundArguments {
  std::string file, horizon, save;
  double seconds = 0;
  std::uint64_t steps = 0;
  std::optional<std::uint64_t> seed;
  bool json = false;
  InWorld in_world;
};

// Every response must stay within its bounds, whatever was asked for.
void hold_against(const BoundReport& report, const Seen& seen) {
  for (std::size_t i = 0; i < report.tasks.size(); ++i) {
    if (seen.simulated && seen.simulated->tasks[i])
      check_observation(report, i, seen.simulated->tasks[i]->value);
    if (seen.searched && seen.searched->tasks[i])
      check_observation(report, i, seen.searched->tasks[i]->response);
  }
}

int bound(BoundArguments& arguments) {
  const bool search = arguments.seconds > 0 || arguments.steps > 0;
  InWorld& in_world = arguments.in_world;
  const std::uint64_t seed = in_world.seed = arguments.seed.value_or(1);
  in_world.json = arguments.json;
  check_combination(in_world, arguments.file,
                    search || !arguments.horizon.empty() || !arguments.save.empty());
  if (in_world.draw > 0) return hold_drawn_sets(in_world);
  if (!in_world.world.empty()) return hold_set(in_world, arguments.file);
  if (arguments.seed && !search && arguments.horizon.empty())
    throw InputError({"--seed", 0}, "--simulate", "nothing",
                     "--simulate, --search, --steps or --world, which use it");
  if (!search && !arguments.save.empty())
    throw InputError({"--save", 0}, "--search", "nothing", "--search or --steps, which find what is saved");
  const Node root = read_yaml(arguments.file);
  const TaskSet set = read_task_set(Field(root, ""));
  const BoundReport report = bound_with_costs(set, root);
  Seen seen;
  if (!arguments.horizon.empty())
    seen.simulated = simulate_responses(set, simulation_horizon(set, arguments.horizon), seed);
  if (search) {
    SearchLimits limits{std::nullopt, arguments.steps};
    if (arguments.seconds > 0) limits.seconds = arguments.seconds;
    const bool made = !arguments.save.empty() && !std::filesystem::exists(arguments.save);
    if (!arguments.save.empty()) make_empty_folder(arguments.save, "--save");
    try {
      seen.searched = search_worst_case(set, limits, seed, catch_interrupts());
    } catch (...) {
      std::error_code ignored;  // that it is not empty
      if (made) std::filesystem::remove(arguments.save, ignored);
      throw;
    }
  }
  if (arguments.json)
    fmt::print("{}\n", json_of(set, report, seen).dump(1));
  else
    print(set, report, seen, seed);
  if (!arguments.save.empty()) save_worst_cases(set, *seen.searched, arguments.save);
  hold_against(report, seen);
  return seen.searched && seen.searched->interrupted ? 130 : 0;
}

}  // namespace

void add_bound(CLI::App& app, int& code) {
  auto arguments = std::make_shared<BoundArguments>();
  CLI::App* sub =
      app.add_subcommand("bound", "response-time bounds of a task set, and why others do not apply");
  sub->add_option("taskset", arguments->file, "task set file")->type_name(value_type::kFile);
  sub->add_option("--simulate", arguments->horizon,
                  "also simulate jobs released up to this time (any, for kernels submitted once), and print "
                  "the largest responses")
      ->type_name(value_type::kTime);
  auto* seconds = sub->add_option("--search", arguments->seconds,
                                  "also search this many seconds for the largest responses")
                      ->check(CLI::Range(0.001, 1e9));
  sub->add_option("--steps", arguments->steps,
                  "search with this many simulations per task, the same on any machine")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000'000'000}))
      ->excludes(seconds);
  sub->add_option("--save", arguments->save,
                  "folder for the worst cases found: TASK.yaml, an experiment for `gangway run`")
      ->type_name(value_type::kFolder);
  sub->add_option("--seed", arguments->seed, "seed of simulations (default 1)")->check(seed_fault, "");
  sub->add_flag("--json", arguments->json, "print JSON");
  add_in_world(*sub, arguments->in_world);
  sub->callback([arguments, &code] { code = bound(*arguments); });
}

}  // namespace gangway
