// The commands, options and arguments that the app has, as completion sees them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace gangway {

// What an option or argument takes, as its type_name(): help shows it, and completion goes by it. Options
// that have none of these complete to the names in braces of what they are checked for, or to nothing.
namespace value_type {
inline constexpr const char* kFile = "FILE";
inline constexpr const char* kFolder = "FOLDER";
// Names that `gangway list` shows; of the first three a file will do, too.
inline constexpr const char* kExperiment = "EXPERIMENT";
inline constexpr const char* kWorkload = "WORKLOAD";
inline constexpr const char* kDevice = "DEVICE";
inline constexpr const char* kPolicy = "POLICY";
inline constexpr const char* kMechanism = "MECHANISM";
inline constexpr const char* kWorld = "WORLD";
inline constexpr const char* kProfiler = "PROFILER";
inline constexpr const char* kUtilisation = "UTILISATION";
}  // namespace value_type

enum class PathKind { none, file, folder };

// What may stand where a value is expected: any of these.
struct ValueFacts {
  std::vector<std::string> choices;
  std::string listed;  // what `gangway list` shows as this; empty: none
  PathKind path = PathKind::none;

  bool nothing() const { return choices.empty() && listed.empty() && path == PathKind::none; }
};

struct OptionFacts {
  std::vector<std::string> names;  // "-h", "--help"
  std::string help;
  bool flag = false;      // it takes no value
  bool repeated = false;  // it may be given several times
  ValueFacts value;
};

struct ArgumentFacts {
  std::string name, help;
  bool repeated = false;  // so may what follows it
  ValueFacts value;
};

struct CommandFacts {
  std::string name, help;
  std::vector<OptionFacts> options;
  std::vector<ArgumentFacts> arguments;  // in order
  bool runs_program = false;             // what follows its options is a program and its arguments
};

struct CommandTree {
  std::vector<OptionFacts> options;  // before any command
  std::vector<CommandFacts> commands;
};

// Of an app with subcommands that have none themselves. What its help hides is left out.
CommandTree command_tree(const CLI::App& app);

// Scripts that complete `gangway` for a shell. They ask the program itself for names.
std::string bash_completion(const CommandTree& tree);
std::string zsh_completion(const CommandTree& tree);
std::string fish_completion(const CommandTree& tree);

// For man.
std::string man_page(const CommandTree& tree, const std::string& version);

// A text in single quotes, as bash and zsh take it for one word.
std::string shell_quoted(std::string_view text);

}  // namespace gangway
