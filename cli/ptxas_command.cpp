#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command_tree.hpp"
#include "cli/commands.hpp"
#include "cli/interrupt.hpp"
#include "hw/transform/ptxas/wrapped_ptxas.hpp"

namespace gangway {

void add_ptxas(CLI::App& app, const std::vector<std::string>& arguments, int& code) {
  auto files =
      std::make_shared<std::vector<std::string>>();  // for help and completion: main() takes them off
  CLI::App* sub =
      app.add_subcommand("ptxas", "call NVIDIA's ptxas, and compile preemptible forms of kernels as well");
  sub->add_option("arguments", *files, "those of ptxas; a link named ptxas to gangway takes them, too")
      ->type_name(value_type::kFile);
  sub->callback(
      [files, &arguments, &code] { code = transform::wrapped_ptxas(arguments, catch_interrupts()); });
}

}  // namespace gangway
