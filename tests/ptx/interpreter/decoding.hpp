// From written statements to instructions that can be carried out. A family of opcodes registers how its own
// are read.
#pragma once

#include <string_view>
#include <unordered_map>

#include "tests/ptx/interpreter/machine.hpp"

namespace gangway::testing::ptx {

// Not known to the interpreter: what() says which part of the instruction.
struct Unknown {
  std::string text;
};

// A statement that is being decoded. Modifiers that nobody asks for make it unknown.
class Decoding {
 public:
  struct World {  // what names stand for
    virtual ~World() = default;
    virtual Operand named(const Written&) const = 0;  // variable or function
    virtual const Register& register_at(std::uint32_t index) const = 0;
    virtual FrameVariable frame_variable(std::uint32_t index) const = 0;
    virtual std::uint32_t label(std::uint32_t scope, std::string_view name) const = 0;
    virtual const std::vector<std::string_view>& branch_targets(std::string_view name) const = 0;
    virtual const Code* callee(std::string_view name, bool& external) const = 0;
    virtual Space space(const Written&) const = 0;  // of a variable
  };

  Decoding(const Statement& statement, const World& world, Instruction& made);

  const Statement& statement;
  const World& world;
  Instruction& made;

  std::string_view opcode() const { return statement.opcode[0]; }
  bool take(std::string_view modifier);  // whether it is there, anywhere
  Type take_type();                      // the first that is left; Unknown if there is none
  bool has_type() const;
  std::string_view take_any();  // the first modifier that is left; empty if there is none
  void finish() const;          // throws Unknown if a modifier is left

  std::size_t operands() const { return statement.operands.size(); }
  const Written& written(std::size_t i) const;
  Operand operand(std::size_t i, Type type) const { return operand(written(i), type); }
  Operand operand(const Written& from, Type type) const;
  Operand predicate(std::size_t i) const;
  void all(Type type);  // all operands of one type, into made.o
  void need(std::size_t count) const;
  // Puts the base into made.o[at] and the offset into made.o[at + 1].value.
  void address(std::size_t i, std::size_t at);
  std::uint32_t register_bits(const Operand& o) const;

 private:
  std::vector<bool> used_;
};

using Decoder = void (*)(Decoding&);
using Decoders = std::unordered_map<std::string_view, Decoder>;

void add_integer(Decoders&);
void add_bits(Decoders&);
void add_real(Decoders&);
void add_compare(Decoders&);
void add_convert(Decoders&);
void add_copies(Decoders&);
void add_memory(Decoders&);
void add_moves(Decoders&);
void add_products(Decoders&);
void take_hints(Decoding& d);  // of caches, order and scope, which change nothing here
void add_atomics(Decoders&);
void add_control(Decoders&);
void add_barriers(Decoders&);
void add_warp(Decoders&);

const Decoders& decoders();

// A handler for a type, of a template that has one for each: integers of 16 to 64 bits.
template <template <class> class Made>
Handler for_integer(Type type) {
  const bool s = type.kind == 's';
  if (type.kind != 's' && type.kind != 'u' && type.kind != 'b') throw Unknown{"type"};
  switch (type.bits) {
    case 8:
      return s ? &Made<std::int8_t>::run : &Made<std::uint8_t>::run;
    case 16:
      return s ? &Made<std::int16_t>::run : &Made<std::uint16_t>::run;
    case 32:
      return s ? &Made<std::int32_t>::run : &Made<std::uint32_t>::run;
    case 64:
      return s ? &Made<std::int64_t>::run : &Made<std::uint64_t>::run;
    default:
      throw Unknown{"type"};
  }
}

// Source operand as a T; integers take the low bits, reals reinterpret them.
template <class T>
T in(const Machine& m, const Thread& t, const Operand& o) {
  const std::uint64_t bits = read(m, t, o);
  if constexpr (std::is_same_v<T, float>)
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  else if constexpr (std::is_same_v<T, double>)
    return std::bit_cast<double>(bits);
  else
    return static_cast<T>(bits);
}

// Integers are extended by their own sign to the register's width.
template <class T>
void out(Thread& t, const Operand& o, T value) {
  if constexpr (std::is_same_v<T, float>)
    write(t, o, std::bit_cast<std::uint32_t>(value == value ? value : std::bit_cast<float>(0x7fffffffu)));
  else if constexpr (std::is_same_v<T, double>)
    write(t, o, std::bit_cast<std::uint64_t>(value));
  else if constexpr (std::is_signed_v<T>)
    write(t, o, static_cast<std::uint64_t>(static_cast<std::int64_t>(value)));
  else
    write(t, o, value);
}

}  // namespace gangway::testing::ptx
