// The interpreter on instructions and small kernels whose results are worked out by hand, after the PTX ISA.
#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "tests/catch.hpp"
#include "tests/ptx/interpreter/interpreter.hpp"

using namespace gangway::testing::ptx;

namespace {

constexpr std::string_view kHead = ".version 8.0\n.target sm_80\n.address_size 64\n";

std::string kernel(std::string_view body, std::string_view before = "") {
  return fmt::format(
      "{}{}\n.visible .entry k(.param .u64 out)\n{{\n.reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<20>; "
      ".reg .b64 %d<20>;\n"
      ".reg .f32 %f<9>; .reg .f64 %e<9>;\nld.param.u64 %d0, [out];\nmov.u32 %r0, %tid.x;\nmad.wide.u32 %d0, "
      "%r0, 8, %d0;\n{}\nret;\n}}\n",
      kHead, before, body);
}

struct Ran {
  Outcome outcome;
  std::vector<std::uint64_t> words;
};

// One block; each thread has 8 bytes for its result at %d0.
Ran run(const std::string& text, std::uint32_t threads = 1, Schedule schedule = {},
        std::uint32_t dynamic = 0) {
  Module module(text);
  Ran ran;
  ran.words.assign(threads, 0);
  const std::uint64_t out = reinterpret_cast<std::uint64_t>(ran.words.data());
  Launch launch;
  launch.block.x = threads;
  launch.parameters = std::as_bytes(std::span(&out, 1));
  launch.schedule = schedule;
  launch.dynamic_shared_bytes = dynamic;
  launch.allowed = {{ran.words.data(), 8 * ran.words.size()}};
  launch.budget = 1'000'000;
  ran.outcome = module.launch("k", launch);
  return ran;
}

struct Expected {
  const char* body;  // leaves its result in %d1
  std::uint64_t result;
};

void check(const std::vector<Expected>& all) {
  for (const Expected& one : all) {
    INFO(one.body);
    const Ran ran = run(kernel(fmt::format("{}\nst.global.u64 [%d0], %d1;", one.body)));
    CHECK(ran.outcome.message == "");
    CHECK(fmt::format("{:#x}", ran.words[0]) == fmt::format("{:#x}", one.result));
  }
}

std::string message(const std::string& body, std::uint32_t threads = 1, std::string_view before = "") {
  return run(kernel(body, before), threads).outcome.message;
}

}  // namespace

TEST_CASE("PTX: integers") {
  check({{"add.u32 %r1, 0xffffffff, 2; cvt.u64.u32 %d1, %r1;", 1},
         {"sub.s32 %r1, 3, 5; cvt.s64.s32 %d1, %r1;", std::uint64_t(-2)},
         {"mul.lo.s32 %r1, -3, 5; cvt.u64.u32 %d1, %r1;", 0xfffffff1},
         {"mul.hi.s32 %r1, -3, 5; cvt.u64.u32 %d1, %r1;", 0xffffffff},
         {"mul.hi.u32 %r1, 0x80000000, 6; cvt.u64.u32 %d1, %r1;", 3},
         {"mul.hi.u64 %d1, 0x8000000000000000, 6;", 3},
         {"mul.hi.s64 %d1, -1, 1;", ~std::uint64_t{0}},
         {"mul.wide.s32 %d1, -3, 5;", std::uint64_t(-15)},
         {"mul.wide.u16 %r1, 65535, 65535; cvt.u64.u32 %d1, %r1;", 65535ull * 65535},
         {"mad.lo.s32 %r1, 7, 8, 9; cvt.u64.u32 %d1, %r1;", 65},
         {"mad.wide.u32 %d1, 0xffffffff, 2, 3;", 0x200000001},
         {"mul24.lo.s32 %r1, 0xffffff, 2; cvt.s64.s32 %d1, %r1;", std::uint64_t(-2)},
         {"mad24.hi.u32 %r1, 0xffffff, 0xffffff, 1; cvt.u64.u32 %d1, %r1;", 0xfffffe01},
         {"div.s32 %r1, -7, 2; cvt.s64.s32 %d1, %r1;", std::uint64_t(-3)},
         {"rem.s32 %r1, -7, 2; cvt.s64.s32 %d1, %r1;", std::uint64_t(-1)},
         {"div.u64 %d1, 100, 7;", 14},
         {"sad.s32 %r1, -3, 4, 10; cvt.u64.u32 %d1, %r1;", 17},
         {"min.s32 %r1, -3, 4; cvt.s64.s32 %d1, %r1;", std::uint64_t(-3)},
         {"max.u32 %r1, -3, 4; cvt.u64.u32 %d1, %r1;", 0xfffffffd},
         {"abs.s32 %r1, -5; cvt.u64.u32 %d1, %r1;", 5},
         {"neg.s64 %d1, 5;", std::uint64_t(-5)},
         {"add.sat.s32 %r1, 0x7fffffff, 1; cvt.u64.u32 %d1, %r1;", 0x7fffffff},
         {"add.cc.u32 %r1, 0xffffffff, 1; addc.u32 %r2, 5, 0; cvt.u64.u32 %d1, %r2;", 6},
         {"sub.cc.u32 %r1, 1, 2; subc.u32 %r2, 5, 0; cvt.u64.u32 %d1, %r2;", 4},
         {"mad.lo.cc.u32 %r1, 0xffffffff, 2, 3; madc.hi.u32 %r2, 0xffffffff, 2, 0; cvt.u64.u32 %d1, %r2;", 2},
         {"add.cc.u64 %d2, -1, 1; addc.u64 %d1, 7, 0;", 8},
         {"dp4a.s32.u32 %r1, 0xff010203, 0x02010101, 10; cvt.s64.s32 %d1, %r1;", 14},
         {"dp2a.lo.u32.u32 %r1, 0x00020003, 0x05040302, 1; cvt.u64.u32 %d1, %r1;", 13}});
}

TEST_CASE("PTX: bits") {
  check({{"shl.b32 %r1, 1, 31; cvt.u64.u32 %d1, %r1;", 0x80000000},
         {"shl.b32 %r1, 1, 32; cvt.u64.u32 %d1, %r1;", 0},
         {"shr.s32 %r1, -8, 40; cvt.u64.u32 %d1, %r1;", 0xffffffff},
         {"shr.u64 %d1, -1, 60;", 15},
         {"shf.l.wrap.b32 %r1, 0x80000000, 1, 33; cvt.u64.u32 %d1, %r1;", 3},
         {"shf.r.clamp.b32 %r1, 0x80000000, 5, 40; cvt.u64.u32 %d1, %r1;", 5},
         {"popc.b64 %r1, 0xff00ff; cvt.u64.u32 %d1, %r1;", 16},
         {"clz.b32 %r1, 1; cvt.u64.u32 %d1, %r1;", 31},
         {"clz.b64 %r1, 0; cvt.u64.u32 %d1, %r1;", 64},
         {"brev.b32 %r1, 1; cvt.u64.u32 %d1, %r1;", 0x80000000},
         {"bfind.u32 %r1, 0x10; cvt.u64.u32 %d1, %r1;", 4},
         {"bfind.s32 %r1, -1; cvt.u64.u32 %d1, %r1;", 0xffffffff},
         {"bfind.shiftamt.u32 %r1, 0x10; cvt.u64.u32 %d1, %r1;", 27},
         {"fns.b32 %r1, 0xaaaaaaaa, 3, 2; cvt.u64.u32 %d1, %r1;", 5},
         {"fns.b32 %r1, 0xaaaaaaaa, 3, -2; cvt.u64.u32 %d1, %r1;", 1},
         {"bfe.u32 %r1, 0x12345678, 8, 8; cvt.u64.u32 %d1, %r1;", 0x56},
         {"bfe.s32 %r1, 0x0000f000, 12, 4; cvt.u64.u32 %d1, %r1;", 0xffffffff},
         {"bfe.s32 %r1, 0x80000000, 24, 16; cvt.u64.u32 %d1, %r1;", 0xffffff80},
         {"bfi.b32 %r1, 0xff, 0x12345678, 4, 8; cvt.u64.u32 %d1, %r1;", 0x12345ff8},
         {"bmsk.clamp.b32 %r1, 4, 8; cvt.u64.u32 %d1, %r1;", 0xff0},
         {"lop3.b32 %r1, 0xf0, 0xcc, 0xaa, 0xe8; and.b32 %r1, %r1, 0xff; cvt.u64.u32 %d1, %r1;", 0xe8},
         {"prmt.b32 %r1, 0x33221100, 0x77665544, 0x7531; cvt.u64.u32 %d1, %r1;", 0x77553311},
         {"prmt.b32 %r1, 0x80, 0, 0x8888; cvt.u64.u32 %d1, %r1;", 0xffffffff},
         {"prmt.b32.f4e %r1, 0x33221100, 0x77665544, 1; cvt.u64.u32 %d1, %r1;", 0x44332211},
         {"mov.b64 %d1, {1, 2};", 0x200000001},
         {"mov.b32 %r1, 0x12345678; mov.b32 {%h1, %h2}, %r1; cvt.u64.u16 %d1, %h2;", 0x1234},
         {"cnot.b32 %r1, 0; cvt.u64.u32 %d1, %r1;", 1}});
}

TEST_CASE("PTX: reals and conversions") {
  check({{"add.rm.f32 %f1, 0f3f800000, 0f33000000; mov.b32 %r1, %f1; cvt.u64.u32 %d1, %r1;", 0x3f800000},
         {"add.rp.f32 %f1, 0f3f800000, 0f33000000; mov.b32 %r1, %f1; cvt.u64.u32 %d1, %r1;", 0x3f800001},
         {"fma.rn.f64 %e1, 0d3ff8000000000000, 0d4000000000000000, 0d3ff0000000000000; mov.b64 %d1, %e1;",
          0x4010000000000000},
         {"mul.ftz.f32 %f1, 0f00800000, 0f3f000000; mov.b32 %r1, %f1; cvt.u64.u32 %d1, %r1;", 0},
         {"mul.f32 %f1, 0f00800000, 0f3f000000; mov.b32 %r1, %f1; cvt.u64.u32 %d1, %r1;", 0x00400000},
         {"add.sat.f32 %f1, 0f3f800000, 0f3f800000; mov.b32 %r1, %f1; cvt.u64.u32 %d1, %r1;", 0x3f800000},
         {"neg.f32 %f1, 0f00000000; mov.b32 %r1, %f1; cvt.u64.u32 %d1, %r1;", 0x80000000},
         {"min.f32 %f1, 0f7fc00000, 0f3f800000; mov.b32 %r1, %f1; cvt.u64.u32 %d1, %r1;", 0x3f800000},
         {"min.NaN.f32 %f1, 0f7fc00000, 0f3f800000; mov.b32 %r1, %f1; cvt.u64.u32 %d1, %r1;", 0x7fffffff},
         {"copysign.f32 %f1, 0f80000000, 0f3f800000; mov.b32 %r1, %f1; cvt.u64.u32 %d1, %r1;", 0xbf800000},
         {"sqrt.rn.f32 %f1, 0f40800000; mov.b32 %r1, %f1; cvt.u64.u32 %d1, %r1;", 0x40000000},
         {"testp.infinite.f32 %p1, 0f7f800000; selp.u64 %d1, 1, 2, %p1;", 1},
         {"cvt.rzi.s32.f32 %r1, 0fc0200000; cvt.s64.s32 %d1, %r1;", std::uint64_t(-2)},
         {"cvt.rmi.s32.f32 %r1, 0fc0200000; cvt.s64.s32 %d1, %r1;", std::uint64_t(-3)},
         {"cvt.rni.s32.f32 %r1, 0fc0200000; cvt.s64.s32 %d1, %r1;", std::uint64_t(-2)},
         {"cvt.rzi.u32.f32 %r1, 0f4f800000; cvt.u64.u32 %d1, %r1;", 0xffffffff},
         {"cvt.rzi.s32.f32 %r1, 0f7fc00000; cvt.u64.u32 %d1, %r1;", 0},
         {"cvt.rn.f32.s32 %f1, 16777217; mov.b32 %r1, %f1; cvt.u64.u32 %d1, %r1;", 0x4b800000},
         {"cvt.rp.f32.s32 %f1, 16777217; mov.b32 %r1, %f1; cvt.u64.u32 %d1, %r1;", 0x4b800001},
         {"cvt.rn.f16.f32 %h1, 0f477ff000; cvt.u64.u16 %d1, %h1;", 0x7c00},
         {"cvt.rz.f16.f32 %h1, 0f477ff000; cvt.u64.u16 %d1, %h1;", 0x7bff},
         {"cvt.rn.f16.f32 %h1, 0f33800000; cvt.u64.u16 %d1, %h1;", 1},
         {"cvt.rn.bf16.f32 %h1, 0f3f808000; cvt.u64.u16 %d1, %h1;", 0x3f80},
         {"mov.b16 %h1, 0x3e00; cvt.f32.f16 %f1, %h1; mov.b32 %r1, %f1; cvt.u64.u32 %d1, %r1;", 0x3fc00000},
         {"cvt.rn.f16x2.f32 %r1, 0f3f800000, 0f40000000; cvt.u64.u32 %d1, %r1;", 0x3c004000},
         {"mov.b32 %r1, 0x3c004000; add.f16x2 %r2, %r1, %r1; cvt.u64.u32 %d1, %r2;", 0x40004400},
         {"mov.b16 %h1, 0x3c00; mov.b16 %h2, 0x4000; fma.rn.f16 %h3, %h1, %h2, %h1; cvt.u64.u16 %d1, %h3;",
          0x4200},
         {"cvt.sat.u8.s32 %r1, 300; cvt.u64.u32 %d1, %r1;", 255},
         {"cvt.s32.s8 %r1, 0x80; cvt.u64.u32 %d1, %r1;", 0xffffff80},
         {"cvt.sat.s16.s32 %r1, -40000; cvt.s64.s32 %d1, %r1;", std::uint64_t(-32768)},
         {"setp.lt.f32 %p1, 0f7fc00000, 0f3f800000; selp.u64 %d1, 1, 2, %p1;", 2},
         {"setp.ltu.f32 %p1, 0f7fc00000, 0f3f800000; selp.u64 %d1, 1, 2, %p1;", 1},
         {"setp.lt.and.s32 %p1|%p2, -1, 0, 1; selp.u64 %d1, 1, 2, %p1; @%p2 mov.u64 %d1, 9;", 1},
         {"set.gt.u32.s32 %r1, 3, 2; cvt.u64.u32 %d1, %r1;", 0xffffffff},
         {"slct.u64.s32 %d1, 4, 5, -1;", 5}});
}

TEST_CASE("PTX: variables, functions, tables and scopes") {
  const std::string before =
      ".global .align 4 .b32 table[3] = {10, 20, 30};\n.const .align 8 .u64 where[2] = {table+4, "
      "generic(table)+8};\n"
      ".global .f32 real = 0f40490fdb;\n.global .align 8 .u64 functions[1] = {twice};\n"
      ".func (.param .b32 r) twice(.param .b32 x)\n{\n.reg .b32 %r<3>;\nld.param.u32 %r1, [x];\nadd.u32 %r2, "
      "%r1, %r1;\nst.param.b32 [r], %r2;\nret;\n}\n"
      ".func (.param .b32 r) sum(.param .b32 n)\n{\n.reg .b32 %r<4>;\n.reg .pred %p;\nld.param.u32 %r1, "
      "[n];\nsetp.eq.u32 %p, %r1, 0;\n"
      "@%p bra END;\nsub.u32 %r2, %r1, 1;\n{\n.param .b32 a;\n.param .b32 b;\nst.param.b32 [a], "
      "%r2;\ncall.uni (b), sum, (a);\nld.param.b32 %r3, [b];\n}\n"
      "add.u32 %r1, %r1, %r3;\nEND:\nst.param.b32 [r], %r1;\nret;\n}\n";
  const auto result = [&](const char* body) {
    const Ran ran = run(kernel(fmt::format("{}\nst.global.u64 [%d0], %d1;", body), before));
    CHECK(ran.outcome.message == "");
    return ran.words[0];
  };
  CHECK(result("ld.const.u64 %d2, [where]; ld.global.u32 %r1, [%d2]; cvt.u64.u32 %d1, %r1;") == 20);
  CHECK(result("ld.const.u64 %d2, [where+8]; ld.u32 %r1, [%d2]; cvt.u64.u32 %d1, %r1;") == 30);
  CHECK(result("ld.global.v2.u32 {%r1, %r2}, [table]; add.u32 %r1, %r1, %r2; cvt.u64.u32 %d1, %r1;") == 30);
  CHECK(result("ld.global.u32 %r1, [real]; cvt.u64.u32 %d1, %r1;") == 0x40490fdb);
  CHECK(result("{ .param .b32 a; .param .b32 b; st.param.b32 [a], 21; call (b), twice, (a); ld.param.u32 "
               "%r1, [b]; } cvt.u64.u32 %d1, %r1;") == 42);
  CHECK(result("{ .param .b32 b; call (b), twice, (21); ld.param.u32 %r1, [b]; } cvt.u64.u32 %d1, %r1;") ==
        42);
  CHECK(result("{ .param .b32 a; .param .b32 b; st.param.b32 [a], 10; call (b), sum, (a); ld.param.u32 %r1, "
               "[b]; } cvt.u64.u32 %d1, %r1;") == 55);
  CHECK(result("ld.global.u64 %d2, [functions]; { .param .b32 a; .param .b32 b; st.param.b32 [a], 4; P: "
               ".callprototype (.param .b32 _) _ (.param .b32 _);\n"
               "call (b), %d2, (a), P; ld.param.u32 %r1, [b]; } cvt.u64.u32 %d1, %r1;") == 8);
  CHECK(result("mov.u32 %r1, 2; T: .branchtargets A, B, C;\nbrx.idx %r1, T; A: mov.u64 %d1, 1; bra D; B: "
               "mov.u64 %d1, 2; bra D; C: mov.u64 %d1, 3; D:") == 3);
  CHECK(result("mov.u32 %r1, 1; { .reg .b32 %r1; mov.u32 %r1, 5; bra X; mov.u32 %r1, 6; X: } { bra X; X: } "
               "cvt.u64.u32 %d1, %r1;") == 1);
  CHECK(result(".local .align 8 .b8 l[16]; mov.u64 %d2, l; cvta.local.u64 %d3, %d2; st.u64 [%d3+8], 77; "
               "ld.local.u64 %d1, [%d2+8];") == 77);
  CHECK(result(".shared .align 8 .b8 s[16]; mov.u32 %r1, s; st.shared.u64 [%r1+8], 78; mov.u64 %d2, s; "
               "cvta.shared.u64 %d2, %d2; ld.u64 %d1, [%d2+8];") == 78);
  CHECK(result(".shared .align 8 .b8 s[16]; mov.u64 %d2, s; cvta.shared.u64 %d2, %d2; isspacep.shared %p1, "
               "%d2; isspacep.global %p2, %d2; selp.u64 %d1, 1, 0, %p1; @%p2 mov.u64 %d1, 9;") == 1);
  CHECK(result("st.global.u64 [%d0], 40; atom.global.add.u64 %d2, [%d0], 2; atom.global.cas.b64 %d3, [%d0], "
               "42, 50; ld.global.u64 %d4, [%d0]; add.u64 %d1, %d3, %d4; add.u64 %d1, %d1, %d2;") == 132);
  CHECK(result("st.global.u64 [%d0], 3; atom.global.inc.u32 %r1, [%d0], 3; atom.global.dec.u32 %r1, [%d0], "
               "7; ld.global.u32 %r1, [%d0]; cvt.u64.u32 %d1, %r1;") == 7);
  CHECK(result("st.global.u64 [%d0], 0; red.global.max.s32 [%d0], -5; red.global.min.s32 [%d0], -9; "
               "ld.global.s32 %d1, [%d0];") == std::uint64_t(-9));
}

TEST_CASE("PTX: what the threads of a block do together, in whatever order they run") {
  struct Together {
    const char* body;  // leaves its result in %r1
    std::uint64_t (*expected)(std::uint32_t thread);
  };
  const Together all[] = {
      {".shared .b32 s[64]; mov.u32 %r2, s; mad.lo.u32 %r2, %r0, 4, %r2; st.shared.u32 [%r2], %r0; bar.sync "
       "0; xor.b32 %r3, %r0, 63; mov.u32 %r2, s; mad.lo.u32 %r2, %r3, "
       "4, %r2; ld.shared.u32 %r1, [%r2];",
       [](std::uint32_t t) -> std::uint64_t { return t ^ 63; }},
      {"setp.lt.u32 %p1, %r0, 5; bar.red.popc.u32 %r1, 3, %p1;",
       [](std::uint32_t) -> std::uint64_t { return 5; }},
      {"setp.lt.u32 %p1, %r0, 5; bar.red.and.pred %p2, 0, !%p1; selp.u32 %r1, 1, 0, %p2;",
       [](std::uint32_t) -> std::uint64_t { return 0; }},
      {"setp.eq.u32 %p1, %r0, 40; mov.u32 %r1, 9; @%p1 exit; bar.sync 0;",
       [](std::uint32_t t) -> std::uint64_t { return t == 40 ? 0 : 9; }},
      {".shared .b32 s; shr.u32 %r2, %r0, 5; setp.eq.u32 %p1, %r2, 0; @%p1 bra FIRST; bar.sync 1, 64; "
       "ld.shared.u32 %r1, [s]; bra END; FIRST: st.shared.u32 [s], 7; mov.u32 "
       "%r1, 1; bar.arrive 1, 64; END:",
       [](std::uint32_t t) -> std::uint64_t { return t < 32 ? 1 : 7; }},
      {"shfl.sync.down.b32 %r1|%p1, %r0, 1, 31, -1; @!%p1 mov.u32 %r1, 99;",
       [](std::uint32_t t) -> std::uint64_t { return t % 32 == 31 ? 99 : t + 1; }},
      {"shfl.sync.up.b32 %r1|%p1, %r0, 2, 0, -1;",
       [](std::uint32_t t) -> std::uint64_t { return t % 32 < 2 ? t : t - 2; }},
      {"shfl.sync.idx.b32 %r1, %r0, 3, 0x181f, -1;",
       [](std::uint32_t t) -> std::uint64_t { return t / 8 * 8 + 3; }},
      {"shfl.sync.bfly.b32 %r1, %r0, 5, 31, -1;", [](std::uint32_t t) -> std::uint64_t { return t ^ 5; }},
      {"setp.lt.u32 %p1, %r0, 3; vote.sync.ballot.b32 %r1, %p1, -1;",
       [](std::uint32_t t) -> std::uint64_t { return t < 32 ? 7 : 0; }},
      {"and.b32 %r2, %r0, 1; match.any.sync.b32 %r1, %r2, -1;",
       [](std::uint32_t t) -> std::uint64_t { return t % 2 == 0 ? 0x55555555 : 0xaaaaaaaa; }},
      {"match.all.sync.b32 %r1|%p1, 5, -1;", [](std::uint32_t) -> std::uint64_t { return 0xffffffff; }},
      {"redux.sync.add.s32 %r1, %r0, -1;",
       [](std::uint32_t t) -> std::uint64_t { return t < 32 ? 496 : 496 + 1024; }},
      {"redux.sync.max.u32 %r1, %r0, -1;", [](std::uint32_t t) -> std::uint64_t { return t < 32 ? 31 : 63; }},
      {"mov.u32 %r1, 0; setp.lt.u32 %p1, %r0, 4; @!%p1 bra END; activemask.b32 %r2; popc.b32 %r1, %r2; "
       "setp.eq.u32 %p2, %r1, 0; @%p2 trap; bar.warp.sync %r2; mov.u32 %r1, 1; END:",
       [](std::uint32_t t) -> std::uint64_t { return t < 4 ? 1 : 0; }},
      {"mov.u32 %r1, %lanemask_lt; popc.b32 %r1, %r1;",
       [](std::uint32_t t) -> std::uint64_t { return t % 32; }},
      {".shared .b32 c; setp.eq.u32 %p1, %r0, 0; @%p1 st.shared.u32 [c], 0; bar.sync 0; atom.shared.add.u32 "
       "%r2, [c], %r0; bar.sync 0; ld.shared.u32 %r1, [c];",
       [](std::uint32_t) -> std::uint64_t { return 2016; }},
  };
  for (const Together& one : all)
    for (const Interleaving threads : {Interleaving::in_order, Interleaving::reverse, Interleaving::random,
                                       Interleaving::phases, Interleaving::lockstep})
      for (std::uint64_t seed = 0; seed < 3; ++seed) {
        INFO(one.body << ", schedule " << static_cast<int>(threads) << ", seed " << seed);
        Schedule schedule;
        schedule.threads = threads;
        schedule.seed = seed;
        const Ran ran =
            run(kernel(fmt::format("{}\ncvt.u64.u32 %d1, %r1;\nst.global.u64 [%d0], %d1;", one.body)), 64,
                schedule);
        CHECK(ran.outcome.message == "");
        for (std::uint32_t t = 0; t < 64; ++t) REQUIRE(ran.words[t] == one.expected(t));
      }
}

TEST_CASE("PTX: dynamic shared memory begins behind static memory, at 16 bytes at least") {
  const std::string text = kernel(
      ".shared .align 4 .b8 s[20];\nmov.u32 %r1, s;\nmov.u32 %r2, dyn;\nmov.u32 %r3, "
      "%dynamic_smem_size;\nsub.u32 %r2, %r2, %r1;\nmov.b64 %d1, {%r2, %r3};\nst.global.u64 [%d0], %d1;",
      ".extern .shared .align 4 .b8 dyn[];");
  const Ran ran = run(text, 1, {}, 100);
  CHECK(ran.outcome.message == "");
  CHECK(ran.words[0] == (std::uint64_t{100} << 32 | 32));
  const Module module(text);
  CHECK(module.entry("k")->static_shared_bytes == 20);
  CHECK(module.entry("k")->dynamic_shared_offset == 32);
}

TEST_CASE("PTX: an asynchronous copy without a wait comes late, with one in time") {
  const std::string before = ".global .align 4 .b32 value = 42;";
  const std::string body =
      ".shared .align 4 .b8 s[4];\nst.shared.u32 [s], 1;\nmov.u64 %d2, value;\nmov.u32 %r2, "
      "s;\ncp.async.ca.shared.global [%r2], [%d2], 4;\ncp.async.commit_group;\n{}\n"
      "ld.shared.u32 %r1, [s];\ncvt.u64.u32 %d1, %r1;\nst.global.u64 [%d0], %d1;";
  int late = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Schedule schedule;
    schedule.seed = seed;
    CHECK(run(kernel(fmt::format(fmt::runtime(body), "cp.async.wait_group 0;"), before), 1, schedule)
              .words[0] == 42);
    late += run(kernel(fmt::format(fmt::runtime(body), ""), before), 1, schedule).words[0] == 1 ? 1 : 0;
  }
  CHECK(late > 5);
}

TEST_CASE("PTX: what is wrong is said") {
  using Catch::Matchers::ContainsSubstring;
  CHECK_THAT(message("st.global.u32 [%d0+8], 1;"), ContainsSubstring("not the kernel's"));
  CHECK_THAT(message("st.global.u32 [%d0+2], 1;"), ContainsSubstring("misaligned"));
  CHECK_THAT(message("ld.global.u32 %r1, [0];"), ContainsSubstring("null"));
  CHECK_THAT(message(".shared .b32 s; st.shared.u32 [s+4], 1;"),
             ContainsSubstring("4 bytes of shared memory"));
  CHECK_THAT(message(".local .b32 s; mov.u64 %d1, s; ld.local.u32 %r1, [%d1+64];"),
             ContainsSubstring("local"));
  CHECK_THAT(message("trap;"), ContainsSubstring("line 12: trap"));
  CHECK_THAT(message("L: bra L;"), ContainsSubstring("hangs"));
  CHECK_THAT(message("setp.eq.u32 %p1, %r0, 3; @%p1 bar.sync 1, 64; bar.sync 0;", 64),
             ContainsSubstring("hangs: every thread waits"));
  CHECK_THAT(message("setp.eq.u32 %p1, %r0, 3; @%p1 bar.sync 0, 64; bar.sync 0;", 64),
             ContainsSubstring("barrier 0 of"));
  CHECK_THAT(message("brx.idx 3, T; A: T: .branchtargets A;"), ContainsSubstring("index 3 of 1"));
  CHECK_THAT(message("wgmma.fence.sync.aligned;"), ContainsSubstring("line 12: wgmma.fence.sync.aligned: "));
  CHECK(Module(kernel("add.u32.odd %r1, 1, 2;")).unknown() ==
        std::vector<std::string>{"line 12: add.u32.odd %r1, 1, 2: '.odd'"});
  CHECK(Module(kernel("add.u32 %r1, %missing, 2;")).unknown().size() == 1);
  CHECK_THROWS_WITH(Module(kernel("add.u32 %r1, 1,;")),
                    ContainsSubstring("line 12: found ';', expected an operand"));
  CHECK_THROWS_AS(Module(".version 8.0\n.visible .entry k( {"), Error);
  const Ran bounds = run(std::string(kHead) + ".entry k(.param .u64 out) .reqntid 32 { ret; }", 64);
  CHECK_THAT(bounds.outcome.message, ContainsSubstring(".reqntid"));
}

TEST_CASE("PTX: memory that nobody wrote differs from block to block and from seed to seed") {
  const std::string text = kernel(
      ".shared .align 8 .b8 s[8];\nld.shared.u64 %d1, [s];\nmov.u32 %r1, %ctaid.x;\nmad.wide.u32 %d0, %r1, "
      "8, %d0;\nst.global.u64 [%d0], %d1;");
  Module module(text);
  std::vector<std::uint64_t> words(3);
  const std::uint64_t out = reinterpret_cast<std::uint64_t>(words.data());
  Launch launch;
  launch.grid.x = 3;
  launch.parameters = std::as_bytes(std::span(&out, 1));
  CHECK(module.launch("k", launch).ending == Ending::done);
  const auto first = words;
  CHECK((first[0] != first[1] && first[1] != first[2]));
  launch.schedule.seed = 1;
  CHECK(module.launch("k", launch).ending == Ending::done);
  CHECK(words[0] != first[0]);
}

TEST_CASE("PTX: events happen in time, and a launch can be aborted") {
  const std::string text =
      kernel("L: ld.volatile.global.u64 %d1, [%d0]; setp.eq.u64 %p1, %d1, 0; @%p1 bra L;");
  Module module(text);
  std::uint64_t word = 0;
  const auto out = reinterpret_cast<std::uint64_t>(&word);
  Launch launch;
  launch.parameters = std::as_bytes(std::span(&out, 1));
  launch.events.push_back({10'000, [&] { __atomic_store_n(&word, 1, __ATOMIC_RELAXED); }});
  const Outcome ended = module.launch("k", launch);
  CHECK(ended.ending == Ending::done);
  CHECK((ended.instructions >= 10'000 && ended.instructions < 10'010));
  word = 0;
  std::atomic<bool> abort = false;
  launch.events = {{5'000, [&] { abort = true; }}};
  launch.abort = &abort;
  CHECK(module.launch("k", launch).ending == Ending::aborted);
}
