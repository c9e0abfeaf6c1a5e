// A PTX module as it is written: names are resolved to the registers and variables of their scope, nothing
// else.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/ptx/interpreter/tokens.hpp"

namespace gangway::testing::ptx {

struct Type {
  char kind = 0;  // b, u, s, f, h (bf16), t (tf32), p (predicate); 0: none
  std::uint32_t bits = 0;
  bool pair = false;  // f16x2, bf16x2
  std::uint32_t bytes() const { return bits / 8; }
  bool is_signed() const { return kind == 's'; }
  bool real() const { return kind == 'f' || kind == 'h' || kind == 't'; }
  bool operator==(const Type&) const = default;
};

// Of "u32", without a dot. Kind 0: not a type.
Type type_named(std::string_view name);

enum class Space { none, reg, global, constant, shared, local, param };

struct Written {
  enum class Kind { name, reg, variable, integer, real, vector, list, address, pair, sink };
  Kind kind = Kind::sink;
  bool negated = false;  // !p
  bool minus = false;    // -name
  std::string_view name, component;
  std::uint32_t index = 0;  // of the register or of the function's variable
  std::uint64_t bits = 0;
  bool single = false;
  std::int64_t offset = 0;  // of an address
  std::vector<Written> parts;
};

// Of ".global", with its dot; none: not a space.
Space space_named(std::string_view name);

// An initialiser's element: a number, or an address.
struct Value {
  std::string_view symbol;  // empty: a number
  std::uint64_t bits = 0;
  bool real = false, single = false, generic = false;
  std::uint64_t mask = ~std::uint64_t{0};
  std::uint32_t shift = 0;
};

struct Variable {
  std::string name;
  std::uint32_t line = 0;
  Space space = Space::none;
  Type type;
  std::uint64_t bytes = 0;
  std::uint32_t alignment = 1;
  bool external = false;  // declared elsewhere
  bool open = false;      // an array without a size
  std::vector<Value> values;
};

struct Statement {
  std::uint32_t line = 0;
  std::int64_t guard = -1;  // register
  bool guard_negated = false;
  std::uint32_t scope = 0;
  std::vector<std::string_view> opcode;  // without dots
  std::vector<Written> operands;
  std::string_view text;
};

struct Register {
  Type type;
};

struct Function {
  std::string name;
  std::uint32_t line = 0;
  bool entry = false, defined = false;
  std::vector<Variable> parameters, returns;
  std::vector<Register> registers;
  std::vector<Variable> variables;  // in .shared, .local and .param; the parameters and returns come first
  std::vector<Statement> statements;
  std::vector<std::uint32_t> parents;  // of scopes; the first is its own
  std::map<std::pair<std::uint32_t, std::string_view>, std::size_t> labels;  // by scope
  std::map<std::string_view, std::vector<std::string_view>> targets;         // .branchtargets
  std::uint32_t most_threads[3] = {0, 0, 0}, required_threads[3] = {0, 0, 0};
};

struct Syntax {
  std::vector<Variable> variables;
  std::vector<Function> functions;
};

// Views into the text. Throws Error.
Syntax parsed(std::string_view text);

}  // namespace gangway::testing::ptx
