// What the rewriter takes and what it refuses, by small kernels of which the right answer is plain.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "hw/transform/rewrite.hpp"
#include "tests/catch.hpp"
#include "tests/hw/transform/small_kernels.hpp"

namespace gangway::testing {
namespace {

using transform::Refusal;
using transform::Rewritten;

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

TEST_CASE("a persistent loop is for kernels of which no thread may pass a barrier by") {
  const std::string early = "setp.ge.u32 %p1, %r3, %r1;\n@%p1 ret;\n";
  CHECK(forms_of(early + "ret;\n") == kAll);
  CHECK(forms_of(early + "bar.sync 0;\nret;\n") == "slice prologue");
  CHECK(forms_of("setp.ge.u32 %p1, %r2, %r1;\n@%p1 ret;\nbar.sync 0;\nret;\n") ==
        kAll);  // all threads or none
  CHECK(forms_of(early + "shfl.sync.idx.b32 %r4, %r3, 0, 31, -1;\nret;\n") == "slice prologue");
  CHECK(forms_of(early + "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync."
                         "aligned [%rd1], [%r3], 128;\nret;\n") == "slice prologue");
  CHECK(forms_of(early + "vote.all.pred %p2, %p1;\nret;\n") == "slice prologue");
  CHECK(forms_of("bar.arrive 1, 64;\nret;\n") == "slice prologue");
  CHECK(forms_of("bar.sync 1, 64;\nret;\n") == kAll);
  CHECK(forms_of("bar.sync 0, 64;\nret;\n") == "slice prologue");
  CHECK(forms_of("bar.sync %r3, 64;\nret;\n") == "slice prologue");
  CHECK(forms_of("add.cc.u32 %r4, %r3, -3;\naddc.u32 %r5, 0, 0;\nsetp.eq.u32 %p1, %r5, 0;\n@%p1 "
                 "ret;\nbar.sync 0;\nret;\n") == "slice prologue");
  CHECK(forms_of("add.cc.u32 %r4, %r1, -3;\naddc.u32 %r5, 0, 0;\nsetp.eq.u32 %p1, %r5, 0;\n@%p1 "
                 "ret;\nbar.sync 0;\nret;\n") == kAll);
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

TEST_CASE("a loop needs a barrier that old versions of PTX lack") {
  const auto of_version = [](const std::string& version) {
    const std::string ptx =
        ".version " + version + "\n.target sm_52\n.address_size 64\n.entry k() { ret; }\n";
    return transform::rewrite(ptx);
  };
  CHECK(forms_of(of_version("6.0")) == kAll);
  CHECK(forms_of(of_version("5.1")) == "slice prologue");
  CHECK(of_version("4.3").kernels.at(0).refused.at(0).reason ==
        "the module's PTX is of version 4.3, and this form needs 6.0");
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
  CHECK(refusal_of("mov.u64 %rd2, %gridid;\nret;\n", "slice") ==
        "line 7: mov.u64 %rd2, %gridid;: it reads the number of its launch, and has several");
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

TEST_CASE("what PTX 9.0 does not have is in no form, and another version of PTX neither") {
  const std::string reason = "PTX 9.0 has no such instruction or register";
  CHECK(refusal_of("gridbarrier.sync.all;\nret;\n", "slice") == "line 7: gridbarrier.sync.all;: " + reason);
  CHECK(refusal_of("mov.u32 %r4, %newblockid;\nret;\n", "slice") ==
        "line 7: mov.u32 %r4, %newblockid;: " + reason);
  for (const std::string unknown : {"%envreg32", "%pm8", "%pm1_65", "%r20_", "%laneid.x", "%rr1"})
    CHECK(refusal_of("mov.u32 %r4, " + unknown + ";\nret;\n", "loop").find(reason) != std::string::npos);
  for (const std::string known : {"%pm7_64", "%clock_hi", "%laneid", "%tid", "%nsmid", "%r19", "WARP_SZ"})
    CHECK(forms_of("mov.u32 %r4, " + known + ";\nret;\n") == kAll);
  CHECK(forms_of("{ .reg .v2 .b32 %v; mov.u32 %r4, %v.x; }\n.shared .b32 %s;\nmov.u32 %r4, %s;\n%L: bra "
                 "%M;\n%M: ret;\n") == kAll);
  // In what is called, but not in what is not.
  const auto with = [](const std::string& call) {
    return forms_of(transform::rewrite(kernel_of(call + "ret;\n") + ".func f() { waitword; ret; }\n"));
  };
  CHECK(with("call f;\n").empty());
  CHECK(with("") == kAll);
  const auto version = [](const std::string& number) {
    return transform::rewrite(".version " + number +
                              "\n.target sm_90\n.address_size 64\n.entry k() { ret; }\n");
  };
  CHECK(forms_of(version("9.0")) == kAll);
  for (const std::string later : {"9.1", "9.7", "10.0"}) {
    const Rewritten rewritten = version(later);
    CHECK(forms_of(rewritten).empty());
    const Refusal& refusal = rewritten.kernels.at(0).refused.at(0);
    CHECK(refusal.reason == "the module is of a later version than PTX 9.0");
    CHECK(refusal.instruction == ".version " + later);
    CHECK(refusal.line == 1);
  }
}

TEST_CASE("instructions of tensor memory are read") {
  CHECK(
      forms_of(".shared .b32 s;\ntcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [s], 32;\nret;\n") ==
      "slice prologue");
}

TEST_CASE("what is for clusters or for dependent launches is in no form, however it is launched") {
  for (const std::string cluster :
       {"barrier.cluster.arrive.release.aligned;", "barrier.cluster.wait;", "mapa.u64 %rd2, %rd1, 1;",
        "getctarank.u64 %r4, %rd1;", "mov.u32 %r4, %cluster_ctarank;", "mov.u32 %r4, %cluster_nctaid.x;",
        "mov.pred %p1, %is_explicit_cluster;", "ld.shared::cluster.u32 %r4, [%r3];",
        "atom.shared::cluster.add.u32 %r4, [%r3], 1;",
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r3];",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r3], [%rd1], "
        "16, [%r4], %h1;",
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r3], [%r5], 16, [%r4];",
        "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.b64 [%rd1];"})
    CHECK(refusal_of(".reg .b16 %h<2>;\n" + cluster + "\nret;\n", "slice") ==
          "line 8: " + cluster + ": its blocks work together in clusters");
  for (const std::string own :
       {"tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%rd1];",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd1], 16, [%r4];",
        "isspacep.shared::cluster %p1, %rd1;", "fence.acq_rel.cluster;"})
    CHECK(refusal_of(own + "\nret;\n", "slice") == "taken");
  for (const std::string dependent : {"griddepcontrol.wait;", "griddepcontrol.launch_dependents;"})
    CHECK(refusal_of(dependent + "\nret;\n", "slice") ==
          "line 7: " + dependent +
              ": it is launched before the kernel ahead of it ends, or lets the next one be");
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

TEST_CASE("a call through a pointer may reach the functions whose address is taken") {
  const auto with = [](const std::string& address, const std::string& body) {
    return forms_of(transform::rewrite(
        ".version 8.0\n.target sm_80\n.address_size 64\n.global .u64 table[2] = {0, " + address +
        "};\n.func f() { ret; }\n.func g() { .reg .b32 r; .reg .pred p; .shared .b32 s; " + body +
        " ret; }\n.alias h, g;\n.entry k() { .reg .b64 f; ld.global.u64 f, [table]; P: .callprototype _ ();\n"
        "call g; call f, (), P; ret; }\n"));
  };
  const std::string index = "mov.u32 r, %ctaid.x;",
                    waits = "A: ld.volatile.global.u32 r, [table]; setp.eq.u32 p, r, 0; @p bra A;",
                    some = "mov.u32 r, %tid.x; setp.eq.u32 p, r, 0; @p ret; bar.sync 0;";
  CHECK(with("f", index) == kAll);
  CHECK(with("g", index).empty());
  CHECK(with("h", index).empty());
  CHECK(with("generic(g)", index).empty());
  CHECK(with("f", index + " mov.b64 %rd1, g; .reg .b64 %rd1;").empty());
  CHECK(with("f", waits).empty());  // called by its name
  CHECK(with("f", some) == "slice prologue");
  CHECK(with("f", "exit;") == "slice prologue");
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
