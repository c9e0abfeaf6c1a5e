// The app's commands, options and arguments, for completion and the manual page.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace gangway {

// What an option or argument takes, as its type_name(): shown by help and used by completion. Options without
// one complete to the names in braces of their check, or to nothing.
namespace value_type {
inline constexpr const char* kFile = "FILE";
inline constexpr const char* kFolder = "FOLDER";
// Names listed by `gangway list`; for the first three a file is accepted, too.
inline constexpr const char* kExperiment = "EXPERIMENT";
inline constexpr const char* kWorkload = "WORKLOAD";
inline constexpr const char* kDevice = "DEVICE";
inline constexpr const char* kPolicy = "POLICY";
inline constexpr const char* kMechanism = "MECHANISM";
inline constexpr const char* kWorld = "WORLD";
inline constexpr const char* kProfiler = "PROFILER";
inline constexpr const char* kUtilisation = "UTILISATION";
// Quantities with units.
inline constexpr const char* kTime = "TIME";
inline constexpr const char* kSize = "SIZE";
}  // namespace value_type

enum class PathKind { none, file, folder };

// What a value may be: any of these.
struct ValueFacts {
  std::vector<std::string> choices;
  std::string listed;  // what `gangway list` calls it; empty: not listed
  PathKind path = PathKind::none;

  bool nothing() const { return choices.empty() && listed.empty() && path == PathKind::none; }
};

struct OptionFacts {
  std::vector<std::string> names;  // "-h", "--help"
  std::string help;
  bool flag = false;      // takes no value
  bool repeated = false;  // it may be given several times
  ValueFacts value;
};

struct ArgumentFacts {
  std::string name, help;
  bool repeated = false;  // so may the following one
  ValueFacts value;
};

struct CommandFacts {
  std::string name, help;
  std::vector<OptionFacts> options;
  std::vector<ArgumentFacts> arguments;  // in order
  bool runs_program = false;             // a program and its arguments follow its options
};

struct CommandTree {
  std::vector<OptionFacts> options;  // before any command
  std::vector<CommandFacts> commands;
};

// For an app whose subcommands have none. Omits what its help hides.
CommandTree command_tree(const CLI::App& app);

// Completion scripts for shells, which ask the program for names.
std::string bash_completion(const CommandTree& tree);
std::string zsh_completion(const CommandTree& tree);
std::string fish_completion(const CommandTree& tree);

// A manual page for man.
std::string man_page(const CommandTree& tree, const std::string& version);

// A text in single quotes, one word for bash and zsh.
std::string shell_quoted(std::string_view text);

}  // namespace gangway
