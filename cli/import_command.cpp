#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command_tree.hpp"
#include "cli/commands.hpp"
#include "experiments/library/build.hpp"
#include "experiments/library/library.hpp"
#include "models/device.hpp"
#include "models/error.hpp"
#include "models/recording/summary.hpp"
#include "models/standard_error.hpp"
#include "workloads/profile/import_profile.hpp"
#include "workloads/profile/importer.hpp"

namespace gangway {
namespace {

struct ImportArguments {
  profile::ImportSettings settings;
  std::string jobs = "sync", split, device;
  std::uint32_t skip = 0, process = 0;
};

// What a device of the library, or a file, says of a GPU.
recording::Gpu gpu_of_device(const std::string& name) {
  const Node wanted = Node::text(name, Origin{"--device", 0});
  const Node root = resolve(Field(wanted, "device"), "devices", ".");
  const Device device = read_device(Field(root, ""));
  recording::Gpu gpu;
  gpu.name = device.name;
  gpu.sms = static_cast<std::uint32_t>(device.sms);
  gpu.memory = device.memory;
  return gpu;
}

void report_import(const std::string& file, const recording::Recording& r) {
  const auto say = [](const std::string& line) { to_stderr("gangway: {}\n", line); };
  fmt::print("{}", recording::to_text(r, recording::summarise(r)));
  if (r.about.lost > 0)
    say(fmt::format("{} rows of the profile are omitted: senseless, or of work without a call in the profile",
                    r.about.lost));
  if (!r.about.trouble.empty()) say(r.about.trouble);
  for (const recording::Gpu& gpu : r.gpus) {
    std::string unknown;
    if (gpu.name.empty()) unknown += ", its name";
    if (gpu.sms == 0) unknown += ", its number of SMs";
    if (gpu.memory.count == 0) unknown += ", its memory";
    if (unknown.empty()) continue;
    say(fmt::format("the profile lacks facts about the GPU: {} (--device NAME supplies them)",
                    unknown.substr(2)));
    break;
  }
  if (r.jobs.empty() && r.about.jobs == "sync")
    say("no call waited for all outstanding work, so there are no jobs (--jobs whole makes the program one "
        "job)");
  else if (r.jobs.empty())
    say("no jobs");
  else if (r.about.skip == r.jobs.size())
    say(fmt::format("--skip leaves none of {} jobs", r.jobs.size()));
  fmt::print("{} is written\n", file);
}

}  // namespace

void add_import(CLI::App& app, int& code) {
  auto arguments = std::make_shared<ImportArguments>();
  profile::ImportSettings& settings = arguments->settings;
  CLI::App* sub = app.add_subcommand("import", "make recordings from the profile of another profiler");
  std::string profilers;
  for (const profile::Importer& importer : profile::Importers::all())
    profilers += (profilers.empty() ? "" : "; ") + importer.name + ": " + importer.summary;
  sub->add_option("profiler", settings.profiler, profilers)->required()->type_name(value_type::kProfiler);
  sub->add_option("file", settings.file, "the profile")->required()->type_name(value_type::kFile);
  sub->add_option("--out", settings.out, "the recording")->required()->type_name(value_type::kFile);
  sub->add_flag("--force", settings.replace, "replace existing files");
  sub->add_option(
      "--jobs", arguments->jobs,
      "what a job is: sync (up to a call that leaves nothing outstanding; the default), nvtx:NAME "
      "(ranges of that name, which may end in *) or whole (the program)");
  sub->add_option("--skip", arguments->skip, "number of first jobs that are warm-up (default 0)");
  CLI::Option* process =
      sub->add_option("--process", arguments->process, "the process to import, by its pid");
  sub->add_option("--stream", settings.stream,
                  "the stream to import, NUMBER or CONTEXT/NUMBER (default: all)");
  sub->add_option("--split", arguments->split, "a recording for each process or stream: FILE-NUMBER")
      ->check(CLI::IsMember({"process", "stream"}));
  sub->add_option("--device", arguments->device,
                  "a device (gangway list devices) for facts about the GPU that the profile lacks")
      ->type_name(value_type::kDevice);
  sub->callback([arguments, process, &code] {
    profile::ImportSettings& chosen = arguments->settings;
    chosen.jobs = recording::read_job_rule(arguments->jobs);
    chosen.jobs.skip = arguments->skip;
    if (process->count() > 0) chosen.process = arguments->process;
    if (arguments->split == "process") chosen.split = profile::Split::process;
    if (arguments->split == "stream") chosen.split = profile::Split::stream;
    if (!arguments->split.empty() && !chosen.stream.empty())
      throw InputError({"--stream", 0}, "stream", "--split, too", "one of the two");
    if (!arguments->device.empty()) chosen.device = gpu_of_device(arguments->device);
    chosen.version = build_version() + " " + build_commit();
    profile::import_profile(chosen, report_import);
    code = 0;
  });
}

}  // namespace gangway
