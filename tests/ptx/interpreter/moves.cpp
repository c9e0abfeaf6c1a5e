// Moves, which pack and unpack vectors too.
#include "tests/ptx/interpreter/decoding.hpp"

namespace gangway::testing::ptx {
namespace {

Step move(Machine& m, Thread& t, const Instruction& i) {
  write(t, i.o[0], read(m, t, i.o[1]));
  return Step::next;
}
Step move_predicate(Machine& m, Thread& t, const Instruction& i) {
  write(t, i.o[0], read_predicate(m, t, i.o[1]) ? 1 : 0);
  return Step::next;
}
// width: of an element.
Step pack(Machine& m, Thread& t, const Instruction& i) {
  std::uint64_t result = 0;
  for (std::size_t k = 0; k < i.more.size(); ++k)
    result |= (read(m, t, i.more[k]) & mask_of(i.width * 8u)) << (8 * i.width * k);
  write(t, i.o[0], result);
  return Step::next;
}
Step unpack(Machine& m, Thread& t, const Instruction& i) {
  const std::uint64_t from = read(m, t, i.o[1]);
  for (std::size_t k = 0; k < i.more.size(); ++k)
    write(t, i.more[k], (from >> (8 * i.width * k)) & mask_of(i.width * 8u));
  return Step::next;
}

void decode_move(Decoding& d) {
  const Type type = d.take_type();
  d.finish();
  d.need(2);
  const Written &to = d.written(0), &from = d.written(1);
  if (to.kind != Written::Kind::vector && from.kind != Written::Kind::vector) {
    d.all(type);
    d.made.run = type.kind == 'p' ? &move_predicate : &move;
    return;
  }
  const bool packs = from.kind == Written::Kind::vector;
  if (packs && to.kind == Written::Kind::vector) throw Unknown{"two vectors"};
  const Written& vector = packs ? from : to;
  if (type.bits > 64 || vector.parts.empty() || type.bits % vector.parts.size() != 0) throw Unknown{"type"};
  d.made.width = static_cast<std::uint8_t>(type.bits / 8 / vector.parts.size());
  if (d.made.width == 0) throw Unknown{"type"};
  for (const Written& part : vector.parts)
    d.made.more.push_back(d.operand(part, {'b', d.made.width * 8u, false}));
  d.made.o[packs ? 0 : 1] = d.operand(packs ? to : from, type);
  d.made.run = packs ? &pack : &unpack;
}

}  // namespace

void add_moves(Decoders& all) { all["mov"] = decode_move; }

}  // namespace gangway::testing::ptx
