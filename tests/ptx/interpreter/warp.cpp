// What the threads of a warp do together. Threads that have exited are not waited for.
#include <fmt/format.h>

#include "tests/ptx/interpreter/decoding.hpp"

namespace gangway::testing::ptx {
namespace {

enum : std::uint8_t { kUp, kDown, kBfly, kIdx };            // shfl
enum : std::uint8_t { kAll, kAny, kUni, kBallot };          // vote
enum : std::uint8_t { kAdd, kMin, kMax, kAnd, kOr, kXor };  // redux

using Group = std::vector<Thread*>;  // by lane; null: not in it
using Together = void (*)(Machine&, Group&, const Instruction&);

void shuffle(Machine& m, Group& group, const Instruction&) {
  std::uint64_t values[kWarp] = {};
  for (std::uint32_t lane = 0; lane < kWarp; ++lane)
    if (group[lane] != nullptr) values[lane] = read(m, *group[lane], group[lane]->waits->o[2]);
  struct Result {
    std::uint64_t value;
    bool inside;
  } results[kWarp] = {};
  for (std::uint32_t lane = 0; lane < kWarp; ++lane) {
    if (group[lane] == nullptr) continue;
    const Thread& t = *group[lane];
    const Instruction& i = *t.waits;
    const auto b = static_cast<std::int32_t>(read(m, t, i.o[3]) & 31);
    const std::uint64_t c = read(m, t, i.o[4]);
    const auto clamp = static_cast<std::int32_t>(c & 31), segment = static_cast<std::int32_t>((c >> 8) & 31);
    const auto self = static_cast<std::int32_t>(lane);
    const std::int32_t most = (self & segment) | (clamp & ~segment), least = self & segment;
    std::int32_t from = 0;
    bool inside = false;
    switch (i.mode) {
      case kUp:
        from = self - b;
        inside = from >= most;
        break;
      case kDown:
        from = self + b;
        inside = from <= most;
        break;
      case kBfly:
        from = self ^ b;
        inside = from <= most;
        break;
      default:
        from = least | (b & ~segment);
        inside = from <= most;
        break;
    }
    if (!inside) from = self;
    results[lane] = {values[from & 31], inside};
    if (group[from & 31] == nullptr) results[lane].value = mixed(m.launch->schedule.seed);  // undefined
  }
  for (std::uint32_t lane = 0; lane < kWarp; ++lane) {
    if (group[lane] == nullptr) continue;
    write(*group[lane], group[lane]->waits->o[0], results[lane].value);
    write(*group[lane], group[lane]->waits->o[1], results[lane].inside ? 1 : 0);
  }
}

void vote(Machine& m, Group& group, const Instruction& i) {
  std::uint32_t ballot = 0, everybody = 0;
  for (std::uint32_t lane = 0; lane < kWarp; ++lane) {
    if (group[lane] == nullptr) continue;
    everybody |= 1u << lane;
    if (read_predicate(m, *group[lane], group[lane]->waits->o[2])) ballot |= 1u << lane;
  }
  for (Thread* t : group) {
    if (t == nullptr) continue;
    std::uint64_t value = ballot;
    if (i.mode == kAll) value = ballot == everybody ? 1 : 0;
    if (i.mode == kAny) value = ballot != 0 ? 1 : 0;
    if (i.mode == kUni) value = ballot == everybody || ballot == 0 ? 1 : 0;
    write(*t, t->waits->o[0], value);
  }
}

// mode: 1 all
void match(Machine& m, Group& group, const Instruction& i) {
  std::uint32_t masks[kWarp] = {}, everybody = 0;
  for (std::uint32_t lane = 0; lane < kWarp; ++lane) {
    if (group[lane] == nullptr) continue;
    everybody |= 1u << lane;
    for (std::uint32_t other = 0; other < kWarp; ++other)
      if (group[other] != nullptr && ((read(m, *group[lane], group[lane]->waits->o[2]) ^
                                       read(m, *group[other], group[other]->waits->o[2])) &
                                      mask_of(i.width * 8u)) == 0)
        masks[lane] |= 1u << other;
  }
  for (std::uint32_t lane = 0; lane < kWarp; ++lane) {
    if (group[lane] == nullptr) continue;
    const bool same = masks[lane] == everybody;
    write(*group[lane], group[lane]->waits->o[0], i.mode != 0 ? (same ? everybody : 0) : masks[lane]);
    write(*group[lane], group[lane]->waits->o[1], same ? 1 : 0);
  }
}

// extra: 1 signed
void reduce(Machine& m, Group& group, const Instruction& i) {
  bool first = true;
  std::uint32_t value = 0;
  for (Thread* t : group) {
    if (t == nullptr) continue;
    const auto one = in<std::uint32_t>(m, *t, t->waits->o[2]);
    const auto less = [&] {
      return i.extra != 0 ? static_cast<std::int32_t>(one) < static_cast<std::int32_t>(value) : one < value;
    };
    if (first)
      value = one;
    else if (i.mode == kAdd)
      value += one;
    else if (i.mode == kMin)
      value = less() ? one : value;
    else if (i.mode == kMax)
      value = less() ? value : one;
    else if (i.mode == kAnd)
      value &= one;
    else if (i.mode == kOr)
      value |= one;
    else
      value ^= one;
    first = false;
  }
  for (Thread* t : group)
    if (t != nullptr) write(*t, t->waits->o[0], value);
}

void meet(Machine&, Group&, const Instruction&) {}

// o[5]: the mask; extra of the group's handler comes from the run pointer.
template <Together together>
Step wait_for_warp(Machine& m, Thread& t, const Instruction& i) {
  const auto mask = in<std::uint32_t>(m, t, i.o[5]);
  if ((mask >> t.lane() & 1) == 0) throw Fault{fmt::format("is not in its mask {:#x}", mask)};
  t.mask = mask;
  t.waits = &i;
  t.state = Thread::State::warp;
  --t.block->runnable;
  check_warp(m, *t.block, t.warp());
  return Step::waits;
}

Together together_of(Handler run) {
  if (run == &wait_for_warp<&shuffle>) return &shuffle;
  if (run == &wait_for_warp<&vote>) return &vote;
  if (run == &wait_for_warp<&match>) return &match;
  if (run == &wait_for_warp<&reduce>) return &reduce;
  return &meet;
}

// The threads of the warp that are at this very instruction get the same answer.
Step active_mask(Machine&, Thread& t, const Instruction& i) {
  Block& block = *t.block;
  const std::uint32_t first = t.warp() * kWarp;
  const auto end = std::min<std::uint32_t>(first + kWarp, static_cast<std::uint32_t>(block.threads.size()));
  const auto with = [&](const Thread& other) {
    return other.state == Thread::State::runs && other.code == t.code && other.position == t.position &&
           other.frames.size() == t.frames.size() &&
           (i.guard < 0 || ((other.r[i.guard] & 1) != 0) != i.guard_negated);
  };
  std::uint32_t mask = 0;
  for (std::uint32_t k = first; k < end; ++k)
    if (with(block.threads[k])) mask |= 1u << (k - first);
  for (std::uint32_t k = first; k < end; ++k) {
    Thread& other = block.threads[k];
    if (&other == &t || (mask >> (k - first) & 1) == 0) continue;
    write(other, i.o[0], mask);
    ++other.position;
  }
  write(t, i.o[0], mask);
  return Step::next;
}

Operand first_of(Decoding& d, std::size_t at, Type type, Type second) {
  const Written& to = d.written(at);
  if (to.kind != Written::Kind::pair) return d.operand(to, type);
  d.made.o[1] = d.operand(to.parts[1], second);
  return d.operand(to.parts[0], type);
}

constexpr Type kWord{'b', 32, false}, kPredicate{'p', 8, false};

}  // namespace

void check_warp(Machine& m, Block& block, std::uint32_t warp) {
  const std::uint32_t first = warp * kWarp;
  const auto end = std::min<std::uint32_t>(first + kWarp, static_cast<std::uint32_t>(block.threads.size()));
  for (std::uint32_t k = first; k < end; ++k) {
    const Thread& t = block.threads[k];
    if (t.state != Thread::State::warp) continue;
    const std::uint32_t wanted = t.mask & ~block.exited[warp];
    Group group(kWarp, nullptr);
    bool all = true;
    for (std::uint32_t lane = 0; lane < kWarp && all; ++lane) {
      if ((wanted >> lane & 1) == 0) continue;
      Thread& other = block.threads[first + lane];
      all = other.state == Thread::State::warp && other.mask == t.mask && other.waits->run == t.waits->run &&
            other.waits->mode == t.waits->mode;
      group[lane] = &other;
    }
    if (!all) continue;
    together_of(t.waits->run)(m, group, *t.waits);
    for (Thread* other : group) {
      if (other == nullptr) continue;
      other->state = Thread::State::runs;
      ++other->position;
      ++block.runnable;
    }
  }
}

void decode_warp_barrier(Decoding& d) {
  (void)d.take("warp");
  (void)d.take("sync");
  d.finish();
  d.need(1);
  d.made.o[5] = d.operand(0, kWord);
  d.made.run = &wait_for_warp<&meet>;
}

void add_warp(Decoders& all) {
  all["shfl"] = [](Decoding& d) {
    if (!d.take("sync")) throw Unknown{"no .sync"};
    d.made.mode = d.take("up") ? kUp : d.take("down") ? kDown : d.take("bfly") ? kBfly : kIdx;
    if (d.made.mode == kIdx && !d.take("idx")) throw Unknown{"mode"};
    (void)d.take_type();
    d.finish();
    d.need(5);
    d.made.o[0] = first_of(d, 0, kWord, kPredicate);
    for (std::size_t k = 1; k < 4; ++k) d.made.o[k + 1] = d.operand(k, kWord);
    d.made.o[5] = d.operand(4, kWord);
    d.made.run = &wait_for_warp<&shuffle>;
  };
  all["vote"] = [](Decoding& d) {
    if (!d.take("sync")) throw Unknown{"no .sync"};
    d.made.mode = d.take("all") ? kAll : d.take("any") ? kAny : d.take("uni") ? kUni : kBallot;
    if (d.made.mode == kBallot && !d.take("ballot")) throw Unknown{"mode"};
    (void)d.take_type();
    d.finish();
    d.need(3);
    d.made.o[0] = d.operand(0, d.made.mode == kBallot ? kWord : kPredicate);
    d.made.o[2] = d.predicate(1);
    d.made.o[5] = d.operand(2, kWord);
    d.made.run = &wait_for_warp<&vote>;
  };
  all["match"] = [](Decoding& d) {
    d.made.mode = d.take("all") ? 1 : 0;
    if (d.made.mode == 0 && !d.take("any")) throw Unknown{"mode"};
    if (!d.take("sync")) throw Unknown{"no .sync"};
    const Type type = d.take_type();
    d.finish();
    d.need(3);
    d.made.width = static_cast<std::uint8_t>(type.bytes());
    d.made.o[0] = first_of(d, 0, kWord, kPredicate);
    d.made.o[2] = d.operand(1, type);
    d.made.o[5] = d.operand(2, kWord);
    d.made.run = &wait_for_warp<&match>;
  };
  all["redux"] = [](Decoding& d) {
    if (!d.take("sync")) throw Unknown{"no .sync"};
    static constexpr std::string_view kOperations[] = {"add", "min", "max", "and", "or", "xor"};
    d.made.mode = 255;
    for (std::uint8_t operation = 0; operation < 6; ++operation)
      if (d.take(kOperations[operation])) d.made.mode = operation;
    if (d.made.mode == 255) throw Unknown{"operation"};
    const Type type = d.take_type();
    if (type.bits != 32 || type.real()) throw Unknown{"type"};
    d.made.extra = type.is_signed() ? 1 : 0;
    d.finish();
    d.need(3);
    d.made.o[0] = d.operand(0, kWord);
    d.made.o[2] = d.operand(1, kWord);
    d.made.o[5] = d.operand(2, kWord);
    d.made.run = &wait_for_warp<&reduce>;
  };
  all["activemask"] = [](Decoding& d) {
    (void)d.take_type();
    d.finish();
    d.need(1);
    d.made.o[0] = d.operand(0, kWord);
    d.made.run = &active_mask;
  };
}

}  // namespace gangway::testing::ptx
