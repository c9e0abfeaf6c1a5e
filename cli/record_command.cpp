#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command_tree.hpp"
#include "cli/commands.hpp"
#include "experiments/library/build.hpp"
#include "hw/record/record.hpp"
#include "models/error.hpp"

namespace gangway {

void add_record(CLI::App& app, const std::vector<std::string>& program, int& code) {
  struct Arguments {
    spool::RecordSettings settings;
    std::string jobs = "sync";
    std::uint32_t skip = 0;
  };
  auto arguments = std::make_shared<Arguments>();
  spool::RecordSettings& settings = arguments->settings;
  CLI::App* sub = app.add_subcommand(
      "record",
      "record what a program does with its GPUs: gangway record --out FILE [options] -- PROGRAM [arguments]");
  sub->add_option("--out", settings.out, "the recording")->required()->type_name(value_type::kFile);
  sub->add_flag("--force", settings.replace, "replace an existing file");
  sub->add_option(
      "--jobs", arguments->jobs,
      "what a job is: sync (up to a call that leaves nothing outstanding; the default), nvtx:NAME (ranges "
      "of that name; NAME may end in *, and DOMAIN/ may precede it) or whole (the program)");
  sub->add_option("--skip", arguments->skip, "number of first jobs that are warm-up (default 0)");
  sub->add_flag("--graph-nodes", settings.graph_nodes,
                "run the program again to time the nodes of its graphs");
  sub->add_flag("--overhead", settings.overhead,
                "run the program once more, unrecorded, for what its jobs take then; predictions use it");
  sub->add_option("--cupti", settings.cupti, "path of libcupti.so, if it is not found")
      ->type_name(value_type::kFile);
  sub->allow_extras()->prefix_command();
  sub->callback([sub, arguments, program, &code] {
    spool::RecordSettings& chosen = arguments->settings;
    chosen.command = sub->remaining();
    chosen.command.insert(chosen.command.end(), program.begin(), program.end());
    if (chosen.command.empty() || chosen.command.front().empty())
      throw InputError({"record", 0}, "program", "none",
                       "gangway record --out FILE [options] -- PROGRAM [arguments]");
    chosen.jobs = recording::read_job_rule(arguments->jobs);
    chosen.jobs.skip = arguments->skip;
    chosen.version = build_version() + " " + build_commit();
    chosen.cpu = host_cpu();
    code = spool::record(chosen);
  });
}

}  // namespace gangway
