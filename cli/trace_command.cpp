#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "cli/command_tree.hpp"
#include "cli/commands.hpp"
#include "cli/interrupt.hpp"
#include "experiments/results/files.hpp"
#include "experiments/results/manifest.hpp"
#include "experiments/timelines/recording_trace.hpp"
#include "experiments/timelines/trace_file.hpp"
#include "experiments/timelines/trace_files.hpp"
#include "models/nearest.hpp"
#include "models/recording/file.hpp"
#include "models/shown.hpp"
#include "models/standard_error.hpp"
#include "models/world.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;

struct TraceArguments {
  std::string folder, policy;
  std::string out, limit = "1 GiB";
  std::uint32_t point = 0, replication = 0, permutation = 0;
};

std::uint32_t policy_index(const Point& point, const std::string& label) {
  std::vector<std::string> labels;
  for (const ChosenPolicy& policy : point.policies) labels.push_back(policy.label);
  if (label.empty()) return 0;
  const auto found = std::find(labels.begin(), labels.end(), label);
  if (found == labels.end())
    throw InputError({"--policy", 0}, "policy", quote(label), expected_names(label, labels));
  return static_cast<std::uint32_t>(found - labels.begin());
}

void check_below(const char* option, std::uint32_t value, std::size_t limit) {
  if (value >= limit)
    throw InputError({fmt::format("--{}", option), 0}, option, fmt::format("{}", value),
                     fmt::format("at most {}", limit - 1));
}

// What is known of a run's events before it is played: the average of all.
void announce(const Experiment& experiment, const Manifest& manifest, const fs::path& file,
              const std::string& limit) {
  const double runs = static_cast<double>(experiment.points.groups().all()) * experiment.replications *
                      permutation_count(experiment, experiment.points[0]);
  const double size = estimated_trace_size(manifest.events / runs);
  if (size > static_cast<double>(TraceFiles::kMuch))
    to_stderr("{}: about {:.0f} MiB, of which --trace-limit allows {}\n", file.string(), size / (1 << 20),
              limit);
}

int simulate(const TraceArguments& arguments, const Experiment& experiment, const WorldEntry& world,
             const Unit& unit, const Manifest& manifest, const fs::path& file) {
  const std::uint64_t limit = read_trace_limit(arguments.limit);
  const std::atomic<bool>& stop = catch_interrupts();
  announce(experiment, manifest, file, arguments.limit);
  const TraceEnd end = write_chrome_trace(experiment, world, unit, arguments.permutation, file, limit, stop);
  if (stop) {
    to_stderr("interrupted: nothing is written\n");
    return 130;
  }
  if (!end.written)
    throw InputError({"--trace-limit", 0}, "--trace-limit", quote(arguments.limit),
                     "at least room for the names of all clients");
  if (end.full_at)
    to_stderr("{}: ends at {}, because the --trace-limit of {} is reached\n", file.string(),
              rounded_time(*end.full_at - Time{}), arguments.limit);
  if (arguments.out.empty()) list_file(arguments.folder, "trace/" + file.filename().string());
  fmt::print("{}: open it in ui.perfetto.dev\n", file.string());
  return 0;
}

int trace_recording(const TraceArguments& arguments, const CLI::App& options) {
  for (const char* option : {"--point", "--policy", "--replication", "--permutation"})
    if (options.count(option) > 0)
      throw InputError({option, 0}, option, quote(options.get_option(option)->as<std::string>()),
                       "a result folder: a recording is of one run");
  const fs::path from = arguments.folder;
  const fs::path file =
      arguments.out.empty() ? fs::path(from.string() + ".json.gz") : fs::path(arguments.out);
  const recording::Recording recording = recording::read_recording(from);
  if (file.has_parent_path()) make_folder(file.parent_path());
  const auto end = write_recording_trace(recording, file, read_trace_limit(arguments.limit));
  if (!end)
    throw InputError({"--trace-limit", 0}, "--trace-limit", quote(arguments.limit),
                     "at least room for the names of all threads and streams");
  if (end->full_at)
    to_stderr("{}: ends at {}, because the --trace-limit of {} is reached\n", file.string(),
              rounded_time(*end->full_at - Time{}), arguments.limit);
  fmt::print("{}: open it in ui.perfetto.dev\n", file.string());
  return 0;
}

int trace(const TraceArguments& arguments, const CLI::App& options) {
  if (recording::is_recording(arguments.folder)) return trace_recording(arguments, options);
  const Manifest manifest = read_manifest(arguments.folder);
  const std::string manifest_file = (fs::path(arguments.folder) / "manifest.json").string();
  const Experiment experiment = read_experiment(manifest_file, {});
  check_below("point", arguments.point, experiment.points.size());
  const Point point = experiment.points[arguments.point];
  check_below("replication", arguments.replication, experiment.replications);
  check_below("permutation", arguments.permutation, permutation_count(experiment, point));
  const Unit unit{arguments.point, policy_index(point, arguments.policy), arguments.replication};
  const std::string name = trace_name(experiment, unit, arguments.permutation);
  const fs::path file =
      arguments.out.empty() ? fs::path(arguments.folder) / "trace" / name : fs::path(arguments.out);
  if (file.has_parent_path()) make_folder(file.parent_path());
  const WorldEntry& world = Worlds::named(manifest.key.world, manifest_file, "world");
  if (!world.real_time) return simulate(arguments, experiment, world, unit, manifest, file);
  if (const fs::path kept = fs::path(arguments.folder) / "trace" / name; !fs::exists(kept))
    throw InputError({arguments.folder, 0}, "trace", "runs in real time that kept no timeline of this one",
                     "replication 0, permutation 0 of a run with --trace");
  else if (kept != file)
    copy_trace(kept, file);
  fmt::print("{}: open it in ui.perfetto.dev\n", file.string());
  return 0;
}

}  // namespace

void add_trace(CLI::App& app, int& code) {
  auto arguments = std::make_shared<TraceArguments>();
  CLI::App* sub = app.add_subcommand(
      "trace", "write the timeline of one run of a result folder, or of a recording, as Chrome trace JSON");
  sub->add_option("folder", arguments->folder, "result folder or recording")
      ->required()
      ->type_name(value_type::kFile);
  sub->add_option("--point", arguments->point, "point number (default 0)");
  sub->add_option("--policy", arguments->policy, "label of the policy (default: the first by name)")
      ->type_name(value_type::kPolicy);
  sub->add_option("--replication", arguments->replication, "replication number (default 0)");
  sub->add_option("--permutation", arguments->permutation, "permutation number (default 0)");
  sub->add_option("--out", arguments->out,
                  "file (default DIR/trace/...json.gz, or RECORDING.json.gz); compressed if it ends in .gz")
      ->type_name(value_type::kFile);
  sub->add_option("--trace-limit", arguments->limit, "size limit of the timeline (default 1 GiB)")
      ->type_name(value_type::kSize);
  sub->callback([arguments, sub, &code] { code = trace(*arguments, *sub); });
}

}  // namespace gangway
