// gangway: argument parsing and printing.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "cli/commands.hpp"
#include "cli/help_format.hpp"
#include "cli/interrupt.hpp"
#include "experiments/library/build.hpp"
#include "hw/transform/ptxas/wrapped_ptxas.hpp"
#include "models/error.hpp"
#include "models/nearest.hpp"
#include "models/standard_error.hpp"

namespace gangway {
namespace {

// CLI11 says only that there is no subcommand.
void refuse_unknown(const CLI::App& app, const std::string& word) {
  if (word.empty() || word.front() == '-') return;
  const auto subcommands = app.get_subcommands({});
  std::vector<std::string> known;
  known.reserve(subcommands.size());
  for (const CLI::App* sub : subcommands) known.push_back(sub->get_name());
  if (std::find(known.begin(), known.end(), word) == known.end())
    throw InputError({"gangway", 0}, "command", quote(word), expected_names(word, known));
}

// "gangway run", or "gangway" where no command was reached.
std::string used_command(const CLI::App& app) {
  const auto used = app.get_subcommands();
  return used.empty() ? "gangway" : "gangway " + used.front()->get_name();
}

// Takes what stands behind the first "--" of `gangway exec` or `gangway record`: it is the program's,
// whatever it looks like.
std::vector<std::string> program_behind_dashes(int& argc, char** argv) {
  if (argc < 2 || (std::strcmp(argv[1], "exec") != 0 && std::strcmp(argv[1], "record") != 0)) return {};
  for (int i = 2; i < argc; ++i)
    if (std::strcmp(argv[i], "--") == 0) {
      std::vector<std::string> words(argv + i + 1, argv + argc);
      argc = i;
      return words;
    }
  return {};
}

// Takes what stands behind `gangway ptxas`, or behind a link's name: options and all, it is ptxas's. What
// asks for the command's own help stays.
std::vector<std::string> ptxas_arguments(int& argc, char** argv) {
  if (argc < 2 || std::strcmp(argv[1], "ptxas") != 0) return {};
  if (argc == 3 && std::strcmp(argv[2], "--help") == 0) return {};
  std::vector<std::string> words(argv + 2, argv + argc);
  argc = 2;
  return words;
}

int exit_code(const std::filesystem::filesystem_error& error) {
  const std::error_code& why = error.code();
  const bool name = why == std::errc::too_many_symbolic_link_levels || why == std::errc::filename_too_long ||
                    why == std::errc::not_a_directory;
  return name ? 2 : 1;
}

// The program, called by the name of ptxas.
int run_as_ptxas(int argc, char** argv) {
  try {
    return transform::wrapped_ptxas({argv + 1, argv + argc}, catch_interrupts());
  } catch (const InputError& error) {
    to_stderr("error: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    to_stderr("error: {}\n", error.what());
    return 1;
  }
}

// An option whose value is "", as from a variable that is not set, would count as not given.
void refuse_empty_values(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    refuse_empty_values(*command);
    for (CLI::Option* option : command->get_options())
      if (!option->get_positional() && option->get_items_expected_max() > 0)
        option->check([](const std::string& value) {
          return value.empty() ? std::string("found nothing, expected a value") : std::string();
        });
  }
}

}  // namespace
}  // namespace gangway

int main(int argc, char** argv) {
  using namespace gangway;
  if (transform::is_called_ptxas(argv[0])) return run_as_ptxas(argc, argv);
  CLI::App app{"Gangway: simulate and validate preemptive GPU scheduling", "gangway"};
  app.formatter(help_format());
  app.set_version_flag("--version", "gangway " + build_version() + " " + build_commit());
  app.require_subcommand(1);
  int code = 0;
  std::string command = "gangway";
  for (int i = 1; i < argc; ++i) command += fmt::format(" {}", argv[i]);
  add_run(app, command, code);
  add_merge(app, command, code);
  add_check(app, code);
  add_list(app, code);
  add_new(app, code);
  add_trace(app, code);
  add_calibrate(app, command, code);
  add_compare(app, code);
  add_report(app, code);
  add_bound(app, code);
  add_taskset(app, code);
  add_serve(app, code);
  add_status(app, code);
  const std::vector<std::string> program = program_behind_dashes(argc, argv);
  add_exec(app, program, code);
  add_record(app, program, code);
  add_import(app, code);
  add_inspect(app, code);
  add_prepare(app, code);
  const std::vector<std::string> for_ptxas = ptxas_arguments(argc, argv);
  add_ptxas(app, for_ptxas, code);
  add_doctor(app, code);
  add_completion(app, code);
  add_manual(app, code);
  refuse_empty_values(app);
  try {
    refuse_unknown(app, argc > 1 ? argv[1] : "");
    try {
      app.parse(argc, argv);
    } catch (const CLI::Success& asked) {  // for help or the version
      code = app.exit(asked);
    }
    if (std::fflush(stdout) != 0 || !std::cout.flush())
      throw RunError(std::string("cannot write to standard output: ") + std::strerror(errno));
    return code;
  } catch (const CLI::ParseError& error) {
    to_stderr("gangway: {} (see {} --help)\n", error.what(), used_command(app));
    return 2;
  } catch (const InputError& error) {
    to_stderr("error: {}\n", error.what());
    return 2;
  } catch (const std::filesystem::filesystem_error& error) {
    to_stderr("error: {}: {}\n", error.path1().string(), error.code().message());
    return exit_code(error);
  } catch (const std::exception& error) {
    to_stderr("error: {}\n", error.what());
    return 1;
  } catch (...) {
    to_stderr("error: an exception that is not a std::exception\n");
    return 1;
  }
}
