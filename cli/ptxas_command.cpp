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
      app.add_subcommand("ptxas", "NVIDIA's ptxas, with forms of kernels that can leave the GPU beside them");
  sub->add_option("arguments", *files,
                  "as ptxas has them; a link to gangway of the name ptxas takes them, too")
      ->type_name(value_type::kFile);
  sub->callback(
      [files, &arguments, &code] { code = transform::wrapped_ptxas(arguments, catch_interrupts()); });
}

}  // namespace gangway
