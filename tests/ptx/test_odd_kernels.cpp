// Kernels by hand that are easily rewritten wrongly: where a form is not refused, it has to be right.
#include "tests/catch.hpp"
#include "tests/ptx/handmade.hpp"
#include "tests/ptx/played_forms.hpp"

using namespace gangway::testing::ptx;
namespace transform = gangway::transform;

namespace {

struct Odd {
  const char* name;
  const char* body;
};

// Threads leave before a barrier, by what looks like the same for all of them and is not.
constexpr Odd kLeaves[] = {
    {"by the carry of a sum", "add.cc.u32 %t0, %linear, -3;\naddc.u32 %t1, 0, 0;\nsetp.eq.u32 %p1, %t1, 0;"},
    {"by the carry of a product",
     "mad.lo.cc.u32 %t0, %linear, 0x10000000, 0xf0000000;\naddc.u32 %t1, 0, 0;\nsetp.eq.u32 %p1, %t1, 0;"},
    {"by a constant",
     "mov.u64 %w0, constants;\nmad.wide.u32 %w0, %linear, 4, %w0;\nld.const.u32 %t1, [%w0];\nsetp.eq.u32 "
     "%p1, %t1, 3;"},
    {"by the lane", "mov.u32 %t1, %laneid;\nsetp.eq.u32 %p1, %t1, 3;"},
    {"by the lane's mask", "mov.u32 %t1, %lanemask_eq;\nsetp.eq.u32 %p1, %t1, 8;"},
    {"by the warp's sum", "redux.sync.add.u32 %t1, %linear, -1;\nsetp.eq.u32 %p1, %t1, 496;"},
    {"by the warp's vote", "setp.lt.u32 %p2, %linear, 32;\nvote.sync.all.pred %p1, %p2, -1;"},
    {"by a shuffled value", "shfl.sync.idx.b32 %t1, %linear, 0, 31, -1;\nsetp.eq.u32 %p1, %t1, 0;"},
    // Of an address, which is another one in each run: byte 7 is 0, byte 5 is not.
    {"by a parameter's bytes",
     "mov.b64 %w0, out;\nand.b32 %t0, %linear, 2;\ncvt.u64.u32 %w1, %t0;\nadd.u64 %w0, %w0, %w1;\n"
     "ld.param.u8 %t1, [%w0+5];\nsetp.eq.u32 %p1, %t1, 0;"},
    {"by what a branch has set",
     "mov.u32 %t1, 0;\nsetp.lt.u32 %p2, %linear, 9;\n@%p2 bra LA;\nmov.u32 %t1, 1;\nLA:\nsetp.eq.u32 %p1, "
     "%t1, 1;"},
    {"by what a predicate has set",
     "mov.u32 %t1, 0;\nsetp.lt.u32 %p2, %linear, 9;\n@%p2 mov.u32 %t1, 1;\nsetp.eq.u32 %p1, %t1, 1;"},
    {"by a loop's trips",
     "mov.u32 %t1, 0;\nLA:\nadd.u32 %t1, %t1, 1;\nsetp.lt.u32 %p2, %t1, %linear;\n@%p2 bra LA;\nsetp.eq.u32 "
     "%p1, %t1, 5;"},
    {"by shared memory",
     "mov.u32 %t0, own;\nmad.lo.u32 %t0, %linear, 4, %t0;\nst.shared.u32 [%t0], %linear;\nld.shared.u32 %t1, "
     "[%t0];\n"
     "setp.eq.u32 %p1, %t1, 5;"},
    {"by local memory",
     ".local .align 4 .b8 place[4];\nst.local.u32 [place], %linear;\nld.local.u32 %t1, [place];\nsetp.eq.u32 "
     "%p1, %t1, 5;"},
    {"by half of a word",
     "mov.b64 %w0, {%grid, %linear};\nmov.b64 {%t0, %t1}, %w0;\nsetp.eq.u32 %p1, %t1, 5;"},
    {"by the block", "setp.eq.u32 %p1, %grid, 2;"},
    {"by the grid", "mov.u32 %t0, %nctaid.x;\nsetp.eq.u32 %p1, %t0, 9;"},
};

constexpr Odd kBarriers[] = {
    {"each warp has its own barrier", "shr.u32 %t0, %linear, 5;\nbar.sync %t0, 32;"},
    {"barrier 0 of one warp", "bar.sync 0, 32;"},
    {"barrier 1 of one warp", "bar.sync 1, 32;"},
    {"barrier 0 of the first warp only", "setp.lt.u32 %p1, %linear, 32;\n@%p1 bar.sync 0, 32;"},
    {"a barrier for some blocks", "setp.lt.u32 %p1, %grid, 4;\n@%p1 bar.sync 0;"},
    {"barriers in a loop",
     "and.b32 %t1, %grid, 3;\nadd.u32 %t1, %t1, 1;\nLA:\nbar.sync 0;\nsub.u32 %t1, %t1, 1;\n"
     "setp.ne.u32 %p2, %t1, 0;\n@%p2 bra LA;"},
    {"one warp arrives, the other waits",
     "setp.lt.u32 %p1, %linear, 32;\n@%p1 bar.arrive 0, 64;\n@!%p1 bar.sync 0, 64;"},
    {"one warp arrives, the other waits at 3",
     "setp.lt.u32 %p1, %linear, 32;\n@%p1 bar.arrive 3, 64;\n@!%p1 bar.sync 3, 64;"},
    {"half a warp meets", "setp.lt.u32 %p1, %linear, 16;\n@%p1 bar.warp.sync 0xffff;"},
    {"a barrier that some arguments make a function pass by",
     "mov.u32 %t1, own;\n{\n.param .b32 a;\n.param .b32 b;\n.param .b32 c;\nst.param.b32 [a], "
     "%linear;\nst.param.b32 [b], %t1;\n"
     "call (c), half_meet, (a, b);\nld.param.b32 %t2, [c];\n}\nadd.u32 %v0, %v0, %t2;"},
    {"a copy that is not waited for",
     "mov.u32 %t0, own;\nmad.lo.u32 %t0, %linear, 4, %t0;\nst.shared.u32 [%t0], %v0;\nbar.sync 0;\n"
     "ld.shared.u32 %v1, [%t0];\nbar.sync 0;\nadd.u32 %v0, %v0, %v1;\nmov.u64 %w0, constants;\n"
     "cp.async.ca.shared.global [%t0], [%w0], 4;\ncp.async.commit_group;"},
};

constexpr Odd kBlocks[] = {
    {"the last block knows it",
     "mov.u32 %t0, %nctaid.x;\nsub.u32 %t0, %t0, 1;\nsetp.eq.u32 %p1, %grid, %t0;\n@%p1 add.u32 %v0, %v0, "
     "1000;"},
    {"all dimensions",
     "mov.b32 %t0, %ctaid.y;\nmov.b32 %t1, %nctaid.z;\nmov.u32 %t2, %ctaid.z;\nmov.u32 %t3, %nctaid.y;\n"
     "mad.lo.u32 %v0, %t0, 3, %v0;\nmad.lo.u32 %v0, %t1, 5, %v0;\nmad.lo.u32 %v0, %t2, 7, %v0;\nmad.lo.u32 "
     "%v0, %t3, 11, %v0;"},
    {"a scope that leaves", "{\n.reg .pred %p1;\nsetp.eq.u32 %p1, %linear, 5;\n@%p1 ret;\n}"},
    {"marks in comments",
     "// } ret; %ctaid.x\n/* { exit; */ mov.u32 %t0, /* here */ %ctaid.x;\nadd.u32 %v0, %v0, %t0; // \"\n"},
    {"falls off its end",
     "setp.eq.u32 %p1, %linear, 5;\n@%p1 bra LA;\nst.global.u32 [%mine], %v0;\nret;\nLA:\nmov.u32 %v0, 77;"},
    {"uniform return", "setp.eq.u32 %p1, %grid, 3;\n@%p1 ret.uni;"},
    {"the size of dynamic shared memory", "mov.u32 %t0, %dynamic_smem_size;\nadd.u32 %v0, %v0, %t0;"},
    {"the size of all shared memory", "mov.u32 %t0, %total_smem_size;\nadd.u32 %v0, %v0, %t0;"},
    {"the number of the launch",  // all blocks see that of the first one
     "mov.u64 %w0, %gridid;\nmov.u64 %w1, seen;\natom.global.cas.b64 %w2, [%w1], 0, %w0;\n"
     "setp.ne.u64 %p1, %w2, 0;\nsetp.ne.and.u64 %p1, %w2, %w0, %p1;\n@%p1 add.u32 %v0, %v0, 1000;"},
    {"dynamic shared memory of any alignment", "mov.u32 %t0, bytes;\nadd.u32 %v0, %v0, %t0;"},
};

// The lower half of a block hands its numbers round by shared memory.
constexpr const char* kHalfMeet =
    ".func (.param .b32 back) half_meet(.param .b32 x, .param .b32 at)\n{\n.reg .pred %p1;\n.reg .b32 "
    "%r<6>;\nld.param.b32 %r1, [x];\nld.param.b32 %r2, [at];\nmov.b32 %r3, %r1;\nsetp.ge.u32 %p1, %r1, "
    "32;\n@%p1 bra OUT;\nmad.lo.u32 %r4, %r1, 4, %r2;\nst.shared.u32 [%r4], %r1;\nbar.sync 0;\nsub.u32 %r5, "
    "31, %r1;\nmad.lo.u32 %r5, %r5, 4, %r2;\nld.shared.u32 %r3, [%r5];\nOUT:\nst.param.b32 [back], "
    "%r3;\nret;\n}\n";

void check(const Odd& odd, const std::string& body, int schedules) {
  INFO(odd.name);
  Handmade hand;
  hand.body = body;
  hand.declarations = std::string(kHalfMeet) +
                      ".const .align 4 .b32 constants[64] = {1, 2, 3, 4, 5, 3};\n.global .align 8 .b64 "
                      "seen;\n.extern .shared .align 1 .b8 bytes[];\n";
  RandomModule module = hand.module();
  module.kernels[0].dynamic_shared_bytes = 37;
  const transform::Rewritten rewritten = transform::rewrite(module.text);
  REQUIRE(rewritten.unusable.empty());
  CHECK(broken_promise(module.text, rewritten) == "");
  Module with(rewritten.text);
  const Original original(module.text, module.kernels[0], 1);
  for (const transform::Form& form : rewritten.kernels[0].forms) {
    INFO("as " << form.form);
    std::string wrong;
    for (int seed = 0; seed < schedules && wrong.empty(); ++seed)
      wrong = difference(original, with, form, static_cast<std::uint64_t>(seed));
    CHECK(wrong == "");
  }
}

}  // namespace

TEST_CASE("kernels of which threads leave before a barrier are right in the forms that they take") {
  // What those do who leave shows where they go on too soon.
  for (const Odd& odd : kLeaves)
    check(odd, std::string(odd.body) + "\nst.global.u32 [%mine+4], %v0;\n@%p1 ret;\nbar.sync 0;", 12);
}

TEST_CASE("kernels with barriers of their own are right in the forms that they take") {
  for (const Odd& odd : kBarriers) check(odd, odd.body, 12);
}

TEST_CASE("kernels that ask where they are are right in the forms that they take") {
  for (const Odd& odd : kBlocks) check(odd, odd.body, 12);
}
