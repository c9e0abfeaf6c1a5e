#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <thread>

#include "cli/command_tree.hpp"
#include "cli/commands.hpp"
#include "cli/interrupt.hpp"
#include "hw/transform/inspect/inspection.hpp"
#include "models/standard_error.hpp"

namespace gangway {

void add_inspect(CLI::App& app, int& code) {
  struct Arguments {
    transform::InspectSettings settings;
    std::string gpu = transform::kUsualGpu.name();
    bool json = false;
  };
  auto arguments = std::make_shared<Arguments>();
  transform::InspectSettings& settings = arguments->settings;
  CLI::App* sub = app.add_subcommand(
      "inspect", "show which kernels of a program can be preempted, and why others cannot");
  sub->add_option("file", settings.file,
                  "a program, shared or static library, object, fatbin, cubin or PTX file")
      ->required()
      ->type_name(value_type::kFile);
  sub->add_option("--recording", settings.recording,
                  "a recording of the program: adds each kernel's share of GPU time")
      ->type_name(value_type::kFile);
  sub->add_flag("--libraries", settings.libraries, "include the libraries that it is linked with");
  sub->add_option("--arch", arguments->gpu, "GPU architecture (default sm_90)");
  sub->add_flag("--json", arguments->json, "print a JSON list with an object for each kernel");
  sub->callback([arguments, &code] {
    transform::InspectSettings& chosen = arguments->settings;
    chosen.gpu = transform::gpu_option(arguments->gpu);
    chosen.jobs = std::thread::hardware_concurrency();
    const transform::Inspection found = transform::inspect(chosen, catch_interrupts());
    if (found.interrupted) {
      to_stderr("interrupted\n");
      code = 130;
      return;
    }
    for (const std::string& note : found.notes) to_stderr("note: {}\n", note);
    fmt::print("{}", arguments->json ? transform::to_json(found) : transform::to_text(found));
    code = 0;
  });
}

}  // namespace gangway
