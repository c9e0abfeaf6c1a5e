#include "tests/ptx/interpreter/syntax.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "tests/ptx/interpreter/interpreter.hpp"

namespace gangway::testing::ptx {

Type type_named(std::string_view name) {
  if (name == "pred") return {'p', 8, false};
  if (name == "f16x2") return {'f', 16, true};
  if (name == "bf16x2") return {'h', 16, true};
  if (name == "bf16") return {'h', 16, false};
  if (name == "tf32") return {'t', 32, false};
  static const std::map<std::string_view, Type> types = [] {
    std::map<std::string_view, Type> all;
    all["b8"] = {'b', 8};
    all["b16"] = {'b', 16};
    all["b32"] = {'b', 32};
    all["b64"] = {'b', 64};
    all["b128"] = {'b', 128};
    all["u8"] = {'u', 8};
    all["u16"] = {'u', 16};
    all["u32"] = {'u', 32};
    all["u64"] = {'u', 64};
    all["s8"] = {'s', 8};
    all["s16"] = {'s', 16};
    all["s32"] = {'s', 32};
    all["s64"] = {'s', 64};
    all["f16"] = {'f', 16};
    all["f32"] = {'f', 32};
    all["f64"] = {'f', 64};
    return all;
  }();
  const auto found = types.find(name);
  return found == types.end() ? Type{} : found->second;
}

namespace {

Space space_named(std::string_view name) {
  if (name == ".reg") return Space::reg;
  if (name == ".global") return Space::global;
  if (name == ".const") return Space::constant;
  if (name == ".shared") return Space::shared;
  if (name == ".local") return Space::local;
  if (name == ".param") return Space::param;
  return Space::none;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text), tokens_(tokens_of(text)) {}

  Syntax module() {
    while (token().kind != Token::Kind::end) declaration();
    return std::move(syntax_);
  }

 private:
  struct Scope {
    std::uint32_t id = 0;
    std::map<std::string_view, Written> names;
    std::map<std::string_view, std::pair<std::uint32_t, std::uint32_t>> numbered;  // first register, count
  };

  const Token& token(std::size_t ahead = 0) const {
    return tokens_[std::min(here_ + ahead, tokens_.size() - 1)];
  }
  [[noreturn]] void expected(std::string_view what) const {
    throw Error(token().line, fmt::format("found '{}', expected {}", token().text, what));
  }
  bool take(std::string_view text) {
    if (!token().is(text) || token().kind == Token::Kind::end) return false;
    ++here_;
    return true;
  }
  void need(std::string_view text) {
    if (!take(text)) expected(fmt::format("'{}'", text));
  }
  std::string_view word() {
    if (token().kind != Token::Kind::word) expected("a name");
    return tokens_[here_++].text;
  }
  std::uint64_t integer() {
    if (token().kind != Token::Kind::integer) expected("an integer");
    return tokens_[here_++].bits;
  }
  void rest_of_line() {
    const std::uint32_t line = token().line;
    while (token().kind != Token::Kind::end && token().line == line) ++here_;
  }

  void declaration() {
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

  void braces() {
    need("{");
    for (std::uint32_t depth = 1; depth > 0; ++here_) {
      if (token().kind == Token::Kind::end) expected("'}'");
      if (token().is("{")) ++depth;
      if (token().is("}")) --depth;
    }
  }

  // From behind the space: ".align 8 .b8 name[4] = {...}, name2".
  std::vector<Variable> variables(Space space, bool external) {
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
      if (variable.bytes > (std::uint64_t{1} << 32))
        throw Error(variable.line, "a variable that is too large");
      all.push_back(std::move(variable));
    } while (space != Space::param && take(","));
    return all;
  }

  void values(Variable& variable) {
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

  void address(Value& value) {
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

  std::uint64_t offset() {
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

  std::vector<Variable> parameters() {
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

  void extents(std::uint32_t (&extents)[3]) {
    for (std::uint32_t& extent : extents) extent = 1;
    extents[0] = static_cast<std::uint32_t>(integer());
    if (take(",")) extents[1] = static_cast<std::uint32_t>(integer());
    if (take(",")) extents[2] = static_cast<std::uint32_t>(integer());
  }

  void function(bool entry) {
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

  void body(Function& made) {
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

  void open_scope() {
    const auto id = static_cast<std::uint32_t>(function_->parents.size());
    function_->parents.push_back(scopes_.empty() ? 0 : scopes_.back().id);
    scopes_.push_back({id, {}, {}});
  }

  void declare(const Variable& variable) {
    Written name;
    name.kind = Written::Kind::variable;
    name.index = static_cast<std::uint32_t>(function_->variables.size());
    function_->variables.push_back(variable);
    // The text's own characters outlive the parser; a std::string in a vector does not.
    scopes_.back().names[held(variable.name, variable.line)] = name;
  }

  std::string_view held(const std::string& name, std::uint32_t line) const {
    const std::size_t at = text_.find(name);
    if (at == std::string_view::npos) throw Error(line, "a name that is not in the text");
    return text_.substr(at, name.size());
  }

  void registers() {
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

  std::optional<Written> resolved(std::string_view name) const {
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

  Written named(std::string_view name) const {
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

  Written operand() {
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

  Written simple_operand() {
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

  // Whether a word that has just been read follows a bracket: then the address has the offset.
  bool inside_address() const { return here_ >= 2 && tokens_[here_ - 2].is("["); }

  Written parts(Written::Kind kind, std::string_view close) {
    Written made;
    made.kind = kind;
    if (take(close)) return made;
    do made.parts.push_back(operand());
    while (take(","));
    need(close);
    return made;
  }

  void statement() {
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

  void label() {
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

  void instruction() {
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

  std::string_view text_;
  std::vector<Token> tokens_;
  std::size_t here_ = 0;
  Syntax syntax_;
  Function* function_ = nullptr;
  std::vector<Scope> scopes_;
  std::uint32_t depth_ = 0;
};

}  // namespace

Syntax parsed(std::string_view text) { return Parser(text).module(); }

}  // namespace gangway::testing::ptx
