#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command_tree.hpp"

namespace gangway {
namespace {

constexpr const char* kZshHead = R"sh(#compdef gangway
# zsh completion for gangway, made by `gangway completion zsh`

__gangway_listed() {
    local -a names
    names=(${(f)"$(${~gangway_program} list $1 2>/dev/null | sed -n 's/^\([^ ][^ ]*\).*/\1/p')"})
    compadd -a names
}

)sh";

// In an explanation in brackets, or in front of a colon.
std::string escaped(const std::string& text, const std::string& special) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) != std::string::npos || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string action(const ValueFacts& value) {
  std::vector<std::string> all;
  if (!value.choices.empty()) all.push_back(fmt::format("compadd {}", fmt::join(value.choices, " ")));
  if (!value.listed.empty()) all.push_back("__gangway_listed " + value.listed);
  if (value.path == PathKind::file) all.emplace_back("_files");
  if (value.path == PathKind::folder) all.emplace_back("_files -/");
  if (all.empty()) return " ";
  if (all.size() == 1) return " " + all.front();
  std::string each;
  for (const std::string& one : all) each += fmt::format(" \"values:value: {}\"", one);
  return " _alternative" + each;
}

std::string spec(const OptionFacts& option) {
  std::string names = option.names.front(), before;
  if (option.names.size() > 1) {
    names = fmt::format("{{{}}}", fmt::join(option.names, ","));
    before = fmt::format("'({})'", fmt::join(option.names, " "));
  }
  std::string rest = fmt::format("[{}]", escaped(option.help, "[]"));
  if (!option.flag) rest += ":value:" + action(option.value);
  return (option.repeated ? "'*'" : before) + names + shell_quoted(rest);
}

std::string spec(const ArgumentFacts& argument) {
  return shell_quoted(fmt::format("{}:{}:{}", argument.repeated ? "*" : "", escaped(argument.name, ":"),
                                  action(argument.value)));
}

std::string arguments_of(const CommandFacts& command) {
  // `--` ends the options (-S), but not where it is the first word.
  std::string out = command.runs_program
                        ? "[[ $words[2] == -- ]] && (( CURRENT > 2 )) && words[2]=() && (( CURRENT-- ))\n"
                          "                _arguments -S"
                        : "_arguments";
  for (const OptionFacts& option : command.options) out += " \\\n                " + spec(option);
  for (const ArgumentFacts& argument : command.arguments) out += " \\\n                " + spec(argument);
  if (command.runs_program)
    out += " \\\n                '(-)1:program: _command_names -e' '*::argument:_normal'";
  return out;
}

}  // namespace

std::string zsh_completion(const CommandTree& tree) {
  std::string commands, cases, options;
  for (const OptionFacts& option : tree.options) options += " " + spec(option);
  for (const CommandFacts& command : tree.commands) {
    commands += fmt::format("                {}\n",
                            shell_quoted(escaped(command.name, ":") + ":" + escaped(command.help, "")));
    cases += fmt::format("            {})\n                {} ;;\n", command.name, arguments_of(command));
  }
  return fmt::format(R"sh({}_gangway() {{
    local curcontext=$curcontext state line gangway_program=${{(Q)words[1]}}
    local -a commands
    typeset -A opt_args
    _arguments -C{} '1: :->command' '*:: :->arguments'
    case $state in
        command)
            commands=(
{}            )
            _describe -t commands command commands ;;
        arguments)
            case $words[1] in
{}            esac ;;
    esac
}}

if [ "$funcstack[1]" = _gangway ]; then
    _gangway "$@"
else
    compdef _gangway gangway
fi
)sh",
                     kZshHead, options, commands, cases);
}

}  // namespace gangway
