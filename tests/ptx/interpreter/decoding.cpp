#include "tests/ptx/interpreter/decoding.hpp"

#include <fmt/format.h>

namespace gangway::testing::ptx {

Decoding::Decoding(const Statement& from, const World& names, Instruction& to)
    : statement(from), world(names), made(to), used_(from.opcode.size(), false) {
  used_[0] = true;
}

bool Decoding::take(std::string_view modifier) {
  for (std::size_t i = 1; i < used_.size(); ++i)
    if (!used_[i] && statement.opcode[i] == modifier) {
      used_[i] = true;
      return true;
    }
  return false;
}

bool Decoding::has_type() const {
  for (std::size_t i = 1; i < used_.size(); ++i)
    if (!used_[i] && type_named(statement.opcode[i]).kind != 0) return true;
  return false;
}

Type Decoding::take_type() {
  for (std::size_t i = 1; i < used_.size(); ++i)
    if (const Type type = type_named(statement.opcode[i]); !used_[i] && type.kind != 0) {
      used_[i] = true;
      return type;
    }
  throw Unknown{"no type"};
}

std::string_view Decoding::take_any() {
  for (std::size_t i = 1; i < used_.size(); ++i)
    if (!used_[i]) {
      used_[i] = true;
      return statement.opcode[i];
    }
  return {};
}

void Decoding::finish() const {
  for (std::size_t i = 0; i < used_.size(); ++i)
    if (!used_[i]) throw Unknown{fmt::format("'.{}'", statement.opcode[i])};
}

const Written& Decoding::written(std::size_t i) const {
  if (i >= statement.operands.size()) throw Unknown{"too few operands"};
  return statement.operands[i];
}

void Decoding::need(std::size_t count) const {
  if (operands() != count) throw Unknown{fmt::format("{} operands", operands())};
}

namespace {

struct Named {
  std::string_view name;
  std::uint32_t index;
};

}  // namespace

// The numbers are those of read_other().
std::uint32_t special_register(std::string_view name, std::string_view component) {
  std::uint32_t axis = 3;
  if (component == ".x") axis = 0;
  if (component == ".y") axis = 1;
  if (component == ".z") axis = 2;
  if (axis < 3) {
    if (name == "%tid") return axis;
    if (name == "%ntid") return 3 + axis;
    if (name == "%ctaid") return 6 + axis;
    if (name == "%nctaid") return 9 + axis;
    return 0xFFFF;
  }
  if (!component.empty()) return 0xFFFF;
  static constexpr Named kNames[] = {
      {"%laneid", 20},          {"%warpid", 21},         {"%nwarpid", 22},        {"%smid", 23},
      {"%nsmid", 24},           {"%clock", 25},          {"%clock_hi", 26},       {"%clock64", 27},
      {"%globaltimer", 28},     {"%globaltimer_lo", 29}, {"%globaltimer_hi", 30}, {"%dynamic_smem_size", 31},
      {"%total_smem_size", 32}, {"%lanemask_eq", 33},    {"%lanemask_le", 34},    {"%lanemask_lt", 35},
      {"%lanemask_ge", 36},     {"%lanemask_gt", 37},    {"WARP_SZ", 38},         {"%gridid", 39}};
  for (const Named& known : kNames)
    if (known.name == name) return known.index;
  return 0xFFFF;
}

Operand Decoding::operand(const Written& from, Type type) const {
  Operand made_operand;
  made_operand.negated = from.negated;
  if (from.minus) throw Unknown{"'-' before a name"};
  switch (from.kind) {
    case Written::Kind::sink:
      return made_operand;
    case Written::Kind::reg:
      if (!from.component.empty()) throw Unknown{std::string(from.component)};
      made_operand.kind = Operand::Kind::reg;
      made_operand.index = from.index;
      made_operand.value = type.kind == 'p' ? 1 : mask_of(register_bits(made_operand));
      if ((type.kind == 'p') != (world.register_at(from.index).type.kind == 'p'))
        throw Unknown{fmt::format("'{}' is of another type", from.name)};
      return made_operand;
    case Written::Kind::integer:
      made_operand.kind = Operand::Kind::immediate;
      made_operand.value = from.bits;
      if (type.kind == 'f' && type.bits == 64) made_operand.value = from.bits;
      return made_operand;
    case Written::Kind::real: {
      made_operand.kind = Operand::Kind::immediate;
      const bool narrow = type.bits == 32;
      if (from.single == narrow || (type.kind != 'f')) {
        made_operand.value = from.bits;
        if (!from.single && narrow && type.kind != 'f') throw Unknown{"a double"};
      } else if (from.single) {
        made_operand.value = std::bit_cast<std::uint64_t>(
            static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(from.bits))));
      } else {
        made_operand.value =
            std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(from.bits)));
      }
      return made_operand;
    }
    case Written::Kind::name: {
      const std::uint32_t special = special_register(from.name, from.component);
      if (special != 0xFFFF) {
        made_operand.kind = Operand::Kind::special;
        made_operand.index = special;
        return made_operand;
      }
      return world.named(from);
    }
    case Written::Kind::variable:
      return world.named(from);
    default:
      throw Unknown{"an operand of that kind"};
  }
}

Operand Decoding::predicate(std::size_t i) const { return operand(i, {'p', 8, false}); }

std::uint32_t Decoding::register_bits(const Operand& o) const {
  const Type type = world.register_at(o.index).type;
  return type.pair ? 32 : type.bits;
}

void Decoding::all(Type type) {
  if (operands() > 6) throw Unknown{"too many operands"};
  for (std::size_t i = 0; i < operands(); ++i) made.o[i] = operand(i, type);
}

void Decoding::address(std::size_t i, std::size_t at) {
  const Written& from = written(i);
  if (from.kind != Written::Kind::address || from.parts.size() != 1) throw Unknown{"no address"};
  made.o[at] = operand(from.parts[0], {'b', 64, false});
  made.o[at + 1].value = static_cast<std::uint64_t>(from.offset + from.parts[0].offset);
}

const Decoders& decoders() {
  static const Decoders all = [] {
    Decoders made;
    add_integer(made);
    add_bits(made);
    add_real(made);
    add_compare(made);
    add_convert(made);
    add_copies(made);
    add_memory(made);
    add_moves(made);
    add_products(made);
    add_atomics(made);
    add_control(made);
    add_barriers(made);
    add_warp(made);
    return made;
  }();
  return all;
}

}  // namespace gangway::testing::ptx
