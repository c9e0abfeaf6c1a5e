#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/command_tree.hpp"
#include "cli/commands.hpp"

namespace gangway {

void add_completion(CLI::App& app, int& code) {
  auto shell = std::make_shared<std::string>();
  CLI::App* sub = app.add_subcommand("completion", "print a shell's completion script for these commands");
  sub->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  sub->callback([&app, shell, &code] {
    const CommandTree tree = command_tree(app);
    fmt::print("{}", *shell == "bash"  ? bash_completion(tree)
                     : *shell == "zsh" ? zsh_completion(tree)
                                       : fish_completion(tree));
    code = 0;
  });
}

}  // namespace gangway
