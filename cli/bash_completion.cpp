#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command_tree.hpp"

namespace gangway {
namespace {

// Before what is made of the tree: how words are found and completed. Bash hands over `--out=a` as three
// words.
constexpr const char* kBashHead = R"sh(# bash completion for gangway, made by `gangway completion bash`

__gangway_words() {
    mapfile -O "${#COMPREPLY[@]}" -t COMPREPLY < <(compgen -W "$1" -- "$cur")
}

__gangway_listed() {
    __gangway_words "$("${COMP_WORDS[0]/#\~\//$HOME/}" list "$1" 2>/dev/null | sed -n 's/^\([^ ][^ ]*\).*/\1/p')"
}

__gangway_paths() {
    compopt -o filenames 2>/dev/null
    mapfile -O "${#COMPREPLY[@]}" -t COMPREPLY < <(compgen "$1" -- "$cur")
}

__gangway_program() {
    if declare -F _command_offset >/dev/null; then
        _command_offset "$1"
    elif ((COMP_CWORD == $1)); then
        mapfile -t COMPREPLY < <(compgen -c -- "$cur")
    else
        __gangway_paths -f
    fi
}

)sh";

// How the words before the one that is completed are read.
constexpr const char* kBody = R"sh(_gangway() {
    COMPREPLY=()
    local cur=${COMP_WORDS[COMP_CWORD]} command='' option='' place=0 i
    for ((i = 1; i < COMP_CWORD; i++)); do
        local word=${COMP_WORDS[i]}
        if [[ -n $option && $word == = ]]; then
            continue
        elif [[ -n $option ]]; then
            option=''
        elif [[ -z $command && $word != -* ]]; then
            command=$word
        elif [[ $word == -- ]] && __gangway_runs_program "$command"; then
            __gangway_program $((i + 1))
            return
        elif __gangway_takes_value "$command $word"; then
            option=$word
        elif [[ $word != -* ]]; then
            if __gangway_runs_program "$command"; then
                __gangway_program "$i"
                return
            fi
            ((place += 1))
        fi
    done
    [[ -n $option && $cur == = ]] && cur=''
    if [[ -n $option ]]; then
        __gangway_value "$command $option"
    elif [[ $cur == -* ]]; then
        __gangway_options "$command"
    elif [[ -z $command ]]; then
        __gangway_commands
    elif __gangway_runs_program "$command"; then
        __gangway_program "$COMP_CWORD"
    else
        __gangway_argument "$command" "$place"
    fi
}

complete -F _gangway gangway
)sh";

std::string steps(const ValueFacts& value) {
  std::string out;
  if (!value.choices.empty())
    out +=
        fmt::format("__gangway_words {}; ", shell_quoted(fmt::format("{}", fmt::join(value.choices, " "))));
  if (!value.listed.empty()) out += fmt::format("__gangway_listed {}; ", value.listed);
  if (value.path == PathKind::file) out += "__gangway_paths -f; ";
  if (value.path == PathKind::folder) out += "__gangway_paths -d; ";
  return out;
}

std::string names_of(const std::vector<OptionFacts>& options) {
  std::string out;
  for (const OptionFacts& option : options)
    for (const std::string& name : option.names) out += (out.empty() ? "" : " ") + name;
  return out;
}

// A function that acts by its arguments: `cases` are those of a case statement.
std::string by_case(const std::string& name, const std::string& word, const std::string& cases) {
  return fmt::format("{}() {{\n    case {} in\n{}    esac\n}}\n\n", name, word, cases);
}

}  // namespace

std::string bash_completion(const CommandTree& tree) {
  std::string commands, programs, options, valued, values, arguments;
  options += fmt::format("        '') __gangway_words '{}' ;;\n", names_of(tree.options));
  for (const CommandFacts& command : tree.commands) {
    commands += (commands.empty() ? "" : " ") + command.name;
    if (command.runs_program) programs += (programs.empty() ? "" : "|") + command.name;
    options += fmt::format("        {}) __gangway_words '{}' ;;\n", command.name, names_of(command.options));
    for (const OptionFacts& option : command.options) {
      if (option.flag) continue;
      std::string pattern;
      for (const std::string& name : option.names)
        pattern += fmt::format("{}'{} {}'", pattern.empty() ? "" : "|", command.name, name);
      valued += fmt::format("        {}) return 0 ;;\n", pattern);
      if (!option.value.nothing()) values += fmt::format("        {}) {};;\n", pattern, steps(option.value));
    }
    for (std::size_t place = 0; place < command.arguments.size(); ++place) {
      const ArgumentFacts& argument = command.arguments[place];
      // Behind the earlier ones, so a repeated one takes what is left.
      const std::string pattern = argument.repeated ? fmt::format("'{} '*", command.name)
                                                    : fmt::format("'{} {}'", command.name, place);
      if (!argument.value.nothing())
        arguments += fmt::format("        {}) {};;\n", pattern, steps(argument.value));
    }
    if (command.arguments.empty())
      arguments += fmt::format("        '{} 0') __gangway_options {} ;;\n", command.name, command.name);
  }
  return kBashHead + fmt::format("__gangway_commands() {{\n    __gangway_words '{}'\n}}\n\n", commands) +
         by_case("__gangway_runs_program", "$1",
                 fmt::format("        {}) return 0 ;;\n        *) return 1 ;;\n", programs)) +
         by_case("__gangway_takes_value", "$1", valued + "        *) return 1 ;;\n") +
         by_case("__gangway_options", "$1", options) + by_case("__gangway_value", "$1", values) +
         by_case("__gangway_argument", "\"$1 $2\"", arguments) + kBody;
}

}  // namespace gangway
