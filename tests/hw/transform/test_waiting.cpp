// Kernels that wait for another block, and those that only seem to.
#include <string>

#include "hw/transform/rewrite.hpp"
#include "tests/catch.hpp"
#include "tests/hw/transform/small_kernels.hpp"

namespace gangway::testing {
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
    CHECK(slots("add.s32 %r5, %r5, 1;\n") == kAll);                                 // on and on
    CHECK(slots("setp.ne.u32 %p2, %r4, 0;\n@%p2 add.s32 %r5, %r5, 1;\n").empty());  // once it was found
    CHECK(slots("setp.eq.u32 %p2, %r4, 0;\n@%p2 bra C;\nadd.s32 %r5, %r5, 1;\nC: ").empty());
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
  SECTION("also in a loop that is entered at several places") {
    const auto entered = [](const std::string& before, const std::string& load) {
      return forms_of("mov.u32 %r5, 0;\n" + before + "A: " + load +
                      ".u32 %r4, [%rd1];\nsetp.eq.u32 %p2, %r4, 0;\n@%p2 bra B;\nsetp.ne.u32 %p3, %r5, %r1;\n"
                      "@%p3 bra C;\nB: add.u32 %r5, %r5, 1;\nbra A;\nC: ret;\n");
    };
    const std::string twice = "setp.gt.u32 %p1, %r1, 3;\n@%p1 bra B;\n";
    CHECK(entered(twice, "ld.volatile.global").empty());
    CHECK(entered("", "ld.volatile.global").empty());
    CHECK(entered(twice, "ld.global.nc") == kAll);
    // Nor do addresses go on there in each round.
    const auto looks = [&](const std::string& way) {
      return forms_of("mov.u32 %r5, 0;\n" + way +
                      "A: mul.wide.u32 %rd2, %r5, 4;\nadd.s64 %rd3, %rd1, %rd2;\n"
                      "ld.global.u32 %r4, [%rd3];\nmembar.gl;\nsetp.ne.u32 %p2, %r4, 0;\n@%p2 bra C;\n"
                      "B: setp.gt.u32 %p4, %r3, 5;\n@%p4 bra A;\nadd.u32 %r5, %r5, 1;\nbra A;\nC: ret;\n");
    };
    CHECK(looks(twice).empty());
    CHECK(looks("").empty());
  }
  SECTION("also by the carry of a sum") {
    const auto carries = [](const std::string& first, const std::string& then,
                            const std::string& load = "ld.volatile") {
      return forms_of("A: " + load + ".global.u32 %r4, [%rd1];\n" + first + then +
                      "setp.eq.u32 %p1, %r6, 0;\n@%p1 bra A;\nret;\n");
    };
    const std::string of_it = "add.cc.u32 %r5, %r4, 0xffffffff;\n", of_none = "add.cc.u32 %r7, %r3, %r1;\n",
                      carry = "addc.u32 %r6, 0, 0;\n";
    CHECK(carries(of_it, carry).empty());
    CHECK(carries(of_it, "addc.cc.u32 %r7, %r3, 0;\nmadc.lo.u32 %r6, 0, 0, 0;\n").empty());
    CHECK(carries(of_it, "@%p2 " + of_none + carry).empty());
    CHECK(carries(of_it, "bra B;\nB: " + carry).empty());
    CHECK(carries(of_it + of_none, carry) == kAll);  // of the last one, for ever or not at all
    // An address that is the same in each round, however often carries are set.
    CHECK(carries("membar.gl;\nadd.cc.u32 %r7, %r3, 1;\nadd.cc.u32 %r8, %r2, 1;\naddc.u32 %r9, 0, 0;\n"
                  "cvt.u64.u32 %rd2, %r9;\nadd.s64 %rd3, %rd1, %rd2;\nld.global.u32 %r6, [%rd3];\n",
                  "", "ld.global.nc")
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
  SECTION("tickets that go round, or of which some bits only are looked at") {
    const auto tickets = [](const std::string& atomic, const std::string& then,
                            const std::string& compared = "%r4, %r1") {
      return forms_of("A: atom.global." + atomic + ";\n" + then + "setp.lt.u32 %p1, " + compared +
                      ";\n@%p1 bra A;\nret;\n");
    };
    const std::string two = "add.u32 %r4, [%rd1], 2", most = "add.u64 %rd2, [%rd1], 0x100000000";
    CHECK(tickets("inc.u32 %r4, [%rd1], 7", "").empty());
    CHECK(tickets("dec.u32 %r4, [%rd1], %r1", "").empty());
    CHECK(tickets("inc.u32 %r4, [%rd1], 0xffffffff", "") == kAll);
    CHECK(tickets("dec.u32 %r4, [%rd1], -1", "") == kAll);
    CHECK(tickets(two, "") == kAll);
    for (const std::string part :
         {"and.b32 %r5, %r4, 1;\n", "shr.u32 %r5, %r4, 31;\n", "bfe.u32 %r5, %r4, 0, 1;\n",
          "shl.b32 %r5, %r4, 31;\n", "mul.lo.u32 %r5, %r4, 0x80000000;\n", "cvt.u32.u8 %r5, %r4;\n",
          "prmt.b32 %r5, %r4, 0, 0;\n", "cvt.u16.u32 %h1, %r4;\ncvt.u32.u16 %r5, %h1;\n",
          ".shared .b32 s;\nst.shared.u8 [s], %r4;\nld.shared.u8 %r5, [s];\n",
          ".shared .b32 s;\nst.shared.u32 [s], %r4;\nld.shared.u32 %r6, [s];\nand.b32 %r5, %r6, 1;\n"})
      CHECK(tickets(two, ".reg .b16 %h<2>;\n" + part, "%r5, %r1").empty());
    for (const std::string whole :
         {"shl.b32 %r5, %r4, 8;\n", "mad.lo.u32 %r5, %r4, %r1, %r3;\n", "mul.lo.u32 %r5, %r4, 256;\n",
          "cvt.u64.u32 %rd2, %r4;\nmul.lo.u64 %rd2, %rd2, 0x80000000;\ncvt.rn.f32.u64 %r5, %rd2;\n",
          ".shared .b32 s;\nst.shared.u32 [s], %r4;\nld.shared.u32 %r5, [s];\n",
          "mul.wide.u32 %rd2, %r4, 4;\nadd.u64 %rd2, %rd2, %rd1;\nld.global.nc.u8 %r6, [%rd2];\nand.b32 %r6, "
          "%r6, 1;\nmin.u32 %r5, %r4, %r6;\n"})
      CHECK(tickets(two, whole, "%r5, %r1") == kAll);
    const auto given = [](const std::string& does) {
      return forms_of(transform::rewrite(
          kernel_of(kRegisters +
                    ".shared .b32 s;\nA: atom.global.add.u32 %r4, [%rd1], 2;\nst.shared.u32 [s], %r4;\n"
                    "{ .param .b32 x; st.param.b32 [x], %r4; call f, (x); }\nld.shared.u32 %r5, [s];\n"
                    "setp.lt.u32 %p1, %r5, %r1;\n@%p1 bra A;\nret;\n") +
          ".global .b32 g;\n.func f(.param .b32 a) { .reg .b32 r; ld.param.u32 r, [a]; and.b32 r, r, 1; " +
          does + " ret; }\n"));
    };
    CHECK(given("st.global.u32 [g], r;") == kAll);
    CHECK(given("st.shared.u32 [r], r;").empty());
    CHECK(tickets(most, "cvt.u32.u64 %r5, %rd2;\n", "%r5, %r1").empty());
    CHECK(tickets(most, "mov.b64 {%r5, %r6}, %rd2;\n", "%r5, %r1").empty());
    CHECK(forms_of("A: atom.global." + most + ";\nsetp.lt.u64 %p1, %rd2, %rd1;\n@%p1 bra A;\nret;\n") ==
          kAll);
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
  SECTION("a compare-and-swap of which another branch goes round for what it found") {
    const auto take = [](const std::string& none) {
      return forms_of(
          "ld.global.u32 %r4, [%rd1];\nA: mov.u32 %r5, %r4;\nsetp.eq.u32 %p2, %r5, 0;\n"
          "add.u32 %r7, %r5, -1;\nselp.b32 %r6, 0, %r7, %p2;\n"
          "atom.global.cas.b32 %r4, [%rd1], %r5, %r6;\n@%p2 bra " +
          none + ";\nsetp.ne.u32 %p1, %r4, %r5;\n@%p1 bra A;\nC: ret;\nB: nanosleep.u32 9;\nbra A;\n");
    };
    CHECK(take("B").empty());
    CHECK(take("C") == kAll);
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
  SECTION("also by copies from one place to several in turn") {
    const auto copies = [](const std::string& copy, const std::string& after) {
      return forms_of(".shared .align 16 .b8 s[64];\nmov.u32 %r5, s;\nmov.u64 %rd2, %rd1;\nA: " + copy +
                      "\ncp.async.wait_all;\nld.shared.u32 %r4, [%r5];\n" + after +
                      "setp.eq.u32 %p1, %r4, 0;\n@%p1 bra A;\nret;\n");
    };
    const std::string
        there = "xor.b32 %r5, %r5, 16;\n",
        on = "add.s64 %rd2, %rd2, 16;\n", small = "cp.async.cg.shared.global [%r5], [%rd2], 16;",
        bulk = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r5], [%rd2], 16, [%r6];";
    for (const std::string& copy : {small, bulk}) {
      CHECK(copies(copy, there).empty());
      CHECK(copies(copy, there + on) != "");
    }
    CHECK(
        copies("cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r5], 16;\ncp.async.bulk.commit_group;",
               "") != "");
  }
  SECTION("also where one thread finds it and the others by an mbarrier") {
    const auto meets = [](const std::string& load, const std::string& wait, const std::string& arrive) {
      return forms_of(".shared .b64 m;\nA: setp.ne.u32 %p1, %r3, 0;\n@%p1 bra B;\n" + load +
                      ".global.u32 %r4, [%rd1];\nsetp.eq.u32 %p2, %r4, 0;\n@%p2 bra B;\n" + arrive +
                      "B: mbarrier." + wait + ".parity.shared.b64 %p3, [m], 0;\n@!%p3 bra A;\nret;\n");
    };
    for (const std::string wait : {"test_wait", "try_wait"}) {
      for (const std::string arrive :
           {"mbarrier.arrive.shared.b64 %rd2, [m];\n", "mbarrier.arrive.expect_tx.shared.b64 _, [m], 16;\n",
            "mbarrier.complete_tx.shared.b64 [m], 16;\n", "cp.async.mbarrier.arrive.shared.b64 [m];\n"})
        CHECK(meets("ld.volatile", wait, arrive).empty());
      CHECK(meets("ld.nc", wait, "mbarrier.arrive.shared.b64 %rd2, [m];\n") == "slice prologue");
    }
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
  SECTION("also by an ordinary load in a function, whatever other calls are given") {
    const auto calls = [](const std::string& given) {
      const std::string call = "{\n.param .b64 x;\nst.param.b64 [x], " + given +
                               ";\n.param .b32 y;\ncall (y), look, (x);\nld.param.b32 %r4, [y];\n}\n";
      const std::string before =
          "{\n.param .b64 x;\nst.param.b64 [x], %rd2;\n.param .b32 y;\n"
          "call (y), look, (x);\nld.param.b32 %r6, [y];\n}\n";
      return forms_of(transform::rewrite(
          kernel_of(kRegisters + "mov.u64 %rd2, %rd1;\n" + before +
                    "A: membar.gl;\nadd.s64 %rd2, %rd2, 4;\n" + call +
                    "setp.eq.u32 %p1, %r4, 0;\n@%p1 bra A;\nret;\n") +
          ".func (.param .b32 r) look(.param .b64 at) { .reg .b32 v; .reg .b64 a; ld.param.u64 a, [at]; "
          "ld.u32 v, [a]; st.param.b32 [r], v; ret; }\n"));
    };
    CHECK(calls("%rd1").empty());
    CHECK(calls("%rd2") == kAll);  // on and on
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
  SECTION("also by calling itself through a pointer") {
    const auto recursive = [](const std::string& load, const std::string& address) {
      return forms_of(transform::rewrite(kernel_of("call f;\nret;\n") +
                                         ".global .b32 flag;\n.func f() { .reg .b32 r; .reg .b64 way; .reg "
                                         ".pred p; P: .callprototype _ ();\n" +
                                         load +
                                         ".global.u32 r, [flag]; setp.ne.u32 p, r, 0; @p ret; mov.b64 way, " +
                                         address + "; call way, (), P; ret; }\n.func g() { ret; }\n"));
    };
    CHECK(recursive("ld.volatile", "f").empty());
    CHECK(recursive("ld.volatile", "g") == kAll);
    CHECK(recursive("ld", "f") == kAll);
  }
  SECTION("also in a function in which the thread ends") {
    const auto polls = [](const std::string& end, const std::string& load) {
      return forms_of(transform::rewrite(kernel_of(kRegisters + "A: call f;\nbra A;\n") +
                                         ".global .b32 flag;\n.func f() { .reg .b32 r; .reg .pred p; " +
                                         load + ".global.u32 r, [flag]; setp.ne.u32 p, r, 0; @p " + end +
                                         "; ret; }\n"));
    };
    CHECK(polls("exit", "ld.volatile").empty());
    CHECK(polls("ret", "ld.volatile") == kAll);  // for ever, in any form
    CHECK(polls("exit", "ld.nc") == "slice prologue");
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
  // Likewise by a number in a register.
  CHECK(forms_of("mov.u32 %r5, 1;\nA: atom.global.add.u32 %r4, [%rd1], %r5;\nsetp.lt.u32 %p1, %r4, %r1;\n"
                 "@%p1 bra A;\nret;\n") == kAll);
  // Polling memory of the block.
  CHECK(forms_of(".shared .b32 s;\nA: ld.volatile.shared.u32 %r4, [s];\nsetp.eq.u32 %p1, %r4, 0;\n@%p1 bra "
                 "A;\nret;\n") == kAll);
}

}  // namespace gangway::testing
