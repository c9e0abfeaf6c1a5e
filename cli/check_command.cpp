#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command_tree.hpp"
#include "cli/commands.hpp"
#include "cli/overrides.hpp"
#include "experiments/sweeps/experiment.hpp"
#include "models/standard_error.hpp"

namespace gangway {

void add_check(CLI::App& app, int& code) {
  auto files = std::make_shared<std::vector<std::string>>();
  auto sets = std::make_shared<std::vector<std::string>>();
  CLI::App* sub = app.add_subcommand("check", "validate files against their schemas");
  sub->add_option(
         "files", *files,
         "experiments, studies, workloads, devices, task sets, recordings, lists of what papers print")
      ->required()
      ->type_name(value_type::kFile);
  sub->add_option("--set", *sets, "overrides a value of the experiments and studies, as for `gangway run`")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  sub->callback([files, sets, &code] {
    const std::vector<Override> overrides = overrides_of(*sets);
    for (const std::string& file : *files) {
      try {
        std::vector<std::string> notes;
        fmt::print("{}: {}, fine\n", file, check_file(file, overrides, &notes));
        for (const std::string& note : notes) to_stderr("note: {}: {}\n", file, note);
      } catch (const InputError& error) {
        to_stderr("error: {}\n", error.what());
        code = 2;
      }
    }
  });
}

}  // namespace gangway
