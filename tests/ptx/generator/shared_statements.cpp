// Statements by which the threads of a block exchange values.
#include <array>

#include "tests/ptx/generator/body.hpp"

namespace gangway::testing::ptx {

// %slot is where the thread's own four bytes are, from the beginning of an array.
void Body::initialise_shared() {
  const std::string t = temporary();
  for (const char* const array : {"own", "dyn"}) {
    if (!(array[0] == 'o' ? s_.static_shared : s_.dynamic_shared)) continue;
    line("mov.u32 {}, {};", t, array);
    line("add.u32 {}, {}, %slot;", t, t);
    line("st.shared.u32 [{}], {};", t, v());
  }
  if (s_.static_shared) {
    const std::string p = predicate();
    line("setp.eq.u32 {}, %linear, 0;", p);
    line("@{} st.shared.u32 [cell], 0;", p);
  }
  line("{} 0;", dice_.one_in(2) ? "bar.sync" : "barrier.sync.aligned");
  used("bar.sync");
  ready_ = true;
}

void Body::exchange(bool dynamic) {
  const std::string base = temporary(), mine = temporary(), theirs = temporary(), got = temporary();
  used(dynamic ? "dynamic shared memory" : "static shared memory");
  used("bar.sync");
  line("mov.u32 {}, {};", base, dynamic ? "dyn" : "own");
  line("add.u32 {}, {}, %slot;", mine, base);
  line("st.shared.u32 [{}], {};", mine, v());
  line("bar.sync 0;");
  line("mad.lo.u32 {}, %linear, {}, {};", theirs, 1 + dice_.roll(5), dice_.roll(64));
  line("rem.u32 {}, {}, {};", theirs, theirs, s_.threads);
  line("mad.lo.u32 {}, {}, 4, {};", theirs, theirs, base);
  line("ld.{}shared.u32 {}, [{}];", dice_.one_in(3) ? "volatile." : "", got, theirs);
  line("bar.sync {};", dice_.one_in(2) ? 0 : dice_.roll(16));
  line("add.s32 %v{}, %v{}, {};", dice_.roll(6), dice_.roll(6), got);
}

void Body::barrier_reduction() {
  const std::string p = divergent(), t = temporary(), q = predicate();
  const std::uint32_t barrier = dice_.one_in(2) ? 0 : dice_.roll(16);
  if (dice_.one_in(2)) {
    used("bar.red.popc");
    line("bar.red.popc.u32 {}, {}, {}{};", t, barrier, dice_.one_in(3) ? "!" : "", p);
    mix(t);
  } else {
    used("bar.red of predicates");
    line("bar.red.{}.pred {}, {}, {};", dice_.one_in(2) ? "and" : "or", q, barrier, p);
    line("@{} add.u32 %v0, %v0, {};", q, 1 + dice_.roll(100));
  }
}

void Body::named_barrier() {
  const std::uint32_t count = (s_.threads + 31) / 32 * 32, barrier = dice_.between(1, 15);
  const std::string base = temporary(), theirs = temporary(), got = temporary();
  used("named barrier with a count");
  line("mov.u32 {}, own;", base);
  line("add.u32 {}, {}, %slot;", theirs, base);
  line("st.shared.u32 [{}], {};", theirs, v());
  line("bar.sync {}, {};", barrier, count);
  line("sub.u32 {}, {}, %linear;", theirs, s_.threads - 1);
  line("mad.lo.u32 {}, {}, 4, {};", theirs, theirs, base);
  line("ld.shared.u32 {}, [{}];", got, theirs);
  line("bar.sync {}, {};", barrier, count);
  line("xor.b32 %v{}, %v{}, {};", dice_.roll(6), dice_.roll(6), got);
}

// The first warp writes and goes on, the second waits for it and reads.
void Body::hand_over() {
  if (s_.threads < 64 || s_.threads % 32 != 0) return named_barrier();
  const std::string warp = temporary(), base = temporary(), at = temporary(), p = predicate(),
                    q = predicate(), got = temporary();
  const std::string reads = label(), end = label();
  const std::uint32_t barrier = dice_.between(1, 15);
  used("bar.arrive");
  line("shr.u32 {}, %linear, 5;", warp);
  line("mov.u32 {}, own;", base);
  line("mov.u32 {}, 0;", got);
  line("setp.gt.u32 {}, {}, 1;", p, warp);
  line("@{} bra {};", p, end);
  line("setp.eq.u32 {}, {}, 1;", q, warp);
  line("@{} bra {};", q, reads);
  line("add.u32 {}, {}, %slot;", at, base);
  line("st.shared.u32 [{}], {};", at, v());
  line("bar.arrive {}, 64;", barrier);
  line("bra {};", end);
  text += reads + ":\n";
  line("bar.sync {}, 64;", barrier);
  line("add.u32 {}, {}, %slot;", at, base);
  line("ld.shared.u32 {}, [{}+-128];", got, at);
  text += end + ":\n";
  line("bar.sync 0;");
  line("add.s32 %v{}, %v{}, {};", dice_.roll(6), dice_.roll(6), got);
}

void Body::shared_atomics() {
  const std::string got = temporary(), p = predicate(), old = temporary();
  used("shared atomics");
  if (dice_.one_in(2))
    line("atom.shared.add.u32 {}, [cell], {};", old, v());
  else
    line("red.shared.add.u32 [cell], {};", v());
  line("bar.sync 0;");
  line("ld.shared.u32 {}, [cell];", got);
  line("bar.sync 0;");
  mix(got);
}

// What is waited for is there; without the wait the copy may be late.
void Body::asynchronous_copy() {
  const std::string at = temporary(), from = wide(), w = wide(), got = temporary(), t = temporary();
  used("cp.async");
  line("mov.u32 {}, own;", at);
  line("add.u32 {}, {}, %slot;", at, at);
  line("and.b32 {}, {}, 63;", t, v());
  line("mul.wide.u32 {}, {}, 4;", w, t);
  line("mov.u64 {}, table;", from);
  line("add.s64 {}, {}, {};", from, from, w);
  line("cp.async.ca.shared.global [{}], [{}], 4;", at, from);
  if (dice_.one_in(2)) {
    line("cp.async.wait_all;");
  } else {
    line("cp.async.commit_group;");
    line("cp.async.wait_group 0;");
  }
  line("bar.sync 0;");
  line("ld.shared.u32 {}, [{}];", got, at);
  line("bar.sync 0;");
  mix(got);
}

void Body::warp() {
  static constexpr std::array kModes{"up", "down", "bfly", "idx"};
  static constexpr std::array kReductions{"add", "min", "max", "and", "or", "xor"};
  const std::string t = temporary(), p = predicate(), a = v();
  switch (dice_.roll(5)) {
    case 0: {
      used("shfl.sync");
      const std::uint32_t mode = dice_.roll(4);
      line("shfl.sync.{}.b32 {}|{}, {}, {}, {}, -1;", kModes[mode], t, p, a, dice_.roll(32),
           mode == 0 ? 0 : 31);
      line("@{} add.s32 {}, {}, {};", p, a, a, t);
      return;
    }
    case 1: {
      used("vote.sync");
      const std::string q = divergent();
      line("vote.sync.ballot.b32 {}, {}, 0xffffffff;", t, q);
      return mix(t);
    }
    case 2:
      used("match.sync");
      line("and.b32 {}, {}, 3;", t, a);
      line("match.any.sync.b32 {}, {}, 0xffffffff;", t, t);
      return mix(t);
    case 3: {
      used("redux.sync");
      const std::uint32_t operation = dice_.roll(6);
      line("redux.sync.{}.{} {}, {}, 0xffffffff;", kReductions[operation], operation < 3 ? "s32" : "b32", t,
           a);
      return mix(t);
    }
    default:
      used("bar.warp.sync");
      line("bar.warp.sync 0xffffffff;");
      return;
  }
}

void Body::generic() {
  const std::string w = wide(), p = predicate(), got = temporary(), t = temporary();
  used("generic address of shared memory");
  line("mov.u64 {}, own;", w);
  line("cvta.shared.u64 {}, {};", w, w);
  line("isspacep.shared {}, {};", p, w);
  line("selp.u32 {}, 7, 9, {};", t, p);
  mix(t);
  line("cvta.to.shared.u64 {}, {};", w, w);
  line("cvt.u32.u64 {}, {};", got, w);
  mix(got);
}

void Body::global_atomics() {
  if (dice_.one_in(3)) {
    const std::string w = wide();
    used("atomics on what all blocks share");
    line("cvt.u64.u32 {}, {};", w, v());
    line("red.global.add.u64 [%total], {};", w);
    return;
  }
  const std::string old = temporary();
  used("global atomics");
  if (dice_.one_in(2))
    line("atom.global.add.u32 {}, [%region+8], {};", old, v());
  else
    line("red.global.{}, {};", dice_.one_in(2) ? "xor.b32 [%region+28]" : "add.u32 [%region+12]", v());
}

}  // namespace gangway::testing::ptx
