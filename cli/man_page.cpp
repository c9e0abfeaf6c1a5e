// The manual page, in roff as man(7) has it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command_tree.hpp"

namespace gangway {
namespace {

// What roff would take for its own.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (out.empty() && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out;
}

std::string shown(const ValueFacts& value) {
  if (!value.choices.empty()) return fmt::format("{}", fmt::join(value.choices, "|"));
  if (!value.listed.empty()) return "NAME";
  if (value.path == PathKind::folder) return "FOLDER";
  return value.path == PathKind::file ? "FILE" : "VALUE";
}

std::string paragraphs(const std::vector<OptionFacts>& options) {
  std::string out;
  for (const OptionFacts& option : options) {
    out += fmt::format(".TP\n\\fB{}\\fR", escaped(fmt::format("{}", fmt::join(option.names, ", "))));
    if (!option.flag) out += fmt::format(" \\fI{}\\fR", escaped(shown(option.value)));
    out += fmt::format("\n{}\n", escaped(option.help));
  }
  return out;
}

std::string section(const CommandFacts& command) {
  std::string synopsis = fmt::format("\\fBgangway {}\\fR [\\fIoptions\\fR]", command.name);
  for (const ArgumentFacts& argument : command.arguments)
    synopsis += fmt::format(" \\fI{}\\fR{}", escaped(argument.name), argument.repeated ? " ..." : "");
  if (command.runs_program) synopsis += " [\\-\\-] \\fIPROGRAM\\fR [\\fIargument\\fR ...]";
  std::string out = fmt::format(".SS {}\n{}\n.PP\n{}.\n", command.name, synopsis, escaped(command.help));
  for (const ArgumentFacts& argument : command.arguments)
    out += fmt::format(".TP\n\\fI{}\\fR\n{}\n", escaped(argument.name), escaped(argument.help));
  return out + paragraphs(command.options);
}

}  // namespace

std::string man_page(const CommandTree& tree, const std::string& version) {
  std::string out = fmt::format(
      ".\\\" Made by `gangway manual`.\n"
      ".TH GANGWAY 1 \"\" \"gangway {}\" \"User Commands\"\n"
      ".SH NAME\ngangway \\- simulate and validate preemptive GPU scheduling\n"
      ".SH SYNOPSIS\n\\fBgangway\\fR \\fICOMMAND\\fR [\\fIoptions\\fR] [\\fIarguments\\fR]\n"
      ".SH OPTIONS\n{}.SH COMMANDS\n",
      version, paragraphs(tree.options));
  for (const CommandFacts& command : tree.commands) out += section(command);
  return out +
         ".SH ENVIRONMENT\n"
         ".TP\n\\fBGANGWAY_DATA\\fR\nThe folder of the devices, workloads and experiments that come with "
         "Gangway, instead of the installed one.\n"
         ".TP\n\\fBGANGWAY_PYTHON\\fR\nThe Python that draws reports.\n"
         ".SH EXIT STATUS\n0: done; 1: the run failed; 2: the input or the call is wrong; 130: "
         "interrupted.\n";
}

}  // namespace gangway
