// gangway: argument parsing and printing.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>

#include "cli/commands.hpp"
#include "experiments/build.hpp"
#include "models/error.hpp"

int main(int argc, char** argv) {
  using namespace gangway;
  CLI::App app{"Gangway: simulate and validate preemptive GPU scheduling", "gangway"};
  app.set_version_flag("--version", "gangway " + build_version() + " " + build_commit());
  app.require_subcommand(1);
  int code = 0;
  std::string command = "gangway";
  for (int i = 1; i < argc; ++i) command += fmt::format(" {}", argv[i]);
  add_run(app, command, code);
  add_check(app, code);
  add_list(app, code);
  add_trace(app, code);
  add_calibrate(app, command, code);
  add_compare(app, code);
  try {
    app.parse(argc, argv);
    if (std::fflush(stdout) != 0)
      throw RunError(std::string("cannot write to standard output: ") + std::strerror(errno));
    return code;
  } catch (const CLI::Success& done) {
    return app.exit(done);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "gangway: {} (gangway --help shows how it is called)\n", error.what());
    return 2;
  } catch (const InputError& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
