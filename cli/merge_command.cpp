#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/command_tree.hpp"
#include "cli/commands.hpp"
#include "cli/interrupt.hpp"
#include "cli/printed_results.hpp"
#include "experiments/results/merge.hpp"
#include "models/standard_error.hpp"

namespace gangway {
namespace {

struct MergeArguments {
  std::vector<std::string> parts;
  std::string out;
  bool force = false;
};

int print_merged(const MergeReport& merged, const std::string& out) {
  if (const auto* study = std::get_if<StudyReport>(&merged.report)) {
    print_study(*study);
    fmt::print("{} parts, {} points; results in {}\n", merged.parts_added, merged.merge->points(), out);
    return 0;
  }
  const RunReport& report = std::get<RunReport>(merged.report);
  for (const std::string& note : report.notes) to_stderr("note: {}\n", note);
  print_results(*merged.merge->experiment(), report);
  fmt::print("{} parts, {} points, {} jobs, {} events; results in {}\n", merged.parts_added,
             merged.merge->points(), report.account.jobs, report.account.events, out);
  return print_failures(report, "`gangway run` of the whole experiment into this folder");
}

int merge(const MergeArguments& arguments, const std::string& command) {
  const std::vector<std::filesystem::path> parts(arguments.parts.begin(), arguments.parts.end());
  const MergeReport merged = merge_parts(parts, arguments.out, arguments.force, command, catch_interrupts());
  if (merged.was_complete) {
    fmt::print("{} already holds these results\n", arguments.out);
    return 0;
  }
  if (!merged.interrupted) return print_merged(merged, arguments.out);
  to_stderr("interrupted: {} of {} parts are in {}; the same command{} continues\n", merged.parts_added,
            parts.size(), arguments.out, arguments.force ? " without --force" : "");
  return 130;
}

}  // namespace

void add_merge(CLI::App& app, const std::string& command, int& code) {
  auto arguments = std::make_shared<MergeArguments>();
  CLI::App* sub = app.add_subcommand("merge", "join parts of a sweep into one result folder");
  sub->add_option("parts", arguments->parts, "folders that `gangway run --points` filled, in any order")
      ->required()
      ->type_name(value_type::kFolder);
  sub->add_option("--out", arguments->out, "result folder")->required()->type_name(value_type::kFolder);
  sub->add_flag("--force", arguments->force, "replace other results in the folder");
  sub->callback([arguments, command, &code] { code = merge(*arguments, command); });
}

}  // namespace gangway
