#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command_tree.hpp"
#include "cli/commands.hpp"
#include "cli/interrupt.hpp"
#include "cli/printed_results.hpp"
#include "experiments/runner.hpp"
#include "experiments/study_runner.hpp"

namespace gangway {
namespace {

constexpr std::size_t kMostRangesShown = 10;

struct Arguments {
  std::string file;
  std::string world = "sim";
  std::string out;
  std::vector<std::string> sets;
  std::string seed;
  std::optional<std::string> points;
  unsigned jobs = 0;
  bool force = false, trace = false;
  std::string trace_limit = "1 GiB";
};

std::vector<Override> overrides(const Arguments& arguments) {
  std::vector<Override> all;
  for (const std::string& set : arguments.sets) {
    const std::size_t equals = set.find('=');
    if (equals == std::string::npos || equals == 0)
      throw InputError({"--set", 0}, set, "no path=value", "a path, =, and a value");
    all.push_back({set.substr(0, equals), set.substr(equals + 1)});
  }
  if (!arguments.seed.empty()) all.push_back({"seed", arguments.seed});
  return all;
}

std::optional<PointSet> points_of(const Arguments& arguments, std::uint32_t points) {
  if (!arguments.points) return std::nullopt;
  return PointSet::parse(*arguments.points, points);
}

void show(const RunProgress& progress) {
  fmt::print(stderr, "\r\033[K{}/{} done, {}/{} runs of this sweep, {:.0f} jobs/s, {:.0f} s left",
             progress.groups_done, progress.groups, progress.runs_done, progress.runs,
             progress.jobs_per_second, progress.seconds_left);
}

void print_part(const PointSet& played, std::uint32_t points) {
  fmt::print("points {} of 0-{}: a part, for `gangway merge`\n", played.text_of_first(kMostRangesShown),
             points - 1);
}

// The exit code where there is nothing new to print, which this says.
template <typename Report>
std::optional<int> without_results(const Report& report, const std::filesystem::path& out) {
  for (const std::string& note : report.notes) fmt::print(stderr, "note: {}\n", note);
  if (report.was_complete && !report.interrupted) {
    fmt::print("{} holds these results already\n", out.string());
    return 0;
  }
  if (!report.interrupted) return std::nullopt;
  fmt::print(stderr, "interrupted: {} of {} results kept in {}; the same command goes on from there\n",
             report.groups_done, report.groups, out.string());
  return 130;
}

int run_study(const Arguments& arguments, const std::string& command, Configuration configuration) {
  if (arguments.world != "sim" || arguments.trace)
    throw InputError({arguments.trace ? "--trace" : "--world", 0}, "kind", "'study'",
                     "an experiment; task sets are simulated and leave no timeline");
  const Study study = read_study(std::move(configuration), overrides(arguments));
  StudyOptions options;
  options.points = points_of(arguments, study.sweep.points());
  options.out = arguments.out.empty() ? "out/" + study.name : arguments.out;
  options.threads = arguments.jobs;
  options.force = arguments.force;
  options.command = command;
  options.progress = isatty(STDERR_FILENO) != 0;
  const StudyReport report = run_study(study, options, catch_interrupts());
  if (const auto code = without_results(report, options.out)) return *code;
  if (report.part)
    print_part(*options.points, study.sweep.points());
  else
    print_study(report);
  fmt::print("{} task sets, {} jobs in {:.2f} s ({} threads); results in {}\n", report.sets, report.jobs,
             report.seconds, report.threads, options.out.string());
  return 0;
}

int run(const Arguments& arguments, const std::string& command) {
  Configuration configuration = read_configuration(arguments.file);
  if (configuration.kind == "study") return run_study(arguments, command, std::move(configuration));
  const WorldEntry& world = Worlds::named(arguments.world, "--world", "world");
  const Experiment experiment = read_experiment(arguments.file, overrides(arguments));
  RunOptions options;
  options.points = points_of(arguments, experiment.points.size());
  options.out = arguments.out.empty() ? "out/" + experiment.name : arguments.out;
  options.world = &world;
  options.threads = arguments.jobs;
  options.force = arguments.force;
  options.trace = arguments.trace;
  options.trace_limit = read_trace_limit(arguments.trace_limit);
  options.say = [&](const std::string& line) {
    fmt::print(stderr, "{}{}\n", options.progress ? "\r\033[K" : "", line);
  };
  options.command = command;
  if (isatty(STDERR_FILENO) != 0) options.progress = show;
  const RunReport report = run_experiment(experiment, options, catch_interrupts());
  if (options.progress) fmt::print(stderr, "\r\033[K");
  if (const auto code = without_results(report, options.out)) return *code;
  if (report.part)
    print_part(*options.points, experiment.points.size());
  else
    print_results(experiment, report);
  fmt::print("{} jobs, {} events in {:.2f} s ({:.0f} jobs/s, {} threads); results in {}\n",
             report.account.jobs, report.account.events, report.account.seconds,
             static_cast<double>(report.account.jobs) / report.account.seconds, report.account.threads,
             options.out.string());
  return print_failures(report, "the same command");
}

}  // namespace

void add_run(CLI::App& app, const std::string& command, int& code) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* sub = app.add_subcommand("run", "run an experiment and fill a result folder");
  sub->add_option("experiment", arguments->file,
                  "experiment or study file, or the name of one that comes with Gangway")
      ->required()
      ->type_name(value_type::kExperiment);
  sub->add_option("--world", arguments->world, "sim (default), or another world of `gangway list worlds`")
      ->type_name(value_type::kWorld);
  sub->add_option("--out", arguments->out, "result folder (default out/<experiment name>)")
      ->type_name(value_type::kFolder);
  sub->add_option("--seed", arguments->seed, "overrides the experiment's seed");
  sub->add_option("--points", arguments->points,
                  "only these points of the sweep, such as 0-9,12: a part, for `gangway merge`");
  sub->add_option("--jobs", arguments->jobs, "worker threads (default: one per core)")
      ->check(CLI::Range(1, 1024));
  sub->add_option("--set", arguments->sets, "path=value: overrides a value of the experiment")
      ->allow_extra_args(false);
  sub->add_flag("--force", arguments->force, "replace the results of another configuration");
  sub->add_flag("--trace", arguments->trace, "keep the timeline of one run per point and policy");
  sub->add_option("--trace-limit", arguments->trace_limit,
                  "what timelines may take on disk, all together (default 1 GiB)");
  sub->callback([arguments, command, &code] { code = run(*arguments, command); });
}

}  // namespace gangway
