// Kernels that wait for blocks of lower index only.
#include <algorithm>
#include <string>

#include "hw/transform/rewrite.hpp"
#include "tests/catch.hpp"
#include "tests/hw/transform/small_kernels.hpp"

namespace gangway::testing {
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
  const transform::Rewritten rewritten = transform::rewrite(kernel_of(kRegisters + body));
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
  SECTION("but not where the index is cut off") {
    const auto of = [](const std::string& index) {
      return forms_of(".reg .b16 %h<2>;\n" + index +
                      "mul.wide.u32 %rd2, %r5, 8;\nadd.s64 %rd3, %rd1, %rd2;\n"
                      "A: ld.relaxed.gpu.u32 %r4, [%rd3+56];\nsetp.eq.u32 %p1, %r4, 0;\n@%p1 bra A;\n"
                      "st.relaxed.gpu.u32 [%rd3+64], %r4;\nret;\n");
    };
    CHECK(of("mov.u32 %r5, %r2;\n") == kAll);
    CHECK(of("cvt.s32.s8 %r5, %r2;\n").empty());
    CHECK(of("cvt.u16.u32 %h1, %r2;\ncvt.u32.u16 %r5, %h1;\n").empty());
    CHECK(of("cvt.u64.u32 %rd4, %r2;\nshl.b64 %rd5, %rd4, 26;\ncvt.u32.u64 %r5, %rd5;\n").empty());
    CHECK(of("cvt.u64.u32 %rd4, %r2;\nadd.u64 %rd5, %rd4, 9;\ncvt.u32.u64 %r5, %rd5;\n") == kAll);
    CHECK(of("shl.b32 %r5, %r2, 26;\n").empty());
    CHECK(of("shl.b32 %r5, %r2, 1;\n").empty());
    CHECK(of("mul.lo.u32 %r5, %r2, 0x04000000;\n").empty());
    CHECK(of("mad.lo.u32 %r5, %r2, 4, %r1;\n").empty());
    CHECK(of("mad.lo.u32 %r5, %r2, 1, %r1;\n") == kAll);
    const auto wide = [&](const std::string& product) {
      return forms_of(product +
                      "add.s64 %rd3, %rd1, %rd2;\n"
                      "A: ld.relaxed.gpu.u32 %r4, [%rd3+56];\nsetp.eq.u32 %p1, %r4, 0;\n@%p1 bra A;\n"
                      "st.relaxed.gpu.u32 [%rd3+64], %r4;\nret;\n");
    };
    CHECK(wide("cvt.u64.u32 %rd4, %r2;\nshl.b64 %rd2, %rd4, 26;\n") == kAll);
    CHECK(wide("mul.wide.u32 %rd2, %r2, 4096;\n") == kAll);
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

}  // namespace gangway::testing
