#include "cli/command_tree.hpp"

#include <CLI/CLI.hpp>
#include <array>
#include <sstream>

#include "models/utf8.hpp"

namespace gangway {
namespace {

struct TypeMeaning {
  const char* type;
  const char* listed;
  PathKind path;
};

constexpr std::array kMeanings{
    TypeMeaning{value_type::kFile, "", PathKind::file},
    TypeMeaning{value_type::kFolder, "", PathKind::folder},
    TypeMeaning{value_type::kExperiment, "experiments", PathKind::file},
    TypeMeaning{value_type::kWorkload, "workloads", PathKind::file},
    TypeMeaning{value_type::kDevice, "devices", PathKind::file},
    TypeMeaning{value_type::kPolicy, "policies", PathKind::none},
    TypeMeaning{value_type::kMechanism, "mechanisms", PathKind::none},
    TypeMeaning{value_type::kWorld, "worlds", PathKind::none},
    TypeMeaning{value_type::kProfiler, "profilers", PathKind::none},
    TypeMeaning{value_type::kUtilisation, "utilisations", PathKind::none},
};

// CLI11 writes a type as TYPE:CHECK:..., and the check for one of some names as {a,b}.
ValueFacts value_facts(const std::string& type) {
  ValueFacts facts;
  const std::string name = type.substr(0, type.find(':'));
  for (const TypeMeaning& meaning : kMeanings)
    if (name == meaning.type) {
      facts.listed = meaning.listed;
      facts.path = meaning.path;
    }
  const std::size_t begin = type.find('{'), end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos) return facts;
  std::istringstream names(type.substr(begin + 1, end - begin - 1));
  for (std::string one; std::getline(names, one, ',');) facts.choices.push_back(one);
  return facts;
}

OptionFacts option_facts(const CLI::Option& option) {
  OptionFacts facts;
  for (const std::string& name : option.get_snames()) facts.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) facts.names.push_back("--" + name);
  facts.help = joined_lines(option.get_description());
  facts.flag = option.get_items_expected_max() == 0;
  facts.repeated = option.get_items_expected_max() > 1;
  if (!facts.flag) facts.value = value_facts(option.get_type_name());
  return facts;
}

std::vector<OptionFacts> options_of(const CLI::App& app) {
  std::vector<OptionFacts> all;
  for (const CLI::Option* option : app.get_options())
    if (option->nonpositional() && !option->get_group().empty()) all.push_back(option_facts(*option));
  return all;
}

CommandFacts command_facts(const CLI::App& app) {
  CommandFacts facts{
      app.get_name(), joined_lines(app.get_description()), options_of(app), {}, app.get_prefix_command()};
  for (const CLI::Option* option : app.get_options())
    if (option->get_positional())
      facts.arguments.push_back({option->get_name(true), joined_lines(option->get_description()),
                                 option->get_items_expected_max() > 1, value_facts(option->get_type_name())});
  return facts;
}

}  // namespace

CommandTree command_tree(const CLI::App& app) {
  CommandTree tree{options_of(app), {}};
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    tree.commands.push_back(command_facts(*command));
  return tree;
}

std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace gangway
