#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command_tree.hpp"

namespace gangway {
namespace {

constexpr const char* kFishHead = R"sh(# fish completion for gangway, made by `gangway completion fish`

function __gangway_listed
    set -l words (commandline -opc)
    eval $words[1] list $argv[1] 2>/dev/null | string replace -rf '^(\S+).*' '$1'
end

)sh";

// Whether the command is argv[1]; and, where argv[2] is there, whether its argument of that number, or a
// later one if argv[3] is there, is being typed.
constexpr const char* kAt = R"sh(function __gangway_at
    set -l words (commandline -opc)
    set -e words[1]
    set -l command ''
    set -l place 0
    set -l skip 0
    for word in $words
        if test $skip = 1
            set skip 0
        else if test -z "$command"
            string match -q -- '-*' $word; or set command $word
        else if __gangway_takes_value $command $word
            set skip 1
        else if not string match -q -- '-*' $word
            set place (math $place + 1)
        end
    end
    test "$command" = "$argv[1]"; or return 1
    set -q argv[2]; or return 0
    test $place -eq $argv[2]; and return 0
    set -q argv[3]; and test $place -gt $argv[2]
end

# The program that a command starts, and its arguments, as a command line of their own.
function __gangway_program
    set -l words (commandline -opc)
    set -l command $words[2]
    set -e words[1..2]
    while set -q words[1]
        if test "$words[1]" = --
            set -e words[1]
            break
        else if __gangway_takes_value $command $words[1]
            set -e words[1]
        else if not string match -q -- '-*' $words[1]
            break
        end
        set -e words[1]
    end
    complete -C (string join ' ' -- $words (commandline -ct))
end

complete -c gangway -f
)sh";

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string offers(const ValueFacts& value) {
  std::string out;
  if (!value.choices.empty()) out += " -a " + quoted(fmt::format("{}", fmt::join(value.choices, " ")));
  if (!value.listed.empty()) out += " -a " + quoted("(__gangway_listed " + value.listed + ")");
  if (value.path == PathKind::folder) out += " -a '(__fish_complete_directories)'";
  if (value.path == PathKind::file) out += " -F";
  return out;
}

std::string line(const std::string& condition, const std::string& rest) {
  return fmt::format("complete -c gangway -n {}{}\n", quoted(condition), rest);
}

std::string of_option(const std::string& condition, const OptionFacts& option) {
  std::string out;
  for (const std::string& name : option.names)
    out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (!option.flag) out += (option.value.path == PathKind::file ? " -r" : " -x") + offers(option.value);
  return line(condition, out + " -d " + quoted(option.help));
}

std::string of_command(const CommandFacts& command) {
  std::string out;
  for (const OptionFacts& option : command.options) out += of_option("__gangway_at " + command.name, option);
  for (std::size_t place = 0; place < command.arguments.size(); ++place) {
    const ArgumentFacts& argument = command.arguments[place];
    const std::string condition =
        fmt::format("__gangway_at {} {}{}", command.name, place, argument.repeated ? " on" : "");
    if (!argument.value.nothing()) out += line(condition, offers(argument.value));
  }
  if (command.runs_program) out += line("__gangway_at " + command.name, " -a '(__gangway_program)'");
  return out;
}

// Which options take a value, by command.
std::string takes_value(const CommandTree& tree) {
  std::string out = "function __gangway_takes_value\n    switch \"$argv[1] $argv[2]\"\n        case";
  for (const CommandFacts& command : tree.commands)
    for (const OptionFacts& option : command.options)
      for (const std::string& name : option.names)
        if (!option.flag) out += fmt::format(" \\\n            '{} {}'", command.name, name);
  return out + "\n            return 0\n    end\n    return 1\nend\n\n";
}

}  // namespace

std::string fish_completion(const CommandTree& tree) {
  std::string out = kFishHead + takes_value(tree) + kAt;
  for (const OptionFacts& option : tree.options) out += of_option("__gangway_at ''", option);
  for (const CommandFacts& command : tree.commands)
    out += line("__gangway_at ''", " -a " + command.name + " -d " + quoted(command.help));
  for (const CommandFacts& command : tree.commands) out += of_command(command);
  return out;
}

}  // namespace gangway
