#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>
#include <vector>

#include "cli/commands.hpp"
#include "cli/interrupt.hpp"
#include "experiments/runner.hpp"
#include "experiments/study_runner.hpp"
#include "models/nearest.hpp"

namespace gangway {
namespace {

struct Arguments {
  std::string file;
  std::string world = "sim";
  std::string out;
  std::vector<std::string> sets;
  std::string seed;
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

std::string shown(const Row& row, const std::string& column) {
  const auto value = cell(row, column).number();
  return value ? fmt::format("{:.3f}", *value) : "-";
}

std::string count(const Row& row, const std::string& column) {
  const auto value = cell(row, column).number();
  return value ? fmt::format("{:.0f}", *value) : "-";
}

std::string with_interval(const Row& row, const std::string& column) {
  const auto interval = cell(row, column + "_ci95").number();
  return interval ? fmt::format("{} +-{:.3f}", shown(row, column), *interval) : shown(row, column);
}

void show(const RunProgress& progress) {
  fmt::print(stderr, "\r\033[K{}/{} done, {}/{} runs of this sweep, {:.0f} jobs/s, {:.0f} s left",
             progress.groups_done, progress.groups, progress.runs_done, progress.runs,
             progress.jobs_per_second, progress.seconds_left);
}

void print_table(const Experiment& experiment, const RunReport& report) {
  std::size_t width = 14;
  for (const ReportedRow& reported : report.findings.rows) width = std::max(width, reported.policy.size());
  fmt::print("{:>5}  {:<{}} {:>16} {:>16} {:>16} {:>10} {:>7} {:>10}", "point", "policy", width, "ANTT",
             "DNTT", "STP", "evictions", "util", "unfinished");
  for (const SweptPath& swept : experiment.points.sweep().paths()) fmt::print("  {}", swept.path());
  fmt::print("\n");
  for (const ReportedRow& reported : report.findings.rows) {
    const Row& row = reported.summary;
    const std::string starved = reported.error.empty() ? cell(row, "starved").text() : "";
    fmt::print("{:>5}  {:<{}} {:>16} {:>16} {:>16} {:>10} {:>7} {:>10}", reported.point, reported.policy,
               width, starved.empty() ? with_interval(row, "antt") : "starved", with_interval(row, "dntt"),
               with_interval(row, "stp"), shown(row, "evictions"), shown(row, "utilisation"),
               count(row, "unfinished"));
    for (const std::string& value : reported.values) fmt::print("  {}", value);
    if (!starved.empty()) fmt::print("  finished nothing in some run: {}", starved);
    fmt::print("{}\n", reported.error.empty() ? "" : "  failed");
  }
  if (report.findings.rows.size() < report.groups)
    fmt::print("  ... {} more rows in summary.csv\n", report.groups - report.findings.rows.size());
}

// What could not be played; the first one in full.
void print_failures(const RunReport& report) {
  for (std::size_t i = 0; i < report.failures.size(); ++i) {
    const std::string all = report.failures[i].text();
    fmt::print(stderr, "error: {}\n", i == 0 ? all : all.substr(0, all.find('\n')));
  }
  if (report.failed > report.failures.size())
    fmt::print(stderr, "error: {} more in the column `error` of summary.csv\n",
               report.failed - report.failures.size());
}

void print_verdicts(const RunReport& report) {
  if (report.findings.verdicts.empty()) return;
  const auto count = [&](const char* verdict) {
    return std::count_if(report.findings.verdicts.begin(), report.findings.verdicts.end(),
                         [&](const Verdict& v) { return v.verdict == verdict; });
  };
  fmt::print("published values: {} pass, {} miss, {} follow from the input, {} shown\n", count("pass"),
             count("miss"), count("input"), count("shown"));
}

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream text(line);
  for (std::string cell; std::getline(text, cell, ',');) cells.push_back(cell);
  if (line.ends_with(',')) cells.emplace_back();
  return cells;
}

std::size_t cells_before(const std::vector<std::string>& names, const std::string& name) {
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

constexpr std::size_t kMostRows = 60;

// The columns of summary.csv without the intervals, which would make lines too long; shares in three
// decimals.
void print_study(const StudyReport& report) {
  std::istringstream lines(report.summary);
  std::string line;
  std::getline(lines, line);
  const std::vector<std::string> names = cells_of(line);
  const std::size_t first_share = cells_before(names, "sets");
  for (std::size_t row = 0; row <= kMostRows; ++row) {
    std::vector<std::string> cells = cells_of(line);
    if (cells.size() != names.size()) return;  // a swept value with commas: summary.csv has it
    for (std::size_t c = 0; c < cells.size(); ++c) {
      if (names[c].ends_with("_low") || names[c].ends_with("_high")) continue;
      if (row > 0 && c > first_share && !cells[c].empty())
        cells[c] = fmt::format("{:.3f}", std::stod(cells[c]));
      const std::size_t width = std::max<std::size_t>(names[c].size(), names[c] == "order" ? 13 : 7);
      fmt::print("{}{:>{}}", c > 0 ? "  " : "", cells[c].empty() ? "-" : cells[c], width);
    }
    fmt::print("\n");
    if (!std::getline(lines, line)) return;
  }
  fmt::print("... more rows in summary.csv\n");
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
  options.out = arguments.out.empty() ? "out/" + study.name : arguments.out;
  options.threads = arguments.jobs;
  options.force = arguments.force;
  options.command = command;
  options.progress = isatty(STDERR_FILENO) != 0;
  const StudyReport report = run_study(study, options, catch_interrupts());
  if (const auto code = without_results(report, options.out)) return *code;
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
  print_table(experiment, report);
  print_verdicts(report);
  if (report.findings.warning) fmt::print(stderr, "{}\n", *report.findings.warning);
  if (const std::string warning = report.account.scheduler.warning(); !warning.empty()) options.say(warning);
  fmt::print("{} jobs, {} events in {:.2f} s ({:.0f} jobs/s, {} threads); results in {}\n",
             report.account.jobs, report.account.events, report.account.seconds,
             static_cast<double>(report.account.jobs) / report.account.seconds, report.account.threads,
             options.out.string());
  if (report.failed == 0) return 0;
  print_failures(report);
  fmt::print(stderr, "error: {} of {} results failed; the same command tries these again\n", report.failed,
             report.groups);
  return 1;
}

}  // namespace

void add_run(CLI::App& app, const std::string& command, int& code) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* sub = app.add_subcommand("run", "run an experiment and fill a result folder");
  sub->add_option("experiment", arguments->file,
                  "experiment or study file, or the name of one that comes with Gangway")
      ->required();
  sub->add_option("--world", arguments->world, "sim (default), or another world of `gangway list worlds`");
  sub->add_option("--out", arguments->out, "result folder (default out/<experiment name>)");
  sub->add_option("--seed", arguments->seed, "overrides the experiment's seed");
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
