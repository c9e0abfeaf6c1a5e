#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "cli/command_tree.hpp"
#include "cli/commands.hpp"
#include "experiments/library/library.hpp"
#include "models/error.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;

// The Python package draws and writes; this program becomes it.
[[noreturn]] void report(const std::vector<std::string>& folders, const std::string& out) {
  const fs::path package = python_package();
  const std::string python = python_program();
  const char* const others = std::getenv("PYTHONPATH");
  if (!package.empty())
    setenv("PYTHONPATH", (package.string() + (others != nullptr ? std::string(":") + others : "")).c_str(),
           1);
  // What two simulations differ by is worked out once, by this program.
  setenv("GANGWAY_PROGRAM", fs::read_symlink("/proc/self/exe").c_str(), 1);
  std::vector<std::string> words{python, "-m", "gangway", "report"};
  words.insert(words.end(), folders.begin(), folders.end());
  if (!out.empty()) words.insert(words.end(), {"--out", out});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp(python.c_str(), arguments.data());
  throw RunError(python + ": " + std::strerror(errno));
}

}  // namespace

void add_report(CLI::App& app, int&) {
  struct Arguments {
    std::vector<std::string> folders;
    std::string out;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* sub =
      app.add_subcommand("report", "write one HTML page about result folders: tables, figures, timelines");
  sub->add_option("folders", arguments->folders, "result folders of `gangway run`")
      ->required()
      ->type_name(value_type::kFolder);
  sub->add_option("--out", arguments->out, "the page (default: report.html in the first folder)")
      ->type_name(value_type::kFile);
  sub->callback([arguments] { report(arguments->folders, arguments->out); });
}

}  // namespace gangway
