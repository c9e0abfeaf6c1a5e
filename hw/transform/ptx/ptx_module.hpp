// The parts of PTX's grammar that rewriting needs: functions and their statements. All views point into the
// text, which must outlive them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hw/transform/ptx/tokens.hpp"

namespace gangway::transform {

using Tokens = std::vector<Token>;

// Tokens from `first` to before `last`.
struct Range {
  std::uint32_t first = 0, last = 0;
  bool empty() const { return first == last; }
};

struct Guard {
  std::string_view predicate;
  bool negated = false;
};

// [@[!]p] opcode[.modifier...] operand, ...;
struct Instruction {
  std::optional<Guard> guard;
  std::vector<std::string_view> modifiers;  // the opcode's parts: {"ld", "global", "v2", "f32"}
  std::vector<Range> operands;              // split at commas outside brackets
  Range tokens;                             // including guard and semicolon

  std::string_view name() const { return modifiers.front(); }
  bool has(std::string_view modifier) const;
};

enum class StatementKind { instruction, label, declaration, opening, closing, directive };

struct Statement {
  StatementKind kind = StatementKind::directive;
  Range tokens;
  std::string_view name;  // label: its name; declaration: the space (".reg"); directive: its name (".loc")
  Instruction instruction;
};

struct ParameterDeclaration {
  std::string_view name;
  std::uint32_t offset = 0, bytes = 0, alignment = 1;  // as CUDA lays out an entry's parameters
};

// A performance or control directive between a function's head and body: .maxntid 256, 1, 1
struct HeadDirective {
  std::string_view name;
  Range tokens;
};

struct Function {
  bool entry = false;
  bool defined = false;            // it has a body
  std::string_view name, linkage;  // linkage: ".visible", ".weak", ".extern" or empty
  std::uint32_t name_token = 0;
  Range tokens;      // from the linkage to the closing brace or the semicolon
  Range parameters;  // inside the parentheses; both 0 if there are none
  std::vector<ParameterDeclaration> declared;
  std::vector<HeadDirective> directives;
  std::uint32_t body = 0;  // the token of the opening brace
  std::vector<Statement> statements;

  std::uint32_t line(const Tokens& all) const { return all[name_token].line; }
};

// A module-scope variable or array: .shared .align 4 .b8 tile[1024];
struct ModuleVariable {
  std::string_view name, space, linkage;
  std::uint32_t alignment = 1;
  bool unsized = false;  // tile[]
  Range tokens;
};

struct Module {
  std::string_view text;
  Tokens tokens;
  std::string_view target;   // sm_90a
  bool debug = false;        // compiled with debug information
  bool relocatable = false;  // to be linked with other modules; parse() does not know
  std::uint32_t address_size = 32;
  std::uint32_t version_major = 0, version_minor = 0;
  std::vector<Function> functions;  // including declarations without a body
  std::unordered_map<std::string_view, std::size_t> function_of_name;  // with its body, if it has one
  // Those with a body that the text names elsewhere than in calls, as where an address is taken.
  std::vector<std::size_t> addressed;
  std::vector<ModuleVariable> variables;
  std::vector<std::pair<std::string_view, std::string_view>> aliases;  // alias, target

  // The text of a range.
  std::string_view source(Range range) const;
};

// Throws PtxError if the text is not understood.
Module parse(std::string_view text);

}  // namespace gangway::transform
