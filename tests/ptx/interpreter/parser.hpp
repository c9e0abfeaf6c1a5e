// Reads the text of a module, declaration by declaration.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/ptx/interpreter/syntax.hpp"

namespace gangway::testing::ptx {

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text), tokens_(tokens_of(text)) {}

  Syntax module();

 private:
  struct Scope {
    std::uint32_t id = 0;
    std::map<std::string_view, Written> names;
    std::map<std::string_view, std::pair<std::uint32_t, std::uint32_t>> numbered;  // first register, count
  };

  const Token& token(std::size_t ahead = 0) const;
  [[noreturn]] void expected(std::string_view what) const;
  bool take(std::string_view text);
  void need(std::string_view text);
  std::string_view word();
  std::uint64_t integer();
  void rest_of_line();
  void declaration();
  void braces();
  // From behind the space: ".align 8 .b8 name[4] = {...}, name2".
  std::vector<Variable> variables(Space space, bool external);
  void values(Variable& variable);
  void address(Value& value);
  std::uint64_t offset();
  std::vector<Variable> parameters();
  void extents(std::uint32_t (&extents)[3]);
  void function(bool entry);
  void body(Function& made);
  void open_scope();
  void declare(const Variable& variable);
  std::string_view held(const std::string& name, std::uint32_t line) const;
  void registers();
  std::optional<Written> resolved(std::string_view name) const;
  Written named(std::string_view name) const;
  Written operand();
  Written simple_operand();
  // Whether a word that has just been read follows a bracket: then the address has the offset.
  bool inside_address() const;
  Written parts(Written::Kind kind, std::string_view close);
  void statement();
  void label();
  void instruction();

  std::string_view text_;
  std::vector<Token> tokens_;
  std::size_t here_ = 0;
  Syntax syntax_;
  Function* function_ = nullptr;
  std::vector<Scope> scopes_;
  std::uint32_t depth_ = 0;
};

}  // namespace gangway::testing::ptx
