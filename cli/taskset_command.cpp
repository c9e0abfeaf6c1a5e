#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>

#include "cli/command_tree.hpp"
#include "cli/commands.hpp"
#include "cli/named_values.hpp"
#include "cli/seed_option.hpp"
#include "experiments/studies/taskset_files.hpp"

namespace gangway {
namespace {

struct TasksetArguments {
  std::string method, out;
  std::vector<std::string> sets;
  std::uint64_t count = 1, seed = 1;
};

int draw(const TasksetArguments& arguments) {
  const TaskSetGenerator generator =
      task_set_generator(arguments.method, named_values("--set", arguments.sets, "name", "a parameter"));
  if (arguments.out.empty()) {
    if (arguments.count != 1)
      throw InputError({"gangway taskset", 0}, "--out", "nothing", "a folder for more than one set");
    fmt::print("{}", to_yaml(generator.draw(arguments.seed, 0)));
    return 0;
  }
  write_task_sets(generator, arguments.seed, arguments.count, arguments.out);
  fmt::print("{} task sets in {}\n", arguments.count, arguments.out);
  return 0;
}

}  // namespace

void add_taskset(CLI::App& app, int& code) {
  auto arguments = std::make_shared<TasksetArguments>();
  CLI::App* sub = app.add_subcommand("taskset", "draw random task sets");
  sub->add_option("method", arguments->method, "how utilisations are drawn: see `gangway list utilisations`")
      ->required()
      ->type_name(value_type::kUtilisation);
  sub->add_option("--count", arguments->count, "how many sets (default 1)")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{10'000'000}));
  sub->add_option("--seed", arguments->seed, "same seed, same sets (default 1)")->check(seed_fault, "");
  sub->add_option("--set", arguments->sets, "a parameter of the method")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  sub->add_option("--out", arguments->out,
                  "folder for set-0.yaml, set-1.yaml, ...; without it one set goes to standard output")
      ->type_name(value_type::kFolder);
  sub->callback([arguments, &code] { code = draw(*arguments); });
}

}  // namespace gangway
