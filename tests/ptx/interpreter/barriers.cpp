// Barriers of a block.
//
// What is assumed, after the PTX ISA and what GPUs do: a barrier without a number of threads is complete when
// every thread of the block has arrived or exited. One with a number counts warp by warp: a warp of which
// every thread that has not exited is there counts as 32, any other as so many as are there. A thread that
// arrives twice at a barrier that is not complete, and threads that give one barrier different numbers, are
// faults.
#include <fmt/format.h>

#include "tests/ptx/interpreter/decoding.hpp"

namespace gangway::testing::ptx {
namespace {

enum : std::uint8_t { kSync, kArrive, kPopc, kAnd, kOr };

bool complete(const Block& block, const BarrierState& barrier) {
  std::uint32_t count = 0;
  bool everybody = true;
  for (std::size_t warp = 0; warp < block.exited.size(); ++warp) {
    const std::uint32_t there = barrier.arrived[warp];
    const bool whole = (there | block.exited[warp]) == 0xFFFFFFFF;
    everybody = everybody && whole;
    if (there != 0) count += whole ? kWarp : std::popcount(there);
  }
  return barrier.expected == 0 ? everybody : count >= barrier.expected;
}

void release(Machine& m, Block& block, std::uint32_t index) {
  BarrierState& barrier = block.barriers[index];
  std::uint32_t arrived = 0;
  for (const std::uint32_t mask : barrier.arrived) arrived += std::popcount(mask);
  for (Thread& t : block.threads) {
    if (t.state != Thread::State::barrier || t.barrier != index) continue;
    const Instruction& i = *t.waits;
    if (i.mode == kPopc) write(t, i.o[0], barrier.trues);
    if (i.mode == kAnd) write(t, i.o[0], barrier.trues == arrived ? 1 : 0);
    if (i.mode == kOr) write(t, i.o[0], barrier.trues != 0 ? 1 : 0);
    t.state = Thread::State::runs;
    ++t.position;
    ++block.runnable;
  }
  (void)m;
  barrier.in_use = false;
  barrier.trues = 0;
  for (std::uint32_t& mask : barrier.arrived) mask = 0;
}

// o: d, barrier, threads, p. extra: 1 has a number of threads
Step arrive(Machine& m, Thread& t, const Instruction& i) {
  Block& block = *t.block;
  const std::uint64_t index = read(m, t, i.o[1]) & 0xFFFFFFFF;
  if (index > 15) throw Fault{fmt::format("barrier {}", index)};
  std::uint32_t expected = 0;
  if (i.extra != 0) {
    expected = in<std::uint32_t>(m, t, i.o[2]);
    if (expected == 0 || expected % kWarp != 0) throw Fault{fmt::format("a barrier of {} threads", expected)};
  }
  BarrierState& barrier = block.barriers[index];
  if (barrier.arrived.size() != block.exited.size()) barrier.arrived.assign(block.exited.size(), 0);
  if (barrier.in_use && barrier.expected != expected)
    throw Fault{fmt::format("barrier {} of {} threads and of {}", index, barrier.expected, expected)};
  const std::uint32_t bit = 1u << t.lane();
  if ((barrier.arrived[t.warp()] & bit) != 0) throw Fault{fmt::format("arrives twice at barrier {}", index)};
  barrier.in_use = true;
  barrier.expected = expected;
  barrier.arrived[t.warp()] |= bit;
  if (i.mode >= kPopc && read_predicate(m, t, i.o[3])) ++barrier.trues;
  const bool waits = i.mode != kArrive;
  if (waits) {
    t.state = Thread::State::barrier;
    t.barrier = static_cast<std::uint8_t>(index);
    t.waits = &i;
    --block.runnable;
  }
  if (complete(block, barrier)) release(m, block, static_cast<std::uint32_t>(index));
  return waits ? Step::waits : Step::next;
}

void decode_barrier(Decoding& d) {
  (void)d.take("cta");
  (void)d.take("aligned");
  if (d.take("sync")) {
    d.made.mode = kSync;
  } else if (d.take("arrive")) {
    d.made.mode = kArrive;
  } else if (d.take("red")) {
    d.made.mode = d.take("popc") ? kPopc : d.take("and") ? kAnd : kOr;
    if (d.made.mode == kOr && !d.take("or")) throw Unknown{"operation"};
  } else {
    throw Unknown{"operation"};
  }
  const Type number{'u', 32, false};
  if (d.made.mode >= kPopc) {
    const Type type = d.take_type();
    d.finish();
    d.made.o[0] = d.operand(0, d.made.mode == kPopc ? type : Type{'p', 8, false});
    d.made.o[1] = d.operand(1, number);
    const bool counted = d.operands() == 4;
    d.need(counted ? 4 : 3);
    d.made.extra = counted ? 1 : 0;
    if (counted) d.made.o[2] = d.operand(2, number);
    d.made.o[3] = d.predicate(counted ? 3 : 2);
  } else {
    d.finish();
    d.made.o[1] = d.operand(0, number);
    d.made.extra = d.operands() == 2 ? 1 : 0;
    d.need(d.made.extra != 0 ? 2 : 1);
    if (d.made.extra != 0) d.made.o[2] = d.operand(1, number);
    if (d.made.mode == kArrive && d.made.extra == 0) throw Unknown{"no number of threads"};
  }
  d.made.run = &arrive;
}

}  // namespace

void decode_warp_barrier(Decoding& d);

void check_barriers(Machine& m, Block& block) {
  for (std::uint32_t index = 0; index < 16; ++index)
    if (block.barriers[index].in_use && complete(block, block.barriers[index])) release(m, block, index);
}

void add_barriers(Decoders& all) {
  all["barrier"] = decode_barrier;
  all["bar"] = [](Decoding& d) {
    for (const std::string_view part : d.statement.opcode)
      if (part == "warp") return decode_warp_barrier(d);
    decode_barrier(d);
  };
}

}  // namespace gangway::testing::ptx
