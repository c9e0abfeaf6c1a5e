#include "cli/bound_in_world.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "cli/command_tree.hpp"
#include "cli/interrupt.hpp"
#include "cli/named_values.hpp"
#include "experiments/observed/observed_sets.hpp"
#include "experiments/results/files.hpp"
#include "hw/real_device.hpp"
#include "models/bounds/measured_costs.hpp"
#include "models/hash.hpp"
#include "models/standard_error.hpp"

namespace gangway {
namespace {

std::vector<std::string> worlds() {
  std::vector<std::string> names = RealDevices::names();
  names.emplace_back("sim");
  return names;
}

ObserveOptions options_of(const InWorld& in_world) {
  const auto known = worlds();
  if (std::find(known.begin(), known.end(), in_world.world) == known.end())
    throw InputError({"--world", 0}, "world", quote(in_world.world), expected_names(in_world.world, known));
  ObserveOptions options;
  options.world = &Worlds::named(in_world.world, "--world", "world");
  options.mechanism = in_world.mechanism;
  options.length = Duration{static_cast<std::int64_t>(in_world.seconds * 1e9)};
  options.search = in_world.search.value_or(options.search);
  options.periods = in_world.periods;
  options.seed = in_world.seed;
  return options;
}

std::string ns_text(const TaskSet& set, const Rational& time) {
  const Rational ns = nanoseconds(set, time);
  return to_text(Duration{*Rational::floor_of(ns, 1).integer()});
}

void print(const TaskSet& set, const BoundReport& bounds, const ObservedResponses& seen,
           const Judgement& judged, const std::string& world) {
  fmt::print("{} in {}: {} jobs of {} tasks\n\n{:<16} {:>14} {:>14}  {:<12} {:>6}  {}\n", set.name, world,
             seen.jobs, seen.tasks.size(), "task", "observed", "bound", "", "ratio", "releases");
  for (std::size_t i = 0; i < seen.tasks.size(); ++i) {
    const auto& task = seen.tasks[i];
    const Rational* bound = bounds.tightest(i);
    fmt::print("{:<16} {:>14} {:>14}  {:<12} {:>6}  {}\n", bounds.tasks[i].name,
               task ? to_text(task->response) : "-", bound != nullptr ? ns_text(set, *bound) : "-",
               bound != nullptr ? bounds.bounds[*bounds.tasks[i].tightest].bound->name : "no bound",
               judged.ratios[i] ? fmt::format("{:.3f}", *judged.ratios[i]) : "-",
               task ? fmt::format("{}, job {}", task->pattern, task->job) : "");
  }
  fmt::print("\n{:<16} {:<16} {:>14} {:>14}\n", "assumption", "task", "measured", "allowed");
  for (const Assumption& a : seen.assumptions.all())
    fmt::print("{:<16} {:<16} {:>11} ns {:>11} ns{}\n", a.name, a.task, a.measured, a.allowed,
               a.held() ? "" : "  did not hold");
}

nlohmann::ordered_json json_of(const TaskSet& set, const BoundReport& bounds, const ObservedResponses& seen,
                               const Judgement& judged, const std::string& world) {
  nlohmann::ordered_json json{{"name", set.name}, {"world", world}, {"jobs", seen.jobs}};
  json["tasks"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < seen.tasks.size(); ++i) {
    nlohmann::ordered_json task{{"name", bounds.tasks[i].name}, {"observed_ns", nullptr}, {"bound", nullptr}};
    if (seen.tasks[i]) {
      task["observed_ns"] = seen.tasks[i]->response.ns;
      task["pattern"] = seen.tasks[i]->pattern;
      task["job"] = seen.tasks[i]->job;
    }
    if (const Rational* bound = bounds.tightest(i)) {
      task["bound"] = bounds.bounds[*bounds.tasks[i].tightest].bound->name;
      task["bound_ns"] = nanoseconds(set, *bound).number();
    }
    if (judged.ratios[i]) task["ratio"] = *judged.ratios[i];
    json["tasks"].push_back(std::move(task));
  }
  json["assumptions"] = nlohmann::ordered_json::array();
  for (const Assumption& a : seen.assumptions.all())
    json["assumptions"].push_back({{"name", a.name},
                                   {"task", a.task},
                                   {"measured_ns", a.measured},
                                   {"allowed_ns", a.allowed},
                                   {"held", a.held()}});
  json["violated"] = judged.violated;
  json["unmet"] = judged.unmet;
  return json;
}

// Options that make no difference to the set in this world.
void refuse_unused(const InWorld& in_world, const TaskSet& set, const WorldEntry& world) {
  const bool owners = std::holds_alternative<OwningTasks>(set.tasks);
  if (in_world.mechanism.empty()) return;
  if (!owners)
    throw InputError({"--mechanism", 0}, "scheduler", "kernels that share the device",
                     "kernels that own it one at a time, which a mechanism evicts");
  if (!world.real_time)
    throw InputError({"--mechanism", 0}, "--world", quote(world.name),
                     "a world in real time (here the set says what an eviction takes)");
}

// All that the results of drawn sets depend on.
std::string request_of(const InWorld& in_world, const ObserveOptions& options) {
  std::string files;
  for (const char* name : {"device.yaml", "workload.yaml", "samples.csv"})
    files += read_file(std::filesystem::path(in_world.from) / name);
  return fmt::format(
      "world {}, mechanism {}, run {}, periods {}, search {}, seed {}, slack {}, margin {}, costs [{}], "
      "calibration {}",
      in_world.world, in_world.mechanism.empty() ? "usual" : in_world.mechanism, in_world.seconds,
      in_world.periods, options.search, in_world.seed, in_world.slack, in_world.margin,
      fmt::join(in_world.costs, ", "), sha256_of(files));
}

}  // namespace

void add_in_world(CLI::App& sub, InWorld& in_world) {
  auto* const world =
      sub.add_option("--world", in_world.world,
                     "play the set in this world, and check responses against its bounds with costs")
          ->type_name(fmt::format("{{{}}}", fmt::join(worlds(), ",")));
  sub.add_option("--run", in_world.seconds,
                 "release jobs for this many seconds, or longer (--periods), over all patterns (default 1)")
      ->check(CLI::Range(0.001, 1e5))
      ->needs(world);
  sub.add_option("--periods", in_world.periods,
                 "each pattern of releases lasts at least this many of the longest period (default 3; 0: as "
                 "--run says)")
      ->check(CLI::Range(0, 1'000'000))
      ->needs(world);
  sub.add_option("--mechanism", in_world.mechanism, "eviction mechanism (default: the world's first)")
      ->type_name(value_type::kMechanism)
      ->needs(world);
  sub.add_option("--climb", in_world.search,
                 "in a world: simulations per task that search for bad releases (default 50)")
      ->check(CLI::Range(0, 1'000'000))
      ->needs(world);
  auto* const from =
      sub.add_option("--from", in_world.from, "folder of `gangway calibrate` with the kernels to draw")
          ->type_name(value_type::kFolder);
  auto* const out = sub.add_option("--out", in_world.out,
                                   "folder for the results of drawn sets; the same command continues them")
                        ->type_name(value_type::kFolder);
  auto* const draw =
      sub.add_option("--draw", in_world.draw, "instead of a file: this many random sets of measured kernels")
          ->check(CLI::Range(1, 1'000'000))
          ->needs(world, from, out);
  from->needs(draw);
  out->needs(draw);
  sub.add_option(
         "--until-held", in_world.until_held,
         "stop when in so many of the drawn sets every assumption held; --draw is then the most to draw")
      ->check(CLI::Range(1, 1'000'000))
      ->needs(draw);
  sub.add_option("--slack", in_world.slack,
                 "share by which drawn kernels may exceed their measured time (default 0.02)")
      ->check(CLI::Range(0.0, 10.0))
      ->needs(draw);
  sub.add_option("--margin", in_world.margin,
                 "factor by which commands of drawn sets may exceed their measured time (default 1.5)")
      ->check(CLI::Range(1.0, 100.0))
      ->needs(draw);
  sub.add_option("--cost", in_world.costs, "a cost of drawn sets, such as 'lateness=30 us'")
      ->type_name("KEY=TIME")
      ->needs(draw);
}

void check_combination(const InWorld& in_world, const std::string& file, bool simulated) {
  if (in_world.draw > 0 && !file.empty())
    throw InputError({"--draw", 0}, "taskset", quote(file), "no file beside --draw");
  if (in_world.draw == 0 && file.empty())
    throw InputError({"gangway bound", 0}, "taskset", "nothing", "a task set file, or --draw");
  if (simulated && !in_world.world.empty())
    throw InputError({"--world", 0}, "--simulate, --search, --steps", "with --world", "one or the other");
}

int hold_set(const InWorld& in_world, const std::string& file) {
  const ObserveOptions options = options_of(in_world);
  const Node root = read_yaml(file);
  const TaskSet set = read_task_set(Field(root, ""));
  refuse_unused(in_world, set, *options.world);
  const BoundReport bounds = bound_with_costs(set, root);
  const ObservedResponses seen = observe_responses(set, options, catch_interrupts());
  const Judgement judged = judge(set, bounds, seen);
  if (in_world.json)
    fmt::print("{}\n", json_of(set, bounds, seen, judged, in_world.world).dump(1));
  else
    print(set, bounds, seen, judged, in_world.world);
  bool bounded = false;
  for (std::size_t i = 0; i < bounds.tasks.size(); ++i) bounded |= bounds.tightest(i) != nullptr;
  if (!bounded) to_stderr("note: no task of {} has a bound, so no response was held against one\n", set.name);
  if (!judged.violated.empty() && judged.unmet.empty())
    throw RunError("bound violated: " + judged.violated +
                   ", though every assumption that the run shows held: theorem, program or costs are wrong");
  if (!judged.violated.empty()) throw RunError(judged.unmet + "; " + judged.violated);
  if (!judged.unmet.empty()) throw RunError(judged.unmet + "; no response was above a bound");
  return seen.interrupted ? 130 : 0;
}

int hold_drawn_sets(const InWorld& in_world) {
  const ObserveOptions options = options_of(in_world);
  refuse_file(in_world.out);
  DrawnSetOptions drawn{.slack = in_world.slack,
                        .margin = in_world.margin,
                        .queues = options.world->capabilities.has(Capability::native),
                        .costs = named_values("--cost", in_world.costs, "cost", "a cost, such as lateness")};
  const DrawnSets sets(MeasuredKernels(in_world.from, in_world.mechanism), std::move(drawn), in_world.seed);
  const ObservedSets seen = observe_sets(
      sets, in_world.draw, in_world.until_held, options, request_of(in_world, options), in_world.out,
      [](const std::string& row) { to_stderr("{}\n", row); }, catch_interrupts());
  const nlohmann::ordered_json json{{"sets", seen.sets},
                                    {"tasks", seen.tasks},
                                    {"assumptions_held", seen.held},
                                    {"violated", seen.violated},
                                    {"above_without_assumptions", seen.above},
                                    {"ratio_p50", seen.p50},
                                    {"ratio_p90", seen.p90},
                                    {"ratio_p99", seen.p99},
                                    {"ratio_largest", seen.largest}};
  write_file(std::filesystem::path(in_world.out) / "summary.json", json.dump(1) + "\n");
  if (in_world.json)
    fmt::print("{}\n", json.dump(1));
  else
    fmt::print(
        "{} sets, {} tasks; every assumption held in {} sets: observed over bound p50 {:.3f}, p90 {:.3f}, "
        "p99 {:.3f}, largest {:.3f}; {} of these sets with a response above a bound, {} of the others\n",
        seen.sets, seen.tasks, seen.held, seen.p50, seen.p90, seen.p99, seen.largest, seen.violated,
        seen.above);
  if (seen.violated > 0)
    throw RunError("bound violated: " + seen.first_violated +
                   ", though every assumption that the run shows held: theorem, program or costs are wrong");
  return seen.interrupted ? 130 : 0;
}

}  // namespace gangway
