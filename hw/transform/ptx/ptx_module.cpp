#include "hw/transform/ptx/ptx_module.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <set>
#include <unordered_set>

namespace gangway::transform {
namespace {

bool linkage(const Token& token) {
  return token.is(".visible") || token.is(".extern") || token.is(".weak") || token.is(".common");
}

bool space(const Token& token) {
  return token.is(".global") || token.is(".shared") || token.is(".const") || token.is(".local") ||
         token.is(".param") || token.is(".reg") || token.is(".tex") || token.is(".sreg");
}

std::optional<std::uint32_t> bytes_of_type(std::string_view type) {
  static constexpr std::pair<std::string_view, std::uint32_t> kTypes[] = {
      {".b8", 1},    {".u8", 1},     {".s8", 1},         {".b16", 2},    {".u16", 2}, {".s16", 2},
      {".f16", 2},   {".bf16", 2},   {".b32", 4},        {".u32", 4},    {".s32", 4}, {".f32", 4},
      {".f16x2", 4}, {".bf16x2", 4}, {".b64", 8},        {".u64", 8},    {".s64", 8}, {".f64", 8},
      {".b128", 16}, {".texref", 8}, {".samplerref", 8}, {".surfref", 8}};
  for (const auto& [name, bytes] : kTypes)
    if (name == type) return bytes;
  return std::nullopt;
}

// A size or an alignment.
std::optional<std::uint32_t> unsigned_of(const Token& token) {
  const auto value = integer_of(token);
  if (!value || *value < 0 || *value > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return static_cast<std::uint32_t>(*value);
}

std::uint64_t rounded_up(std::uint64_t value, std::uint64_t step) { return (value + step - 1) / step * step; }

class Parser {
 public:
  explicit Parser(std::string_view text) { module_.text = text, module_.tokens = tokens_of(text); }

  Module module() {
    header();
    while (now().kind != TokenKind::end) top();
    find_addressed();
    return std::move(module_);
  }

 private:
  const Token& now(std::uint32_t ahead = 0) const {
    return module_.tokens[std::min<std::size_t>(at_ + ahead, module_.tokens.size() - 1)];
  }

  [[noreturn]] void expected(std::string_view what) const {
    throw PtxError(now().line, now().kind == TokenKind::end ? "the end" : now().text, what);
  }

  void take(std::string_view text) {
    if (!now().is(text)) expected(text);
    ++at_;
  }

  std::string_view take_word(std::string_view what) {
    if (now().kind != TokenKind::word) expected(what);
    return module_.tokens[at_++].text;
  }

  // Behind the next `end` outside of brackets.
  void skip_past(std::string_view end) {
    int depth = 0;
    for (; now().kind != TokenKind::end; ++at_) {
      const Token& token = now();
      if (depth == 0 && token.is(end)) {
        ++at_;
        return;
      }
      if (token.is("{") || token.is("(") || token.is("[")) ++depth;
      if (token.is("}") || token.is(")") || token.is("]")) --depth;
      if (depth < 0) break;
    }
    expected(end);
  }

  // Directives such as .loc end with their line.
  void skip_line() {
    const std::uint32_t line = now().line;
    while (now().kind != TokenKind::end && now().line == line) ++at_;
  }

  void header() {
    take(".version");
    const std::string_view version = now().text;
    const std::size_t dot = version.find('.');
    if (now().kind != TokenKind::number || dot == std::string_view::npos) expected("a version such as 8.7");
    std::from_chars(version.data(), version.data() + dot, module_.version_major);
    std::from_chars(version.data() + dot + 1, version.data() + version.size(), module_.version_minor);
    ++at_;
    take(".target");
    module_.target = take_word("an architecture such as sm_90");
    while (now().is(",")) {
      ++at_;
      if (take_word("a platform option") == "debug") module_.debug = true;
    }
    if (now().is(".address_size")) {
      ++at_;
      const auto size = unsigned_of(now());
      if (!size) expected("32 or 64");
      module_.address_size = *size;
      ++at_;
    }
  }

  void top() {
    if (now().is(".file") || now().is(".loc")) return skip_line();
    if (now().is(".section")) {
      ++at_;
      take_word("a section's name");
      take("{");
      skip_past("}");
      return;
    }
    if (now().is(".pragma")) return skip_past(";");
    if (now().is(".alias")) return alias();
    const std::uint32_t first = at_;
    std::string_view how;
    while (linkage(now())) how = module_.tokens[at_++].text;
    if (now().is(".attribute")) attribute();
    if (now().is(".entry") || now().is(".func")) return function(first, how);
    if (space(now())) return variable(first, how);
    if (now().is(";")) {
      ++at_;
      return;
    }
    expected("a function or a variable");
  }

  void find_addressed() {
    for (const Function& function : module_.functions) {
      names_.insert(function.name_token);
      for (const Statement& statement : function.statements) {
        if (statement.kind != StatementKind::instruction || statement.instruction.name() != "call") continue;
        for (const Range operand : statement.instruction.operands) {
          if (module_.tokens[operand.first].is("(")) continue;
          names_.insert(operand.first);
          break;
        }
      }
    }
    std::set<std::size_t> found;
    for (std::uint32_t at = 0; at < module_.tokens.size(); ++at) {
      if (module_.tokens[at].kind != TokenKind::word || module_.tokens[at].text.front() == '.') continue;
      std::string_view name = module_.tokens[at].text;
      for (const auto& [alias, real] : module_.aliases)
        if (alias == name) name = real;
      const auto function = module_.function_of_name.find(name);
      if (function != module_.function_of_name.end() && names_.count(at) == 0) found.insert(function->second);
    }
    for (const std::size_t function : found)
      if (module_.functions[function].defined && !module_.functions[function].entry)
        module_.addressed.push_back(function);
  }

  void attribute() {
    ++at_;
    take("(");
    skip_past(")");
  }

  void alias() {
    ++at_;
    names_.insert({at_, at_ + 2});
    const std::string_view name = take_word("a function's name");
    take(",");
    module_.aliases.emplace_back(name, take_word("a function's name"));
    take(";");
  }

  void variable(std::uint32_t first, std::string_view how) {
    ModuleVariable found;
    found.linkage = how;
    found.space = module_.tokens[at_++].text;
    if (found.space == ".const" || found.space == ".param") {  // .const[2] of old
      if (now().is("[")) ++at_, skip_past("]");
    }
    while (now().kind == TokenKind::word && now().text.front() == '.') {
      if (now().is(".align")) {
        ++at_;
        const auto alignment = unsigned_of(now());
        if (!alignment) expected("an alignment");
        found.alignment = *alignment;
        ++at_;
      } else if (now().is(".attribute")) {
        attribute();
      } else {
        if (const auto bytes = bytes_of_type(now().text)) found.alignment = std::max(found.alignment, *bytes);
        ++at_;
      }
    }
    found.name = take_word("a variable's name");
    found.unsized = now().is("[") && now(1).is("]");
    skip_past(";");
    found.tokens = {first, at_};
    module_.variables.push_back(found);
  }

  void function(std::uint32_t first, std::string_view how) {
    Function made;
    made.linkage = how;
    made.entry = now().is(".entry");
    ++at_;
    if (now().is(".attribute")) attribute();
    if (!made.entry && now().is("(")) ++at_, skip_past(")");  // what it returns
    made.name_token = at_;
    made.name = take_word("a function's name");
    if (now().is("(")) {
      const std::uint32_t from = ++at_;
      skip_past(")");
      made.parameters = {from, at_ - 1};
      if (made.entry) declare_parameters(made);
    }
    while (now().kind == TokenKind::word && now().text.front() == '.') head_directive(made);
    if (now().is(";")) {
      ++at_;
    } else {
      made.body = at_;
      made.defined = true;
      body(made);
    }
    made.tokens = {first, at_};
    const auto [known, fresh] = module_.function_of_name.emplace(made.name, module_.functions.size());
    if (made.defined && !fresh && !module_.functions[known->second].defined)
      known->second = module_.functions.size();
    module_.functions.push_back(std::move(made));
  }

  void head_directive(Function& made) {
    HeadDirective directive;
    directive.tokens.first = at_;
    directive.name = module_.tokens[at_++].text;
    while (!now().is(";") && !now().is("{") && now().kind != TokenKind::end &&
           !(now().kind == TokenKind::word && now().text.front() == '.'))
      ++at_;
    directive.tokens.last = at_;
    made.directives.push_back(directive);
  }

  // .param .align 8 .b8 name[16], .param .u64 .ptr .global .align 4 name, ...
  void declare_parameters(Function& made) {
    const std::uint32_t end = at_;
    std::uint64_t offset = 0;
    for (at_ = made.parameters.first; at_ < made.parameters.last; ++at_) {
      ParameterDeclaration parameter;
      std::optional<std::uint32_t> bytes, aligned;
      bool pointer = false;
      take(".param");
      while (now().kind == TokenKind::word && now().text.front() == '.') {
        if (now().is(".ptr")) pointer = true;
        if (now().is(".align")) {
          ++at_;
          if (!pointer) aligned = unsigned_of(now());  // else of what it points to
        } else if (const auto type = bytes_of_type(now().text)) {
          bytes = type;
        }
        ++at_;
      }
      parameter.name = take_word("a parameter's name");
      if (!bytes) expected("a parameter's type");
      parameter.alignment = aligned.value_or(*bytes);
      parameter.bytes = *bytes;
      if (now().is("[")) {
        ++at_;
        const auto elements = unsigned_of(now());
        if (!elements || *elements > (1u << 16)) expected("a parameter's size");
        parameter.bytes = *bytes * *elements;
        ++at_;
        take("]");
      }
      if (parameter.alignment == 0 || parameter.alignment > 4096) expected("an alignment");
      offset = rounded_up(offset, parameter.alignment);
      parameter.offset = static_cast<std::uint32_t>(offset);
      offset += parameter.bytes;
      made.declared.push_back(parameter);
      if (at_ < made.parameters.last && !now().is(",")) expected("',' or ')'");
    }
    at_ = end;
  }

  void body(Function& made) {
    int depth = 0;
    do {
      if (now().kind == TokenKind::end) expected("'}'");
      Statement statement;
      statement.tokens.first = at_;
      if (now().is("{")) {
        ++depth, ++at_;
        statement.kind = StatementKind::opening;
      } else if (now().is("}")) {
        --depth, ++at_;
        statement.kind = StatementKind::closing;
      } else if (now().is(";")) {
        ++at_;
        continue;
      } else {
        inner(statement);
      }
      statement.tokens.last = at_;
      made.statements.push_back(std::move(statement));
    } while (depth > 0);
  }

  void inner(Statement& statement) {
    if (now().kind == TokenKind::word && now(1).is(":")) {
      statement.kind = StatementKind::label;
      statement.name = now().text;
      at_ += 2;
    } else if (now().kind == TokenKind::word && now().text.front() == '.') {
      statement.name = now().text;
      statement.kind = space(now()) ? StatementKind::declaration : StatementKind::directive;
      if (now().is(".loc") || now().is(".file"))
        skip_line();
      else
        skip_past(";");
    } else {
      statement.kind = StatementKind::instruction;
      statement.instruction = instruction();
    }
  }

  Instruction instruction() {
    Instruction made;
    made.tokens.first = at_;
    if (now().is("@")) {
      Guard guard;
      ++at_;
      if (now().is("!")) guard.negated = true, ++at_;
      guard.predicate = take_word("a predicate");
      made.guard = guard;
    }
    const std::string_view opcode = take_word("an instruction");
    if (opcode.front() == '.' || opcode.front() == '%') --at_, expected("an instruction");
    add_modifiers(opcode, made);
    // White space may be in front of any of them.
    while (now().kind == TokenKind::word && now().text.front() == '.')
      add_modifiers(module_.tokens[at_++].text.substr(1), made);
    operands(made);
    made.tokens.last = at_;
    return made;
  }

  static void add_modifiers(std::string_view word, Instruction& made) {
    for (std::size_t from = 0; from <= word.size();) {
      const std::size_t dot = std::min(word.find('.', from), word.size());
      made.modifiers.push_back(word.substr(from, dot - from));
      from = dot + 1;
    }
  }

  void operands(Instruction& made) {
    std::uint32_t from = at_;
    int depth = 0;
    for (;; ++at_) {
      const Token& token = now();
      if (token.kind == TokenKind::end) expected("';'");
      if (token.is("{") || token.is("(") || token.is("[")) ++depth;
      if (token.is("}") || token.is(")") || token.is("]")) --depth;
      if (depth < 0) expected("';'");
      const bool ends = depth == 0 && token.is(";");
      if (!ends && (depth > 0 || !token.is(","))) continue;
      if (from < at_) made.operands.push_back({from, at_});
      from = at_ + 1;
      if (ends) break;
    }
    ++at_;
  }

  Module module_;
  std::uint32_t at_ = 0;
  std::unordered_set<std::uint32_t> names_;  // tokens that name a function without taking its address
};

}  // namespace

bool Instruction::has(std::string_view modifier) const {
  return std::find(modifiers.begin() + 1, modifiers.end(), modifier) != modifiers.end();
}

std::string_view Module::source(Range range) const {
  if (range.empty()) return {};
  const std::uint32_t from = tokens[range.first].offset;
  return text.substr(from, tokens[range.last - 1].end() - from);
}

Module parse(std::string_view text) { return Parser(text).module(); }

}  // namespace gangway::transform
