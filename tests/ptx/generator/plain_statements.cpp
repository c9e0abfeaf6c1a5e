// Statements that a thread carries out by itself.
#include <array>

#include "tests/ptx/generator/body.hpp"

namespace gangway::testing::ptx {

void Body::arithmetic() {
  const std::string a = v(), b = v(), c = v();
  switch (dice_.roll(18)) {
    case 0:
      return line("add.s32 {}, {}, {};", a, b, c);
    case 1:
      return line("sub.s32 {}, {}, {};", a, b, c);
    case 2:
      return line("mul.lo.s32 {}, {}, {};", a, b, c);
    case 3:
      return line("mul.hi.u32 {}, {}, {};", a, b, c);
    case 4:
      return line("mad.lo.s32 {}, {}, {}, {};", a, b, 3 + dice_.roll(100), c);
    case 5:
      return line("xor.b32 {}, {}, {};", a, b, c);
    case 6:
      return line("shf.l.wrap.b32 {}, {}, {}, {};", a, b, c, dice_.roll(32));
    case 7:
      return line("shr.{} {}, {}, {};", dice_.one_in(2) ? "s32" : "u32", a, b, dice_.roll(32));
    case 8:
      return line("prmt.b32 {}, {}, {}, {:#x};", a, b, c, dice_.roll(0x10000));
    case 9:
      return line("lop3.b32 {}, {}, {}, {}, {:#x};", a, b, c, v(), dice_.roll(256));
    case 10:
      return line("bfe.{} {}, {}, {}, {};", dice_.one_in(2) ? "s32" : "u32", a, b, dice_.roll(32),
                  dice_.roll(33));
    case 11:
      return line("bfi.b32 {}, {}, {}, {}, {};", a, b, c, dice_.roll(32), dice_.roll(33));
    case 12:
      return line("{}.b32 {}, {};", dice_.one_in(2) ? "popc" : "clz", a, b);
    case 13:
      return line("brev.b32 {}, {};", a, b);
    case 14:
      return line("{}.{} {}, {}, {};", dice_.one_in(2) ? "min" : "max", dice_.one_in(2) ? "s32" : "u32", a, b,
                  c);
    case 15:
      return line("dp4a.{}.{} {}, {}, {}, {};", dice_.one_in(2) ? "s32" : "u32",
                  dice_.one_in(2) ? "s32" : "u32", a, b, c, v());
    case 16:
      return line("div.u32 {}, {}, {};", a, b, 3 + dice_.roll(20));
    default: {
      const std::string p = divergent();
      return line("selp.b32 {}, {}, {}, {};", a, b, c, p);
    }
  }
}

void Body::wide_arithmetic() {
  const std::string w = wide(), a = v(), b = v(), t = temporary();
  switch (dice_.roll(4)) {
    case 0:
      used("carry");
      line("add.cc.u32 {}, {}, {};", a, a, b);
      line("addc.u32 {}, {}, 0;", b, b);
      return;
    case 1:
      line("mul.wide.{} {}, {}, {};", dice_.one_in(2) ? "s32" : "u32", w, a, b);
      line("add.s64 %acc, %acc, {};", w);
      return;
    case 2:
      used("pack and unpack");
      line("mov.b64 {}, {{{}, {}}};", w, a, b);
      line("shr.u64 {}, {}, {};", w, w, dice_.roll(40));
      line("mov.b64 {{{}, {}}}, {};", t, b, w);
      return;
    default:
      line("cvt.s64.s{} {}, {};", dice_.one_in(2) ? 8 : 32, w, a);
      line("xor.b64 %acc, %acc, {};", w);
      return;
  }
}

void Body::real_arithmetic() {
  const std::string a = v(), b = v();
  used("reals");
  switch (dice_.roll(4)) {
    case 0:
      line("cvt.rn.f32.u32 %f0, {};", a);
      line("fma.r{}.f32 %f1, %f0, 0f3FC00000, %f1;", "nzmp"[dice_.roll(4)]);
      line("mov.b32 {}, %f1;", b);
      return;
    case 1:
      line("cvt.rn.f64.s32 %fd0, {};", a);
      line("cvt.rn.f64.s32 %fd1, {};", b);
      line("div.rn.f64 %fd2, %fd0, %fd1;");
      line("cvt.rzi.s32.f64 {}, %fd2;", b);
      return;
    case 2:
      line("cvt.rn.f16.s32 %h0, {};", a);
      line("mul.f16 %h1, %h0, %h0;");
      line("cvt.u32.u16 {}, %h1;", b);
      return;
    default:
      line("cvt.rn.f32.s32 %f0, {};", a);
      line("abs.f32 %f0, %f0;");
      line("{}.approx.f32 %f0, %f0;", dice_.one_in(2) ? "sqrt" : "lg2");
      line("min.f32 %f0, %f0, 0f49742400;");
      line("cvt.rni.s32.f32 {}, %f0;", b);
      return;
  }
}

void Body::special() {
  static constexpr std::array kGrid{"%ctaid.x",  "%ctaid.y",  "%ctaid.z",
                                    "%nctaid.x", "%nctaid.y", "%nctaid.z"};
  static constexpr std::array kBlock{"%tid.x",  "%tid.y",  "%tid.z",  "%ntid.x",
                                     "%ntid.y", "%ntid.z", "%laneid", "%lanemask_lt"};
  const std::string t = temporary(), a = v();
  if (dice_.one_in(5)) {
    used("%dynamic_smem_size");
    line("mov.u32 {}, %dynamic_smem_size;", t);
  } else if (dice_.one_in(4) || !s_.asks) {
    line("mov.u32 {}, {};", t, kBlock[dice_.roll(kBlock.size())]);
  } else {
    const char* const name = kGrid[dice_.roll(6)];
    used(s_.entry ? name : fmt::format("{} in a function", name));
    line("mov.{} {}, {};", dice_.one_in(2) ? "u32" : "b32", t, name);
  }
  line("mad.lo.u32 {}, {}, {}, {};", a, t, 5 + dice_.roll(1000), a);
}

void Body::vector_load() {
  const std::string w = wide(), at = wide(), t = temporary(), a = temporary(), b = temporary(),
                    c = temporary(), d = temporary();
  const bool constant = dice_.one_in(3), four = dice_.one_in(2);
  used(constant ? "constant memory" : "vector load");
  line("and.b32 {}, {}, {};", t, v(), four ? 15 : 31);
  line("mul.wide.u32 {}, {}, {};", at, t, four ? 16 : 8);
  line("mov.u64 {}, {};", w, constant ? "constants" : "table");
  if (!constant && dice_.one_in(2))
    line("cvta.global.u64 {}, {};", w, w), line("cvta.to.global.u64 {}, {};", w, w);
  line("add.s64 {}, {}, {};", w, w, at);
  const char* const space = constant ? "const" : dice_.one_in(2) ? "global.nc" : "global";
  if (four)
    line("ld.{}.v4.u32 {{{}, {}, {}, {}}}, [{}];", space, a, b, c, d, w);
  else
    line("ld.{}.v2.u32 {{{}, {}}}, [{}];", space, a, b, w);
  mix(a);
  line("add.s32 %v{}, %v{}, {};", dice_.roll(6), dice_.roll(6), four && dice_.one_in(2) ? d : b);
}

void Body::local_memory() {
  const std::string w = wide(), base = wide(), t = temporary(), r = temporary();
  used("local memory");
  line("and.b32 {}, {}, 15;", t, v());
  line("mul.wide.u32 {}, {}, 4;", w, t);
  line("mov.u64 {}, depot;", base);
  const bool generic = dice_.one_in(2);
  if (generic) line("cvta.local.u64 {}, {};", base, base);
  line("add.s64 {}, {}, {};", w, base, w);
  const char* const space = generic ? "" : ".local";
  line("st{}.u32 [{}], {};", space, w, v());
  line("ld{}.u32 {}, [{}];", space, r, w);
  mix(r);
}

void Body::predicated() {
  const std::string p = divergent(), a = v();
  used("predicated");
  line("@{} add.s32 {}, {}, {};", p, a, v(), dice_.roll(99));
  line("@!{} xor.b32 {}, {}, {};", p, a, v(), v());
  if (dice_.one_in(3)) {
    const std::string q = predicate(), r = predicate(), s = predicate();
    line("setp.gt.and.s32 {}|{}, {}, {}, {};", q, r, v(), v(), p);
    line("or.pred {}, {}, {};", s, q, r);
    line("@{} not.b32 {}, {};", s, a, a);
  }
}

// Where a variable of the module is, which has to be the same in every form.
void Body::shared_address() {
  const std::string t = temporary();
  used(s_.entry ? "shared memory of the module" : "shared memory of the module in a function");
  line("mov.u32 {}, of_module;", t);
  mix(t);
}

// A scope whose registers and labels have names that are there outside, too.
void Body::scope() {
  used("scope");
  const std::string a = v();
  text += "{\n";
  line(".reg .b32 %hidden;");
  line(".reg .pred %odd;");
  line("mul.lo.u32 %hidden, {}, {};", a, 3 + dice_.roll(9));
  line("setp.lt.u32 %odd, %hidden, {};", dice_.bits() & 0xFFFFFFFF);
  line("@%odd bra INSIDE;");
  line("add.u32 {}, {}, %hidden;", a, a);
  text += "INSIDE:\n}\n";
}

}  // namespace gangway::testing::ptx
