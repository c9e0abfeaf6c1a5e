// What stands in functions: scopes, labels, instructions and their operands.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "tests/ptx/interpreter/interpreter.hpp"
#include "tests/ptx/interpreter/parser.hpp"

namespace gangway::testing::ptx {

void Parser::body(Function& made) {
  function_ = &made;
  scopes_.clear();
  open_scope();
  for (const Variable& variable : made.parameters) declare(variable);
  for (const Variable& variable : made.returns) declare(variable);
  need("{");
  for (std::uint32_t depth = 1; depth > 0;) {
    if (token().kind == Token::Kind::end) expected("'}'");
    if (take("{")) {
      open_scope();
      ++depth;
    } else if (take("}")) {
      scopes_.pop_back();
      --depth;
    } else {
      statement();
    }
  }
  function_ = nullptr;
}

void Parser::open_scope() {
  const auto id = static_cast<std::uint32_t>(function_->parents.size());
  function_->parents.push_back(scopes_.empty() ? 0 : scopes_.back().id);
  scopes_.push_back({id, {}, {}});
}

void Parser::declare(const Variable& variable) {
  Written name;
  name.kind = Written::Kind::variable;
  name.index = static_cast<std::uint32_t>(function_->variables.size());
  function_->variables.push_back(variable);
  // The text's own characters outlive the parser; a std::string in a vector does not.
  scopes_.back().names[held(variable.name, variable.line)] = name;
}

std::string_view Parser::held(const std::string& name, std::uint32_t line) const {
  const std::size_t at = text_.find(name);
  if (at == std::string_view::npos) throw Error(line, "a name that is not in the text");
  return text_.substr(at, name.size());
}

void Parser::registers() {
  if (token().kind == Token::Kind::dotted && (token().is(".v2") || token().is(".v4")))
    throw Error(token().line, "registers that are vectors are not known to the interpreter");
  const Type type = type_named(token().text.substr(token().text.empty() ? 0 : 1));
  if (token().kind != Token::Kind::dotted || type.kind == 0) expected("a type");
  ++here_;
  do {
    const std::string_view name = word();
    const auto first = static_cast<std::uint32_t>(function_->registers.size());
    if (take("<")) {
      const auto count = static_cast<std::uint32_t>(integer());
      if (count > 1'000'000) expected("fewer registers");
      need(">");
      scopes_.back().numbered[name] = {first, count};
      function_->registers.resize(first + count, {type});
    } else {
      Written one;
      one.kind = Written::Kind::reg;
      one.index = first;
      scopes_.back().names[name] = one;
      function_->registers.push_back({type});
    }
  } while (take(","));
  need(";");
}

std::optional<Written> Parser::resolved(std::string_view name) const {
  std::size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
  std::uint32_t number = 0;
  const bool counted =
      digits < name.size() && (name[digits] != '0' || digits + 1 == name.size()) &&
      std::from_chars(name.data() + digits, name.data() + name.size(), number).ec == std::errc();
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (const auto found = scope->names.find(name); found != scope->names.end()) return found->second;
    if (!counted) continue;
    const auto found = scope->numbered.find(name.substr(0, digits));
    if (found == scope->numbered.end() || number >= found->second.second) continue;
    Written reg;
    reg.kind = Written::Kind::reg;
    reg.index = found->second.first + number;
    return reg;
  }
  return std::nullopt;
}

Written Parser::named(std::string_view name) const {
  if (name == "_") return {};
  if (const auto known = resolved(name)) {
    Written reg = *known;
    reg.name = name;
    return reg;
  }
  Written other;
  other.kind = Written::Kind::name;
  other.name = name;
  return other;
}

Written Parser::operand() {
  if (++depth_ > 20) throw Error(token().line, "operands that are nested too deep");
  Written made = simple_operand();
  if (take("|")) {
    Written pair;
    pair.kind = Written::Kind::pair;
    pair.parts = {made, simple_operand()};
    made = pair;
  }
  --depth_;
  return made;
}

Written Parser::simple_operand() {
  if (take("!")) {
    Written made = operand();
    made.negated = true;
    return made;
  }
  if (take("{")) return parts(Written::Kind::vector, "}");
  if (take("(")) return parts(Written::Kind::list, ")");
  if (take("[")) {
    Written made;
    made.kind = Written::Kind::address;
    made.parts.push_back(operand());
    made.offset = static_cast<std::int64_t>(offset());
    while (take(",")) made.parts.push_back(operand());  // of textures
    need("]");
    return made;
  }
  if (token().kind == Token::Kind::word) {
    Written made = named(word());
    if (token().kind == Token::Kind::dotted) made.component = tokens_[here_++].text;
    if (token().is("+") || (token().is("-") && token(1).kind == Token::Kind::integer)) {
      if (inside_address()) return made;
      made.offset = static_cast<std::int64_t>(offset());
    }
    return made;
  }
  const bool minus = take("-");
  if (minus && token().kind == Token::Kind::word) {
    Written made = named(word());
    made.minus = true;
    return made;
  }
  if (token().kind != Token::Kind::integer && token().kind != Token::Kind::real) expected("an operand");
  const Token& number = tokens_[here_++];
  Written made;
  made.kind = number.kind == Token::Kind::real ? Written::Kind::real : Written::Kind::integer;
  made.bits = number.bits;
  made.single = number.single;
  if (minus && made.kind == Written::Kind::real) made.bits ^= std::uint64_t{1} << (made.single ? 31 : 63);
  if (minus && made.kind == Written::Kind::integer) made.bits = 0 - made.bits;
  return made;
}

bool Parser::inside_address() const { return here_ >= 2 && tokens_[here_ - 2].is("["); }

Written Parser::parts(Written::Kind kind, std::string_view close) {
  Written made;
  made.kind = kind;
  if (take(close)) return made;
  do made.parts.push_back(operand());
  while (take(","));
  need(close);
  return made;
}

void Parser::statement() {
  if (take(";")) return;
  if (token().is(".loc") || token().is(".file")) return rest_of_line();
  if (take(".pragma")) {
    while (!take(";")) {
      if (token().kind == Token::Kind::end) expected("';'");
      ++here_;
    }
    return;
  }
  if (take(".reg")) return registers();
  if (const Space space = space_named(token().text);
      space != Space::none && token().kind == Token::Kind::dotted) {
    ++here_;
    for (const Variable& variable : variables(space, false)) {
      if (space == Space::global || space == Space::constant)
        syntax_.variables.push_back(variable);
      else
        declare(variable);
    }
    return need(";");
  }
  if (token().kind == Token::Kind::word && token(1).is(":")) return label();
  instruction();
}

void Parser::label() {
  const std::string_view name = word();
  need(":");
  if (take(".branchtargets")) {
    do function_->targets[name].push_back(word());
    while (take(","));
    return need(";");
  }
  if (take(".callprototype") || take(".calltargets")) {
    while (!take(";")) {
      if (token().kind == Token::Kind::end) expected("';'");
      ++here_;
    }
    return;
  }
  if (!function_->labels.try_emplace({scopes_.back().id, name}, function_->statements.size()).second)
    throw Error(token().line, fmt::format("label '{}' is there twice", name));
}

void Parser::instruction() {
  Statement made;
  made.scope = scopes_.back().id;
  const char* const first = token().text.data();
  if (take("@")) {
    made.guard_negated = take("!");
    const Written guard = named(word());
    if (guard.kind != Written::Kind::reg || function_->registers[guard.index].type.kind != 'p')
      throw Error(token().line, fmt::format("found '{}', expected a predicate", guard.name));
    made.guard = guard.index;
  }
  made.line = token().line;
  made.opcode.push_back(word());
  while (token().kind == Token::Kind::dotted) made.opcode.push_back(tokens_[here_++].text.substr(1));
  depth_ = 0;
  if (!token().is(";")) {
    do made.operands.push_back(operand());
    while (take(","));
  }
  made.text = {first, static_cast<std::size_t>(token().text.data() - first)};
  need(";");
  function_->statements.push_back(std::move(made));
}

}  // namespace gangway::testing::ptx
