// What stands outside of functions, and their heads.
#include <fmt/format.h>

#include <algorithm>

#include "tests/ptx/interpreter/interpreter.hpp"
#include "tests/ptx/interpreter/parser.hpp"

namespace gangway::testing::ptx {

Syntax Parser::module() {
  while (token().kind != Token::Kind::end) declaration();
  return std::move(syntax_);
}

const Token& Parser::token(std::size_t ahead) const {
  return tokens_[std::min(here_ + ahead, tokens_.size() - 1)];
}

void Parser::expected(std::string_view what) const {
  throw Error(token().line, fmt::format("found '{}', expected {}", token().text, what));
}

bool Parser::take(std::string_view text) {
  if (!token().is(text) || token().kind == Token::Kind::end) return false;
  ++here_;
  return true;
}

void Parser::need(std::string_view text) {
  if (!take(text)) expected(fmt::format("'{}'", text));
}

std::string_view Parser::word() {
  if (token().kind != Token::Kind::word) expected("a name");
  return tokens_[here_++].text;
}

std::uint64_t Parser::integer() {
  if (token().kind != Token::Kind::integer) expected("an integer");
  return tokens_[here_++].bits;
}

void Parser::rest_of_line() {
  const std::uint32_t line = token().line;
  while (token().kind != Token::Kind::end && token().line == line) ++here_;
}

void Parser::declaration() {
  if (take(".version") || token().is(".loc") || token().is(".file") || take(".target") ||
      take(".address_size")) {
    rest_of_line();
    return;
  }
  if (take(".section")) {
    while (!token().is("{") && token().kind != Token::Kind::end) ++here_;
    braces();
    return;
  }
  if (take(".pragma")) {
    while (!take(";")) {
      if (token().kind == Token::Kind::end) expected("';'");
      ++here_;
    }
    return;
  }
  if (take("@")) {  // @@DWARF ...
    rest_of_line();
    return;
  }
  if (take(".alias")) throw Error(token().line, "'.alias' is not known to the interpreter");
  bool external = false;
  for (;;) {
    if (take(".extern"))
      external = true;
    else if (!take(".visible") && !take(".weak") && !take(".common"))
      break;
  }
  if (take(".entry")) return function(true);
  if (take(".func")) return function(false);
  if (space_named(token().text) == Space::none || token().is(".reg")) expected("a declaration");
  const Space space = space_named(tokens_[here_++].text);
  for (Variable& variable : variables(space, external)) syntax_.variables.push_back(std::move(variable));
  need(";");
}

void Parser::braces() {
  need("{");
  for (std::uint32_t depth = 1; depth > 0; ++here_) {
    if (token().kind == Token::Kind::end) expected("'}'");
    if (token().is("{")) ++depth;
    if (token().is("}")) --depth;
  }
}

std::vector<Variable> Parser::variables(Space space, bool external) {
  std::vector<Variable> all;
  Variable model;
  model.space = space;
  model.external = external;
  std::uint32_t vector = 1, alignment = 0;
  for (;;) {
    if (take(".align")) {
      alignment = static_cast<std::uint32_t>(integer());
      if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > 65536)
        expected("a power of two");
    } else if (take(".v2")) {
      vector = 2;
    } else if (take(".v4")) {
      vector = 4;
    } else if (take(".ptr")) {  // of a parameter that is a pointer: where to, and how aligned
      while (token().kind == Token::Kind::dotted) {
        const bool align = token().is(".align");
        ++here_;
        if (align) (void)integer();
      }
    } else if (take(".attribute")) {
      need("(");
      while (!take(")")) {
        if (token().kind == Token::Kind::end) expected("')'");
        ++here_;
      }
    } else if (token().kind == Token::Kind::dotted && model.type.kind == 0) {
      model.type = type_named(token().text.substr(1));
      if (model.type.kind == 0) expected("a type");
      ++here_;
    } else {
      break;
    }
  }
  if (model.type.kind == 0) expected("a type");
  const std::uint64_t element = (model.type.pair ? 4 : model.type.bytes()) * vector;
  model.alignment = alignment != 0 ? alignment : static_cast<std::uint32_t>(element);
  do {
    Variable variable = model;
    variable.line = token().line;
    if (token().kind == Token::Kind::word) variable.name = std::string(word());
    std::uint64_t count = 1;
    while (take("[")) {
      if (take("]")) {
        variable.open = true;
        continue;
      }
      count *= integer();
      need("]");
    }
    if (take("=")) {
      values(variable);
      if (variable.open) count = variable.values.size();
      variable.open = false;
    }
    variable.bytes = variable.open ? 0 : element * count;
    if (variable.bytes > (std::uint64_t{1} << 32)) throw Error(variable.line, "a variable that is too large");
    all.push_back(std::move(variable));
  } while (space != Space::param && take(","));
  return all;
}

void Parser::values(Variable& variable) {
  if (take("{")) {
    if (take("}")) return;
    do values(variable);
    while (take(","));
    need("}");
    return;
  }
  Value value;
  if (token().kind == Token::Kind::integer && token(1).is("(")) {  // 0xFF00(symbol)
    value.mask = integer();
    while (value.mask != 0 && ((value.mask >> value.shift) & 1) == 0) ++value.shift;
    need("(");
    address(value);
    need(")");
  } else if (token().kind == Token::Kind::word) {
    address(value);
  } else {
    const bool minus = take("-");
    if (token().kind != Token::Kind::integer && token().kind != Token::Kind::real) expected("a number");
    const Token& number = tokens_[here_++];
    value.bits = number.bits;
    value.real = number.kind == Token::Kind::real;
    value.single = number.single;
    if (minus && value.real) value.bits ^= std::uint64_t{1} << (value.single ? 31 : 63);
    if (minus && !value.real) value.bits = 0 - value.bits;
  }
  variable.values.push_back(value);
}

void Parser::address(Value& value) {
  value.symbol = word();
  if (value.symbol == "generic") {
    need("(");
    value.generic = true;
    value.symbol = word();
    value.bits += offset();
    need(")");
  }
  value.bits += offset();
}

std::uint64_t Parser::offset() {
  std::uint64_t sum = 0;
  for (;;) {
    if (take("+")) {
      const bool minus = take("-");
      sum += minus ? 0 - integer() : integer();
    } else if (token().is("-") && token(1).kind == Token::Kind::integer) {
      ++here_;
      sum -= integer();
    } else {
      return sum;
    }
  }
}

std::vector<Variable> Parser::parameters() {
  std::vector<Variable> all;
  need("(");
  if (take(")")) return all;
  do {
    need(".param");
    for (Variable& variable : variables(Space::param, false)) all.push_back(std::move(variable));
  } while (take(","));
  need(")");
  return all;
}

void Parser::extents(std::uint32_t (&extents)[3]) {
  for (std::uint32_t& extent : extents) extent = 1;
  extents[0] = static_cast<std::uint32_t>(integer());
  if (take(",")) extents[1] = static_cast<std::uint32_t>(integer());
  if (take(",")) extents[2] = static_cast<std::uint32_t>(integer());
}

void Parser::function(bool entry) {
  Function made;
  made.line = token().line;
  made.entry = entry;
  if (!entry && token().is("(")) made.returns = parameters();
  made.name = std::string(word());
  if (token().is("(")) made.parameters = parameters();
  for (;;) {
    if (take(".maxntid")) {
      extents(made.most_threads);
    } else if (take(".reqntid")) {
      extents(made.required_threads);
    } else if (take(".minnctapersm") || take(".maxnctapersm") || take(".maxnreg")) {
      (void)integer();
    } else if (take(".noreturn")) {
    } else if (take(".pragma")) {
      ++here_;
      take(";");
    } else {
      break;
    }
  }
  if (token().is("{")) {
    body(made);
    made.defined = true;
  } else {
    need(";");
  }
  const auto same = std::find_if(syntax_.functions.begin(), syntax_.functions.end(),
                                 [&](const Function& other) { return other.name == made.name; });
  if (same == syntax_.functions.end()) {
    syntax_.functions.push_back(std::move(made));
  } else if (made.defined) {
    if (same->defined) throw Error(made.line, fmt::format("'{}' is defined twice", made.name));
    *same = std::move(made);
  }
}

}  // namespace gangway::testing::ptx
