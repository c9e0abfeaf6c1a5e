// What the rewriter takes and what it refuses, by small kernels of which the right answer is plain.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "hw/transform/rewrite.hpp"
#include "tests/catch.hpp"

namespace gangway::testing {
namespace {

using transform::Refusal;
using transform::Rewritten;

// The body's first line is line 6.
std::string kernel_of(const std::string& body) {
  return ".version 8.0\n.target sm_80\n.address_size 64\n"
         ".visible .entry k(.param .u64 p, .param .u32 n)\n{\n" +
         body + "}\n";
}

const std::string kRegisters =
    ".reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %rd<20>;"
    " ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n]; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %tid.x;\n";

std::string forms_of(const Rewritten& rewritten) {
  std::string found = rewritten.unusable;
  for (const transform::KernelForms& kernel : rewritten.kernels)
    for (const transform::Form& form : kernel.forms) found += (found.empty() ? "" : " ") + form.form;
  return found;
}

std::string forms_of(const std::string& body) {
  return forms_of(transform::rewrite(kernel_of(kRegisters + body)));
}

// "line 7: instruction: reason" of a form that is refused.
std::string refusal_of(const std::string& body, const std::string& form) {
  const Rewritten rewritten = transform::rewrite(kernel_of(kRegisters + body));
  for (const Refusal& refusal : rewritten.kernels.at(0).refused)
    if (refusal.form == form)
      return fmt::format("line {}: {}: {}", refusal.line, refusal.instruction, refusal.reason);
  return "taken";
}

const std::string kAll = "slice prologue loop";
const std::string kWaits = "it may wait for another block, which may not have been launched";

}  // namespace

TEST_CASE("a rewritten module begins with every byte of the original") {
  const std::string original = kernel_of(kRegisters + "ret;\n");
  const Rewritten rewritten = transform::rewrite(original);
  CHECK(rewritten.text.substr(0, original.size()) == original);
  CHECK(forms_of(rewritten) == kAll);
  const transform::KernelForms& kernel = rewritten.kernels.at(0);
  CHECK(kernel.parameters.size() == 2);
  CHECK(kernel.parameters[1].offset == 8);
  for (const transform::Form& form : kernel.forms) {
    CHECK(form.hidden.offset == 16);  // behind 12 bytes, aligned to 8
    CHECK(rewritten.text.find(".entry " + form.entry + "(") != std::string::npos);
  }
  CHECK(rewritten.text.find("%ctaid.x", original.size()) == rewritten.text.rfind("%ctaid.x"));  // the slice's
}

TEST_CASE("what was rewritten before, or is no PTX, stays as it is") {
  const std::string once = transform::rewrite(kernel_of("ret;\n")).text;
  const Rewritten twice = transform::rewrite(once);
  CHECK(twice.text == once);
  CHECK(twice.unusable.find("expected a module that was not rewritten before") != std::string::npos);
  const Rewritten nothing = transform::rewrite(".version 8.0\n.target sm_80\n@\n");
  CHECK(nothing.unusable == "line 3: found '@', expected a function or a variable");
  CHECK(nothing.text == ".version 8.0\n.target sm_80\n@\n");
}

TEST_CASE("a kernel that waits for another block stays whole") {
  // The address is line 7's, the loop's load line 8's.
  const std::string spin =
      "A: ld.volatile.global.u32 %r4, [%rd1];\nsetp.eq.u32 %p1, %r4, 0;\n@%p1 bra A;\nret;\n";
  CHECK(refusal_of(spin, "prologue") == "line 7: ld.volatile.global.u32 %r4, [%rd1];: " + kWaits);
  CHECK(forms_of(spin).empty());
  SECTION("also by an ordinary load that is made again behind a barrier") {
    CHECK(
        forms_of("A: bar.sync 0;\nld.global.u32 %r4, [%rd1];\nsetp.eq.u32 %p1, %r4, 0;\n@%p1 bra A;\nret;\n")
            .empty());
    CHECK(forms_of(
              "A: bar.sync 0;\nld.global.u32 %r4, [%rd1];\nadd.u64 %rd1, %rd1, 4;\nsetp.eq.u32 %p1, %r4, 0;\n"
              "@%p1 bra A;\nret;\n") != "");
  }
  SECTION("also by ordinary loads of addresses that come again") {
    const auto slots = [](const std::string& next, const std::string& more = "") {
      return forms_of(
          "mov.u32 %r5, 1;\nA: mul.wide.u32 %rd2, %r5, 4;\nadd.s64 %rd3, %rd1, %rd2;\n"
          "ld.global.u32 %r4, [%rd3];\n" +
          next + "membar.gl;\n" + more + "setp.eq.u32 %p1, %r4, 0;\n@%p1 bra A;\nB: ret;\n");
    };
    const std::string modulo = "add.s32 %r6, %r5, 1;\nand.b32 %r5, %r6, 3;\n";
    CHECK(slots(modulo).empty());
    CHECK(slots("add.s32 %r6, %r5, 1;\nsetp.eq.s32 %p2, %r6, %r1;\nselp.b32 %r5, 0, %r6, %p2;\n").empty());
    CHECK(slots("add.s32 %r5, %r5, 1;\n") == kAll);  // on and on
    CHECK(slots("add.s32 %r6, %r5, %r1;\nmov.u32 %r5, %r6;\n") == kAll);
    CHECK(slots(modulo, "setp.eq.u32 %p3, %r5, 1;\n@%p3 bra B;\n") == kAll);  // once round
    CHECK(slots(modulo, "st.global.u32 [%rd1], 1;\n") == kAll);               // what it makes itself
    CHECK(slots(modulo, "mov.u64 %rd4, others;\nst.global.u32 [%rd4], 1;\n").empty());
  }
  SECTION("also by one ordinary load that nothing but another block ends") {
    const auto looks = [](const std::string& more) {
      return forms_of("mov.u32 %r5, 0;\nA: ld.global.u32 %r4, [%rd1];\n" + more +
                      "setp.eq.u32 %p1, %r4, 0;\n@%p1 bra A;\nB: ret;\n");
    };
    CHECK(looks("").empty());  // asm volatile("" ::: "memory")
    CHECK(looks("mov.u64 %rd4, others;\nst.global.u32 [%rd4], 1;\n").empty());
    CHECK(looks("st.global.u32 [%rd1], 1;\n") == kAll);
    CHECK(looks("add.s32 %r5, %r5, 1;\nsetp.gt.s32 %p2, %r5, %r1;\n@%p2 bra B;\n") == kAll);
  }
  SECTION("also by a search that begins anew until it finds something") {
    const auto search = [](const std::string& before, const std::string& kept, const std::string& done) {
      return forms_of("mov.u32 %r6, -1;\nmov.u32 %r9, 0;\nA: mov.u32 %r5, 0;\n" + before +
                      "B: mul.wide.u32 %rd2, %r5, 4;\nadd.s64 %rd3, %rd1, %rd2;\nld.global.u32 %r4, [%rd3];\n"
                      "setp.eq.u32 %p1, %r4, 0;\n" +
                      kept + "add.s32 %r5, %r5, 1;\nsetp.lt.s32 %p2, %r5, %r1;\n@%p2 bra B;\nbar.sync 0;\n" +
                      done + "@%p3 bra A;\nret;\n");
    };
    const std::string found = "selp.b32 %r6, %r6, %r5, %p1;\n", until = "setp.lt.s32 %p3, %r6, 0;\n";
    CHECK(search("", found, until).empty());
    CHECK(search("", "@%p1 bra C;\nmov.u32 %r6, %r5;\nC:\n", until).empty());
    CHECK(search("mov.u32 %r6, -1;\n", "@!%p1 add.s32 %r6, %r6, 1;\n", until).empty());  // all of them
    CHECK(search("", found, "add.s32 %r9, %r9, 1;\nsetp.lt.s32 %p3, %r9, %r1;\n") ==
          kAll);                                                                          // as often as told
    CHECK(search("mov.u32 %r5, %r9;\n", found, "add.s32 %r9, %r9, 8;\n" + until) != "");  // further on
    CHECK(search("", "add.s32 %r6, %r6, %r4;\n", until) != "");                           // a sum that grows
  }
  SECTION("also by a ring of records, but not by a list that ends") {
    const auto chase = [](const std::string& decides) {
      return forms_of("A: ld.global.u32 %r4, [%rd1+8];\nld.global.u64 %rd1, [%rd1];\nbar.warp.sync -1;\n" +
                      decides + "@%p1 bra A;\nret;\n");
    };
    CHECK(chase("setp.eq.u32 %p1, %r4, 0;\n").empty());
    CHECK(chase("setp.ne.u64 %p1, %rd1, 0;\n") != "");
  }
  SECTION("but not by halving what is left") {
    CHECK(
        forms_of("mov.u32 %r5, 0;\nmov.u32 %r6, %r1;\nA: add.s32 %r7, %r5, %r6;\nshr.s32 %r8, %r7, 1;\n"
                 "mul.wide.s32 %rd2, %r8, 4;\nadd.s64 %rd3, %rd1, %rd2;\nld.global.u32 %r4, [%rd3];\n"
                 "bar.sync 0;\nsetp.lt.u32 %p1, %r4, 7;\nadd.s32 %r9, %r8, 1;\nselp.b32 %r5, %r9, %r5, %p1;\n"
                 "selp.b32 %r6, %r6, %r8, %p1;\nsetp.lt.s32 %p2, %r5, %r6;\n@%p2 bra A;\nret;\n") != "");
  }
  SECTION("also by a surface or texture, read again behind a fence") {
    for (const std::string read : {"suld.b.1d.b32.trap {%r4}, [%rd1, {%r5}]",
                                   "tex.1d.v4.u32.s32 {%r4, %r6, %r7, %r8}, [%rd1, {%r5}]"}) {
      const auto again = [&](const std::string& between) {
        return forms_of("mov.u32 %r5, 0;\nA: " + between + read +
                        ";\nsetp.eq.u32 %p1, %r4, 0;\n@%p1 bra A;\nret;\n");
      };
      CHECK(again("membar.gl;\n").empty());
      CHECK(again("membar.gl;\nadd.s32 %r5, %r5, 1;\n") == kAll);
    }
  }
  SECTION("also where one thread finds it and tells the others by shared memory") {
    CHECK(
        forms_of(
            ".shared .b32 s;\nA: atom.global.add.u32 %r4, [%rd1], 0;\nst.shared.u32 [s], %r4;\nbar.sync 0;\n"
            "ld.shared.u32 %r5, [s];\nsetp.ne.u32 %p1, %r5, %r1;\n@%p1 bra A;\nret;\n")
            .empty());
  }
  SECTION("also where the loop's way decides, not a value") {
    CHECK(
        forms_of(
            "mov.u32 %r5, 0;\nA: setp.ne.u32 %p2, %r5, 0;\n@%p2 bra B;\nld.volatile.global.u32 %r4, [%rd1];\n"
            "setp.eq.u32 %p1, %r4, 0;\n@%p1 bra A;\nmov.u32 %r5, 1;\nbra A;\nB: ret;\n")
            .empty());
  }
  SECTION("a lock") {
    CHECK(forms_of("A: atom.global.cas.b32 %r4, [%rd1], 0, 1;\nsetp.ne.u32 %p1, %r4, 0;\n@%p1 bra A;\nret;\n")
              .empty());
  }
  SECTION("polling by adding nothing, however nothing is written") {
    for (const std::string nothing : {"u32 %r4, [%rd1], 0", "u32 %r4, [%rd1], 0x0", "u32 %r4, [%rd1], 00",
                                      "u32 %r4, [%rd1], 0b0", "f32 %r4, [%rd1], 0f00000000"})
      CHECK(forms_of("A: atom.global.add." + nothing + ";\nsetp.eq.u32 %p1, %r4, 7;\n@%p1 bra A;\nret;\n")
                .empty());
  }
  SECTION("polling by an atomic that cannot change the value") {
    for (const std::string polls :
         {"atom.global.inc.u32 %r4, [%rd1], 0", "atom.global.dec.u32 %r4, [%rd1], 0",
          "atom.global.or.b32 %r4, [%rd1], 0", "atom.global.max.u32 %r4, [%rd1], 0",
          "atom.global.cas.b32 %r4, [%rd1], %r4, %r4"})
      CHECK(forms_of("mov.u32 %r4, 0;\nA: " + polls + ";\nsetp.eq.u32 %p1, %r4, 0;\n@%p1 bra A;\nret;\n")
                .empty());
    CHECK(forms_of("mov.u32 %r5, 0;\nA: atom.global.inc.u32 %r4, [%rd1], %r5;\nsetp.eq.u32 %p1, %r4, 0;\n"
                   "@%p1 bra A;\nret;\n")
              .empty());
  }
  SECTION("also at a label whose name another scope has, too") {
    CHECK(
        forms_of("{ A: ld.volatile.global.u32 %r4, [%rd1]; setp.eq.u32 %p1, %r4, 0; @%p1 bra A; }\n"
                 "{ mov.u32 %r4, %r1; A: sub.u32 %r4, %r4, 1; setp.ne.u32 %p1, %r4, 0; @%p1 bra A; }\nret;\n")
            .empty());
    CHECK(forms_of("A: mov.u32 %r4, 0;\n{ A: ld.volatile.global.u32 %r4, [%rd1]; setp.eq.u32 %p1, %r4, 0; "
                   "{ @%p1 bra A; } }\nret;\n")
              .empty());
    CHECK(forms_of("mov.u32 %r5, 0;\n{ A: ld.volatile.global.u32 %r4, [%rd1];\nT: .branchtargets A, B;\n"
                   "{ brx.idx %r4, T; A: }\nB: }\nret;\n")
              .empty());
  }
  SECTION("also where white space is in front of modifiers") {
    CHECK(forms_of("A: ld .volatile .global.u32 %r4, [%rd1];\nsetp.eq.u32 %p1, %r4, 0;\n@%p1 bra .uni A;\n"
                   "ret;\n")
              .empty());
  }
  SECTION("a compare-and-swap of which the loop goes on by something else") {
    const auto swap = [](const std::string& compared, const std::string& made, const std::string& leaves) {
      return forms_of("ld.global.u32 %r4, [%rd1];\nA: " + compared + made +
                      "atom.global.cas.b32 %r4, [%rd1], %r5, %r6;\n" + leaves + "@%p1 bra A;\nret;\n");
    };
    const std::string as_found = "mov.u32 %r5, %r4;\n", more = "add.u32 %r6, %r5, 1;\n",
                      other = "setp.ne.u32 %p1, %r4, %r5;\n";
    CHECK(swap(as_found, more, other) == kAll);
    CHECK(swap(as_found, more, "setp.lt.u32 %p1, %r4, %r6;\n") == kAll);  // what it wrote
    CHECK(swap("max.u32 %r5, %r4, 1;\n", "sub.u32 %r6, %r5, 1;\n", other).empty());
    CHECK(swap(as_found, "mov.u32 %r6, %r5;\n", other).empty());
    CHECK(
        swap(as_found, "or.b32 %r6, %r5, 1;\n", "and.b32 %r7, %r4, 1;\nsetp.ne.u32 %p1, %r7, 0;\n").empty());
    CHECK(swap(as_found, more, "setp.eq.u32 %p1, %r4, %r5;\n").empty());
    // Around it, a loop that waits for what was found, and one that does not.
    const std::string sum =
        "A: mov.u32 %r5, %r4;\nadd.u32 %r6, %r5, %r3;\natom.global.cas.b32 %r4, [%rd1], "
        "%r5, %r6;\nsetp.ne.u32 %p1, %r4, %r5;\n@%p1 bra A;\n";
    CHECK(forms_of("B: ld.global.u32 %r4, [%rd1];\n" + sum + "setp.lt.u32 %p2, %r4, 7;\n@%p2 bra B;\nret;\n")
              .empty());
    CHECK(forms_of("mov.u32 %r9, 0;\nB: ld.global.u32 %r4, [%rd1];\nsetp.eq.u32 %p3, %r9, 3;\n@%p3 bra C;\n" +
                   sum + "C: add.u32 %r9, %r9, 1;\nsetp.lt.u32 %p2, %r9, 7;\n@%p2 bra B;\nret;\n") == kAll);
  }
  SECTION("a semaphore whose count the loop gives back") {
    const auto loop = [](const std::string& between) {
      return forms_of("A: atom.global.add.u32 %r4, [%rd1], -1;\nsetp.gt.s32 %p1, %r4, 0;\n@%p1 bra B;\n" +
                      between + "bra A;\nB: ret;\n");
    };
    CHECK(loop("") == kAll);
    CHECK(loop("red.global.add.u32 [%rd1], 1;\n").empty());
    CHECK(loop("red.global.add.u32 [%rd1], -2;\n") == kAll);
    CHECK(loop("red.global.add.u32 [%rd1], 4294967295;\n") == kAll);  // -1, too
    CHECK(loop("red.global.add.u32 [%rd1], %r3;\n").empty());
    CHECK(loop("atom.global.exch.b32 %r5, [%rd1], 1;\n").empty());
    CHECK(loop("st.global.u32 [%rd1], 1;\n").empty());
    CHECK(loop("mov.u64 %rd2, others;\nred.global.add.u32 [%rd2], %r3;\nst.global.u32 [%rd2+4], 1;\n") ==
          kAll);
  }
  SECTION("also by what memory of the thread brings from a function, or a copy to shared memory") {
    const std::string poll =
        ".func poll(.param .b64 at, .param .b64 to) { .reg .b32 r; .reg .b64 a, b; "
        "ld.param.u64 a, [at]; ld.param.u64 b, [to]; ld.volatile.u32 r, [a]; st.u32 [b], r; ret; }\n";
    const std::string by_it =
        ".local .b32 x;\n.param .b64 at, to;\nst.param.b64 [at], %rd1;\nmov.u64 %rd2, x;\n"
        "cvta.local.u64 %rd2, %rd2;\nst.param.b64 [to], %rd2;\nA: call poll, (at, to);\n"
        "ld.local.u32 %r4, [x];\nsetp.eq.u32 %p1, %r4, 0;\n@%p1 bra A;\nret;\n";
    CHECK(forms_of(transform::rewrite(kernel_of(kRegisters + by_it) + poll)).empty());
    CHECK(
        forms_of(
            ".shared .align 16 .b8 s[16];\nmov.u32 %r5, s;\nA: cp.async.cg.shared.global [%r5], [%rd1], 16;\n"
            "cp.async.wait_all;\nld.shared.u32 %r4, [%r5];\nsetp.eq.u32 %p1, %r4, 0;\n@%p1 bra A;\nret;\n")
            .empty());
  }
  SECTION("also by an ordinary load that is made again behind an atomic, or a fence in a function") {
    const auto again = [](const std::string& between, const std::string& compared = "0") {
      return forms_of(transform::rewrite(
          kernel_of(kRegisters + "mov.u32 %r5, 0;\nA: ld.global.u32 %r4, [%rd1];\n" + between +
                    "add.u32 %r5, %r5, 1;\nsetp.ne.u32 %p1, %r4, " + compared + ";\n@%p1 bra A;\nret;\n") +
          ".func stop() { membar.gl; ret; }\n.func go() { ret; }\n"));
    };
    CHECK(again("red.global.add.u32 [%rd1+8], 1;\n").empty());
    CHECK(again("call stop;\n").empty());
    CHECK(again("call go;\n").empty());
    CHECK(again("call go;\n", "%r5") == kAll);
    CHECK(again("red.global.add.u32 [%rd1+8], 1;\n", "%r5") == kAll);  // a loop over as many as there are
  }
  SECTION("also by calling itself") {
    const auto recursive = [](const std::string& load, const std::string& callee) {
      return forms_of(transform::rewrite(
          kernel_of("call f;\nret;\n") + ".global .b32 flag;\n.func f() { .reg .b32 r; .reg .pred p; " +
          load + ".global.u32 r, [flag]; setp.ne.u32 p, r, 0; @p ret; call " + callee +
          "; ld.global.u32 r, [flag]; ret; }\n" + ".func g() { call f; ret; }\n.func h() { ret; }\n"));
    };
    CHECK(recursive("ld.volatile", "f").empty());
    CHECK(recursive("ld.volatile", "g").empty());
    CHECK(recursive("ld.volatile", "h") == kAll);
    CHECK(recursive("ld", "f") == kAll);
    const auto by_atomic = [](const std::string& atomic, const std::string& compared = "r") {
      return forms_of(
          transform::rewrite(kernel_of("call f;\nret;\n") +
                             ".global .b32 flag;\n.func f() { .reg .b32 r, s; .reg .pred p; mov.u32 "
                             "s, 1; atom.global." +
                             atomic + "; setp.ne.u32 p, " + compared +
                             ", 0; @p ret; call g; ret; }\n"
                             ".func g() { call f; ret; }\n"));
    };
    CHECK(by_atomic("add.u32 r, [flag], 0").empty());
    CHECK(by_atomic("or.b32 r, [flag], 0").empty());
    CHECK(by_atomic("cas.b32 r, [flag], 0, 1").empty());
    CHECK(by_atomic("exch.b32 r, [flag], 1").empty());
    CHECK(by_atomic("add.u32 r, [flag], 1") == kAll);       // tickets
    CHECK(by_atomic("max.u32 r, [flag], 5", "s") == kAll);  // nothing depends on it
  }
  SECTION("also in what is called by a register, whatever the register's name") {
    CHECK(forms_of(".reg .b64 way;\nmov.u64 way, %rd1;\nP: .callprototype (.param .b32 _) _ ();\n"
                   "A: {\n.param .b32 r;\ncall (r), way, (), P;\nld.param.b32 %r4, [r];\n}\n"
                   "setp.eq.u32 %p1, %r4, 0;\n@%p1 bra A;\nret;\n")
              .empty());
  }
}

TEST_CASE("a loop that ends by what its own block does is no wait") {
  // A sum by compare-and-swap, which tries again with what it found.
  CHECK(forms_of(
            "ld.global.u32 %r4, [%rd1];\nA: mov.u32 %r5, %r4;\nadd.u32 %r6, %r5, 1;\n"
            "atom.global.cas.b32 %r4, [%rd1], %r5, %r6;\nsetp.ne.u32 %p1, %r4, %r5;\n@%p1 bra A;\nret;\n") ==
        kAll);
  // Tickets until there are none.
  CHECK(forms_of("A: atom.global.add.u32 %r4, [%rd1], 1;\nsetp.lt.u32 %p1, %r4, %r1;\n@%p1 bra A;\nret;\n") ==
        kAll);
  // Likewise, round and round below a bound, and by a number in a register.
  CHECK(forms_of("A: atom.global.inc.u32 %r4, [%rd1], 7;\nsetp.lt.u32 %p1, %r4, 6;\n@%p1 bra A;\nret;\n") ==
        kAll);
  CHECK(forms_of("mov.u32 %r5, 1;\nA: atom.global.add.u32 %r4, [%rd1], %r5;\nsetp.lt.u32 %p1, %r4, %r1;\n"
                 "@%p1 bra A;\nret;\n") == kAll);
  // Polling memory of the block.
  CHECK(forms_of(".shared .b32 s;\nA: ld.volatile.shared.u32 %r4, [s];\nsetp.eq.u32 %p1, %r4, 0;\n@%p1 bra "
                 "A;\nret;\n") == kAll);
}

namespace {

// Block i publishes at p + 8 i + 64, and waits for what is at p + 8 i + `offset`.
std::string look_back(const std::string& offset, const std::string& publish = "64") {
  return "mul.wide.u32 %rd2, %r2, 8;\nadd.s64 %rd3, %rd1, %rd2;\n"
         "A: ld.relaxed.gpu.u32 %r4, [%rd3+" +
         offset +
         "];\nsetp.eq.u32 %p1, %r4, 0;\n@%p1 bra A;\n"
         "st.relaxed.gpu.u32 [%rd3+" +
         publish + "], %r4;\nret;\n";
}

bool only_in_one_dimension(const std::string& body) {
  const Rewritten rewritten = transform::rewrite(kernel_of(kRegisters + body));
  const auto& forms = rewritten.kernels.at(0).forms;
  return !forms.empty() &&
         std::all_of(forms.begin(), forms.end(), [](const auto& form) { return form.one_dimension; });
}

}  // namespace

TEST_CASE("a wait for blocks of lower index only is taken, in grids of one dimension") {
  CHECK(only_in_one_dimension(look_back("56")));  // the block before
  CHECK(only_in_one_dimension(look_back("0")));   // eight before
  CHECK(forms_of(look_back("64")).empty());       // itself
  CHECK(forms_of(look_back("72")).empty());       // the next
  CHECK_FALSE(only_in_one_dimension("ret;\n"));
  SECTION("an address that falls in the loop falls further") {
    const auto walking = [](const std::string& step) {
      return "mul.wide.u32 %rd2, %r2, 8;\nadd.s64 %rd3, %rd1, %rd2;\nmov.u64 %rd4, %rd3;\n"
             "A: ld.relaxed.gpu.u32 %r4, [%rd4+56];\nadd.s64 %rd4, %rd4, " +
             step +
             ";\nsetp.eq.u32 %p1, %r4, 0;\n"
             "@%p1 bra A;\nst.relaxed.gpu.u32 [%rd3+64], %r4;\nret;\n";
    };
    CHECK(only_in_one_dimension(walking("-256")));
    CHECK(forms_of(walking("256")).empty());
  }
  SECTION("what another store of the same array says, counts") {
    CHECK(forms_of(look_back("56", "72")).find("prologue") != std::string::npos);
    CHECK(forms_of("mul.wide.u32 %rd2, %r2, 8;\nadd.s64 %rd3, %rd1, %rd2;\n"
                   "A: ld.relaxed.gpu.u32 %r4, [%rd3+56];\nsetp.eq.u32 %p1, %r4, 0;\n@%p1 bra A;\n"
                   "st.relaxed.gpu.u32 [%rd3+64], %r4;\nst.relaxed.gpu.u32 [%rd3+48], %r4;\nret;\n")
              .empty());
    CHECK(forms_of(
              "mul.wide.u32 %rd2, %r2, 8;\nsub.s64 %rd3, %rd1, %rd2;\n"  // later blocks are lower in memory
              "A: ld.relaxed.gpu.u32 %r4, [%rd3+56];\nsetp.eq.u32 %p1, %r4, 0;\n@%p1 bra A;\n"
              "st.relaxed.gpu.u32 [%rd3+64], %r4;\nret;\n")
              .empty());
  }
  SECTION("as far as all stores are known") {
    const std::string last = "sub.u32 %r5, %r1, %r2;\nmul.wide.u32 %rd4, %r5, 8;\n";  // from the end
    CHECK(forms_of(last + "add.s64 %rd5, %rd1, %rd4;\nst.global.u32 [%rd5], 1;\n" + look_back("56")).empty());
    const auto of_two = [&](const std::string& pointer) {
      std::string text = kernel_of(kRegisters + "ld.param.u64 %rd9, [q];\n" + last + pointer +
                                   "add.s64 %rd5, %rd5, %rd4;\nst.global.u32 [%rd5], 1;\n" + look_back("56"));
      const std::string before = ".param .u64 p, ";
      text.replace(text.find(before), before.size(), ".param .u64 q, .param .u64 p, ");
      return forms_of(transform::rewrite(text));
    };
    CHECK(of_two("mov.u64 %rd5, %rd9;\n") == kAll);
    CHECK(of_two("shl.b64 %rd8, %rd9, 2;\nadd.s64 %rd5, %rd1, %rd8;\n").empty());  // a number behind p
    CHECK(of_two("add.s64 %rd5, %rd1, %rd9;\n").empty());
    CHECK(of_two("sub.s64 %rd5, %rd9, %rd1;\n").empty());
    CHECK(of_two("setp.eq.u32 %p2, %r1, 0;\nselp.b64 %rd5, %rd1, %rd9, %p2;\n").empty());
    CHECK(of_two("mov.u64 %rd5, %rd9;\nsetp.eq.u32 %p2, %r1, 0;\n@%p2 mov.u64 %rd5, %rd1;\n").empty());
    CHECK(of_two("ld.global.u64 %rd5, [%rd9];\n") == kAll);
    CHECK(of_two("ld.local.u64 %rd5, [%rd9];\n").empty());  // possibly p
    for (const std::string unseen : {"cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r3], 16;\n",
                                     "sust.b.1d.b32.trap [%rd1, {%r3}], %r3;\n",
                                     "multimem.red.relaxed.gpu.global.add.u32 [%rd1], %r3;\n"})
      CHECK(forms_of(unseen + look_back("56")).empty());
    const std::string called =
        "{\n.param .b64 x;\nst.param.b64 [x], %rd1;\ncall f, (x);\n}\n" + look_back("56");
    const auto by_function = [&](const std::string& does) {
      return forms_of(transform::rewrite(std::string(kernel_of(kRegisters + called)) +
                                         ".func f(.param .b64 a) { .reg .b64 %rd1; ld.param.u64 %rd1, [a]; " +
                                         does + " ret; }\n"));
    };
    CHECK(by_function("") == kAll);
    CHECK(by_function("st.volatile.global.u32 [%rd1], 1;").empty());
  }
  SECTION("also by a load of several words, the last of which counts") {
    const auto wide = [](const std::string& load) {
      std::string text = look_back("48");
      const std::string narrow = "ld.relaxed.gpu.u32 %r4, [%rd3+48]";
      return forms_of(text.replace(text.find(narrow), narrow.size(), "ld.relaxed.gpu." + load));
    };
    CHECK(wide("v2.u64 {%rd4, %rd5}, [%rd3+48];\ncvt.u32.u64 %r4, %rd4") == kAll);
    CHECK(wide("v2.u64 {%rd4, %rd5}, [%rd3+56];\ncvt.u32.u64 %r4, %rd4").empty());
    CHECK(wide("v4.u32 {%r4, %r5, %r6, %r7}, [%rd3+48]") == kAll);
    CHECK(wide("v4.u32 {%r4, %r5, %r6, %r7}, [%rd3+52]").empty());
    CHECK(wide("u64 %rd4, [%rd3+60];\ncvt.u32.u64 %r4, %rd4").empty());
  }
  SECTION("the first block's own store") {
    const auto first = [](const std::string& which, const std::string& compare = "eq") {
      return "setp." + compare + ".u32 %p2, %r2, " + which + ";\n@%p2 bra B;\n" + look_back("56") +
             "B: st.relaxed.gpu.u32 [%rd1+64], 1;\nret;\n";
    };
    CHECK(only_in_one_dimension(first("0")));
    CHECK(forms_of(first("0", "ne")).empty());  // all but the first write its word
    CHECK(forms_of(first("1")).empty());  // block 1 writes what block 0 should, for which block 1 may wait
  }
}

TEST_CASE("a persistent loop is for kernels of which no thread may pass a barrier by") {
  const std::string early = "setp.ge.u32 %p1, %r3, %r1;\n@%p1 ret;\n";
  CHECK(forms_of(early + "ret;\n") == kAll);
  CHECK(forms_of(early + "bar.sync 0;\nret;\n") == "slice prologue");
  CHECK(forms_of("setp.ge.u32 %p1, %r2, %r1;\n@%p1 ret;\nbar.sync 0;\nret;\n") ==
        kAll);  // all threads or none
  CHECK(forms_of(early + "shfl.sync.idx.b32 %r4, %r3, 0, 31, -1;\nret;\n") == "slice prologue");
  CHECK(forms_of("bar.arrive 1, 64;\nret;\n") == "slice prologue");
  CHECK(forms_of("bar.sync 1, 64;\nret;\n") == kAll);
  CHECK(forms_of("bar.sync 0, 64;\nret;\n") == "slice prologue");
  CHECK(forms_of("bar.sync %r3, 64;\nret;\n") == "slice prologue");
  CHECK(forms_of("add.cc.u32 %r4, %r3, -3;\naddc.u32 %r5, 0, 0;\nsetp.eq.u32 %p1, %r5, 0;\n@%p1 "
                 "ret;\nbar.sync 0;\nret;\n") == "slice prologue");
}

TEST_CASE("arguments of functions may differ by thread, a kernel's do not") {
  const auto with = [](const std::string& function, const std::string& call) {
    return forms_of(transform::rewrite(".version 8.0\n.target sm_80\n.address_size 64\n" + function +
                                       "{ .reg .pred p; .reg .b32 %r; .shared .b32 s;\n" + call));
  };
  const std::string meets = "setp.eq.u32 p, %r, 0; @p ret; bar.sync 0; ret; }\n";
  const std::string by_thread = ".entry k() { .reg .b32 %t; .param .b32 x; mov.u32 %t, %tid.x;\n";
  CHECK(with(".func f(.param .b32 a)",
             "ld.param.u32 %r, [a];\n" + meets + by_thread + "st.param.b32 [x], %t; call f, (x); ret; }\n") ==
        "slice prologue");
  CHECK(with(".func f(.reg .b32 a)", "mov.u32 %r, a;\n" + meets + by_thread + "call f, (%t); ret; }\n") ==
        "slice prologue");
  CHECK(with(".entry f(.param .b32 a)", "ld.param.u32 %r, [a];\n" + meets) == kAll);
}

TEST_CASE("what no form can do is refused with its place") {
  CHECK(refusal_of("mov.u32 %r4, %envreg2;\nret;\n", "slice") ==
        "line 7: mov.u32 %r4, %envreg2;: it may synchronise the whole grid");
  for (const char* form : {"slice", "prologue", "loop"})
    CHECK(refusal_of(
              "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%rd1], "
              "[%rd2];\nret;\n",
              form)
              .find("it takes over blocks of its own grid") != std::string::npos);
  CHECK(refusal_of("mov.u32 %r4, %clusterid.x;\nret;\n", "slice").find("the index of its cluster") !=
        std::string::npos);
  CHECK(refusal_of("mov.u32 %r4, %total_smem_size;\nret;\n", "slice") == "taken");
  CHECK(refusal_of("mov.u32 %r4, %total_smem_size;\nret;\n", "prologue").find("size of its shared memory") !=
        std::string::npos);
  const std::string spills = ".pragma \"enable_smem_spilling\";\nret;\n";
  CHECK(forms_of(spills) == "slice");
  CHECK(refusal_of(spills, "loop").find("it spills to shared memory") != std::string::npos);
  CHECK(forms_of(".pragma \"nounroll\";\nret;\n") == kAll);
  CHECK(forms_of("alloca.u64 %rd2, 16, 8;\nret;\n") == "slice prologue");
  const std::string outside =
      ".version 8.0\n.target sm_80\n.address_size 64\n.extern .func elsewhere;\n.entry k() { call elsewhere; "
      "ret; }\n";
  CHECK(transform::rewrite(outside).kernels.at(0).refused.at(0).reason ==
        "it calls a function that the module lacks");
  const std::string clusters =
      ".version 8.0\n.target sm_90\n.address_size 64\n.entry k() .reqnctapercluster 2, 1, 1 { ret; }\n";
  CHECK(transform::rewrite(clusters).kernels.at(0).refused.at(0).instruction == ".reqnctapercluster 2, 1, 1");
  const std::string debug = ".version 8.0\n.target sm_90, debug\n.address_size 64\n.entry k() { ret; }\n";
  CHECK(forms_of(transform::rewrite(debug)).empty());
}

TEST_CASE("large and winding modules are answered, too") {
  const auto numbered = [](int count, const auto& line) {
    std::string all;
    for (int i = 0; i < count; ++i) all += line(i);
    return all;
  };
  const std::string registers = ".reg .b64 %a<200001>; .reg .b32 %b<2001>;\n",
                    polls = "A: ld.volatile.global.u32 %r4, [%rd1];\nsetp.eq.u32 %p1, %r4, 0;\n@%p1 bra A;\n",
                    stores = "st.global.u32 [%a0], %r4;\n";
  const auto sums = [&](int count, const std::string& added) {
    return numbered(count, [&](int i) {
      return fmt::format("add.s64 %a{}, %a{}, {};\n", i, i + 1,
                         added.empty() ? fmt::format("%a{}", i + 1) : added);
    });
  };
  CHECK(forms_of(registers + "mov.u64 %a200000, %rd1;\n" + polls + sums(200'000, "4") + stores + "ret;\n")
            .empty());
  CHECK(forms_of(registers + "mov.u64 %a50, %rd1;\n" + polls + "B: add.s64 %a49, %a50, %rd1;\n" +
                 sums(49, "") + "mov.u64 %a50, %a0;\n" + stores +
                 "setp.eq.u32 %p2, %r4, 9;\n@%p2 bra B;\nret;\n")
            .empty());
  const std::string branches = numbered(1000, [](int i) {
    return fmt::format(
        "ld.shared.u32 %b{0}, [%r3+{1}];\nsetp.eq.u32 %p1, %b{0}, 7;\n@%p1 bra N{0};\nst.shared.u32 "
        "[%r3+{1}], %b{0};\nN{0}:\n",
        i, 4 * i);
  });
  CHECK(forms_of(registers + "A:\n" + branches + "setp.ne.u32 %p1, %b999, 0;\n@%p1 bra A;\nret;\n") == kAll);
  const std::string functions = ".func f0() { ret; }\n" + numbered(1000, [](int i) {
                                  return fmt::format(".func f{}() {{ call f{}; ret; }}\n", i + 1, i);
                                });
  CHECK(forms_of(transform::rewrite(kernel_of("call f1000;\nret;\n") + functions)) == kAll);
}

TEST_CASE("a module that others are linked with may call what they have") {
  const std::string text =
      ".version 8.0\n.target sm_80\n.address_size 64\n.extern .global .u64 table[4];\n"
      ".weak .entry k() { .reg .b64 f; ld.global.u64 f, [table]; P: .callprototype _ ();\ncall f, (), P; "
      "ret; }\n"
      ".weak .entry other() { ret; }\n";
  CHECK(forms_of(transform::rewrite(text)) == kAll + " " + kAll);
  const Rewritten linked = transform::rewrite(text, transform::Compilation::relocatable);
  CHECK(forms_of(linked) == kAll);
  const Refusal& refusal = linked.kernels.at(0).refused.at(0);
  CHECK(refusal.reason == "it calls through a pointer, possibly a function of another module");
  CHECK(refusal.instruction == "call f, (), P;");
  CHECK(linked.kernels.at(1).report == "other$gangway_report");
  CHECK(linked.text.find("\n.weak .entry other$gangway_report(") != std::string::npos);
}

TEST_CASE("names are refused only where rewritten text would have them") {
  const auto named = [](const std::string& name) {
    return forms_of(transform::rewrite(".version 8.0\n.target sm_80\n.address_size 64\n.entry " + name +
                                       "() { ret; }\n"));
  };
  for (const std::string name : {"my_gangway_kernel", "gangway_kernel", "gangway_ends", "gangway"})
    CHECK(named(name) == kAll);
  for (const std::string name :
       {"k$gangway_loop", "k$gangway_report", "gangway_end", "gangway_ctaid_x", "gangway_shared"})
    CHECK(named(name).find("not rewritten before") != std::string::npos);
}

TEST_CASE("functions that read the block's index are copied, others are not") {
  const std::string text =
      ".version 8.0\n.target sm_80\n.address_size 64\n"
      ".func (.param .b32 r) plain(.param .b32 a) { .reg .b32 %r1; ld.param.b32 %r1, [a]; st.param.b32 [r], "
      "%r1; ret; }\n"
      ".func (.param .b32 r) which(.param .b32 a) { .reg .b32 %r1; mov.u32 %r1, %ctaid.y; st.param.b32 [r], "
      "%r1; ret; }\n"
      ".func (.param .b32 r) via(.param .b32 a) { .reg .b32 %r1; .param .b32 x; .param .b32 y; st.param.b32 "
      "[x], 1;\n"
      " call (y), which, (x); ld.param.b32 %r1, [y]; st.param.b32 [r], %r1; ret; }\n"
      ".entry k() { .param .b32 x; .param .b32 y; st.param.b32 [x], 1; call (y), plain, (x); call (y), via, "
      "(x); ret; }\n";
  const Rewritten rewritten = transform::rewrite(text);
  CHECK(forms_of(rewritten) == kAll);
  CHECK(rewritten.text.find("which$gangway_slice") != std::string::npos);
  CHECK(rewritten.text.find("via$gangway_loop") != std::string::npos);
  CHECK(rewritten.text.find("plain$gangway") == std::string::npos);
  CHECK(rewritten.text.find("call (y), via$gangway_prologue, (%gangway_ctaid_x") != std::string::npos);
}

}  // namespace gangway::testing
