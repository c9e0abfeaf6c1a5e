#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string_view>

#include "cli/command_tree.hpp"
#include "cli/commands.hpp"
#include "experiments/library/library.hpp"
#include "experiments/library/skeleton.hpp"
#include "models/error.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;

struct NewArguments {
  std::string kind, name, out = ".";
  bool cpp = false, force = false;
};

// As a shell takes it for one word.
std::string word(const std::string& text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+,:=@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  return shell_quoted(text);
}

SkeletonKind kind_of(const NewArguments& arguments) {
  if (arguments.kind == "policy")
    return arguments.cpp ? SkeletonKind::policy_in_cpp : SkeletonKind::policy_in_python;
  if (arguments.cpp)
    throw InputError({"--cpp", 0}, "kind", quote(arguments.kind), "policy; other kinds have no code");
  return arguments.kind == "workload" ? SkeletonKind::workload : SkeletonKind::experiment;
}

// The command to type next, and in brackets what it needs.
std::string next_step(SkeletonKind kind, const std::string& name, const fs::path& path) {
  const std::string file = word(path.string());
  switch (kind) {
    case SkeletonKind::policy_in_python:
      if (std::getenv("GANGWAY_PYTHON") != nullptr) return word(python_program()) + " " + file;
      return fmt::format(
          "python3 {}   (with the Python of a virtual environment in which Gangway's sources are installed: "
          "ENV/bin/pip install .)",
          file);
    case SkeletonKind::policy_in_cpp:
      return fmt::format(
          "mv {} models/policy/ && ./dev build && build/release/gangway run frs/fig4 --set 'policies=[rr, "
          "{}]' "
          "--set 'published=[]' --out out/{}   (in Gangway's sources)",
          word(fs::absolute(path).lexically_normal().string()), name, name);
    case SkeletonKind::workload:
      return fmt::format("gangway run frs/fig4 --set workload={} --set 'published=[]' --out out/{}",
                         word(fs::absolute(path).lexically_normal().string()), name);
    case SkeletonKind::experiment:
      break;
  }
  return "gangway run " + file;
}

void write_new(const NewArguments& arguments) {
  const SkeletonKind kind = kind_of(arguments);
  const fs::path path = write_skeleton(make_skeleton(kind, arguments.name), arguments.out, arguments.force);
  fmt::print("{} is written\nnext: {}\n", path.string(), next_step(kind, arguments.name, path));
}

}  // namespace

void add_new(CLI::App& app, int& code) {
  auto arguments = std::make_shared<NewArguments>();
  CLI::App* sub = app.add_subcommand("new", "write a runnable file to start from");
  sub->add_option("kind", arguments->kind, "kind of file")
      ->required()
      ->check(CLI::IsMember({"policy", "experiment", "workload"}));
  sub->add_option("name", arguments->name, "name of the content, and of the file")->required();
  sub->add_flag("--cpp", arguments->cpp, "a policy in C++, for models/policy/, instead of Python");
  sub->add_option("--out", arguments->out, "output folder (default: the current one)")
      ->type_name(value_type::kFolder);
  sub->add_flag("--force", arguments->force, "replace an existing file");
  sub->callback([arguments, &code] {
    write_new(*arguments);
    code = 0;
  });
}

}  // namespace gangway
