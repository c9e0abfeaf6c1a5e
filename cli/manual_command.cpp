#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/command_tree.hpp"
#include "cli/commands.hpp"
#include "experiments/library/build.hpp"

namespace gangway {

void add_manual(CLI::App& app, int& code) {
  CLI::App* sub = app.add_subcommand("manual", "print the manual page, for man: gangway manual | man -l -");
  sub->callback([&app, &code] {
    fmt::print("{}", man_page(command_tree(app), build_version()));
    code = 0;
  });
}

}  // namespace gangway
