#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command_tree.hpp"
#include "cli/commands.hpp"
#include "cli/interrupt.hpp"
#include "cli/overrides.hpp"
#include "cli/printed_results.hpp"
#include "experiments/results/reproduction.hpp"
#include "experiments/running/runner.hpp"
#include "experiments/studies/study_runner.hpp"
#include "hw/cuda/native_player.hpp"
#include "hw/native/process.hpp"
#include "models/standard_error.hpp"

namespace gangway {
namespace {

constexpr std::size_t kMostRangesShown = 10;

struct RunArguments {
  std::string file;
  std::string world;  // empty: that of the manifest, or sim
  std::string out;
  std::vector<std::string> sets;
  std::string seed;
  std::optional<std::string> points;
  unsigned jobs = 0;
  bool other_points = false;  // than those of the manifest
  bool force = false, trace = false, verify = false, native_clients = false;
  std::string trace_limit = "1 GiB";
};

std::vector<Override> overrides(const RunArguments& arguments) {
  std::vector<Override> all = overrides_of(arguments.sets);
  if (arguments.seed.empty()) return all;
  for (const Override& set : all)
    if (set.path == "seed")
      throw InputError({"--set", 0}, "seed", "two values", "one, of --set or of --seed");
  all.push_back({"seed", arguments.seed, "--seed"});
  return all;
}

std::optional<PointSet> points_of(const RunArguments& arguments, std::uint32_t points) {
  if (!arguments.points) return std::nullopt;
  return PointSet::parse(*arguments.points, points);
}

void show_progress(const RunProgress& progress) {
  to_stderr("\r\033[K{}/{} done, {}/{} runs of this sweep, {:.0f} jobs played per second, {:.0f} s left",
            progress.groups_done, progress.groups, progress.runs_done, progress.runs,
            progress.jobs_per_second, progress.seconds_left);
}

void show_sets(const RunProgress& progress) {
  to_stderr("\r\033[K{}/{} task sets, {:.0f}/s, {:.0f} s left", progress.runs_done, progress.runs,
            progress.runs_per_second, progress.seconds_left);
}

void print_part(const PointSet& played, std::uint32_t points) {
  fmt::print("points {} of 0-{}: a part, for `gangway merge`\n", played.text_of_first(kMostRangesShown),
             points - 1);
}

// With --force it would begin anew.
const char* what_goes_on(const RunArguments& arguments) {
  return arguments.force ? "the same command without --force" : "the same command";
}

// The exit code where there is nothing new to print, which this says.
template <typename Report>
std::optional<int> without_results(const Report& report, const RunArguments& arguments,
                                   const std::filesystem::path& out) {
  for (const std::string& note : report.notes) to_stderr("note: {}\n", note);
  if (report.was_complete && !report.interrupted) {
    fmt::print("{} already holds these results\n", out.string());
    return 0;
  }
  if (!report.interrupted) return std::nullopt;
  to_stderr("interrupted: {} of {} results kept in {}; {} continues\n", report.groups_done, report.groups,
            out.string(), what_goes_on(arguments));
  return 130;
}

// ---- a manifest that is run again

// What the manifest says and the command line leaves open.
void take_over(RunArguments& arguments, const std::optional<KeptRun>& kept) {
  if (arguments.verify && (!kept || !kept->manifest.key.machine.empty()))
    throw InputError({"--verify", 0}, "experiment", quote(arguments.file),
                     kept ? "results of a simulation, because measurements never have the same bytes"
                          : "the manifest.json of a result folder");
  if (kept && arguments.world.empty()) arguments.world = kept->manifest.key.world;
  if (kept && !arguments.points && !kept->manifest.key.points.empty())
    arguments.points = kept->manifest.key.points;
  else if (kept && arguments.points)
    arguments.other_points = true;
  if (arguments.verify && arguments.other_points)
    throw InputError({"--verify", 0}, "--points", quote(*arguments.points),
                     "none beside --verify: the manifest lists files of all points that it was made of");
  if (arguments.world.empty()) arguments.world = "sim";
}

// Says whether the results are those that the manifest lists. The exit code: `code`, or 1 where it was to be
// verified and is not so.
int verified(const RunArguments& arguments, const std::optional<KeptRun>& kept,
             const std::filesystem::path& out, int code) {
  const bool changed = !arguments.sets.empty() || !arguments.seed.empty() || arguments.other_points;
  if (!kept || code == 130 || !kept->manifest.key.machine.empty() || (changed && !arguments.verify))
    return code;
  std::error_code error;
  if (std::filesystem::equivalent(kept->file.parent_path().empty() ? "." : kept->file.parent_path(), out,
                                  error)) {
    if (!arguments.verify) return code;
    throw InputError({"--out", 0}, "folder", quote(out.string()), "a folder other than the manifest's");
  }
  const Reproduction found = reproduction_of(*kept, out);
  if (found.other_configuration && !arguments.verify && arguments.world != kept->manifest.key.world)
    return code;
  const bool complain = arguments.verify && !found.holds();
  for (const std::string& line : described(found, *kept))
    fmt::print(found.holds() ? stdout : stderr, "{}{}\n",
               complain        ? "error: "
               : found.holds() ? ""
                               : "note: ",
               line);
  return complain && code == 0 ? 1 : code;
}

int run_study(const RunArguments& arguments, const std::string& command, Configuration configuration,
              const std::optional<KeptRun>& kept) {
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
  if (isatty(STDERR_FILENO) != 0) options.progress = show_sets;
  const StudyReport report = run_study(study, options, catch_interrupts());
  if (options.progress) to_stderr("\r\033[K");
  if (const auto code = without_results(report, arguments, options.out))
    return verified(arguments, kept, options.out, *code);
  if (report.part)
    print_part(*options.points, study.sweep.points());
  else
    print_study(report);
  fmt::print("{} task sets, {} jobs in {:.2f} s ({} threads); results in {}\n", report.sets, report.jobs,
             report.seconds, report.threads, options.out.string());
  return verified(arguments, kept, options.out, 0);
}

int run(RunArguments arguments, const std::string& command) {
  if (arguments.native_clients) {
    std::signal(SIGINT, SIG_IGN);
    std::signal(SIGPIPE, SIG_IGN);
    play_as_asked(STDIN_FILENO, STDOUT_FILENO, make_native_cuda_player);
    return 0;
  }
  Configuration configuration = read_configuration(arguments.file);
  const std::optional<KeptRun> kept = read_kept_run(arguments.file);
  take_over(arguments, kept);
  if (configuration.kind == "study") return run_study(arguments, command, std::move(configuration), kept);
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
    to_stderr("{}{}\n", options.progress ? "\r\033[K" : "", line);
  };
  options.command = command;
  if (isatty(STDERR_FILENO) != 0) options.progress = show_progress;
  const RunReport report = run_experiment(experiment, options, catch_interrupts());
  if (options.progress) to_stderr("\r\033[K");
  if (const auto code = without_results(report, arguments, options.out))
    return verified(arguments, kept, options.out, *code);
  if (report.part)
    print_part(*options.points, experiment.points.size());
  else
    print_results(experiment, report);
  fmt::print("played {} job{}, {} events in {:.2f} s on {} thread{}; results in {}\n", report.account.jobs,
             report.account.jobs == 1 ? "" : "s", report.account.events, report.account.seconds,
             report.account.threads, report.account.threads == 1 ? "" : "s", options.out.string());
  return verified(arguments, kept, options.out, print_failures(report, what_goes_on(arguments)));
}

}  // namespace

void add_run(CLI::App& app, const std::string& command, int& code) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* sub = app.add_subcommand("run", "run an experiment and fill a result folder");
  sub->add_option("experiment", arguments->file,
                  "experiment or study file, the name of one in Gangway's library, or the manifest.json of "
                  "results, which are reproduced and compared")
      ->required()
      ->type_name(value_type::kExperiment);
  sub->add_option("--world", arguments->world,
                  "sim (default, or a manifest's own), or another world of `gangway list worlds`")
      ->type_name(value_type::kWorld);
  sub->add_option("--out", arguments->out, "result folder (default out/<experiment name>)")
      ->type_name(value_type::kFolder);
  sub->add_option("--seed", arguments->seed, "overrides the experiment's seed")->type_name("N");
  sub->add_option("--points", arguments->points,
                  "play only these points of the sweep, such as 0-9,12; `gangway merge` joins the parts")
      ->type_name("POINTS");
  sub->add_option("--jobs", arguments->jobs, "worker threads (default: one per core)")
      ->check(CLI::Range(1, 1024));
  sub->add_option("--set", arguments->sets, "overrides a value of the experiment")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  sub->add_flag("--force", arguments->force, "replace the results of another configuration");
  sub->add_flag("--verify", arguments->verify,
                "with a simulation's manifest: exit code 1 unless the results are the same bytes");
  CLI::Option* trace =
      sub->add_flag("--trace", arguments->trace, "keep the timeline of one run per point and policy");
  sub->add_option("--trace-limit", arguments->trace_limit,
                  "disk limit of all timelines together (default 1 GiB)")
      ->type_name(value_type::kSize)
      ->needs(trace);
  sub->add_flag("--native-clients", arguments->native_clients,
                "be a process of native clients, and do what is asked for on stdin")
      ->group("");
  sub->callback([arguments, command, &code] { code = run(*arguments, command); });
}

}  // namespace gangway
