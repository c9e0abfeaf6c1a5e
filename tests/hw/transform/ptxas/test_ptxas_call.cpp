// Command lines of ptxas: which words are PTX files, and which options matter to the code.
#include <fstream>

#include "hw/transform/ptxas/assembler.hpp"
#include "hw/transform/ptxas/ptxas_call.hpp"
#include "tests/catch.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::testing {

using namespace transform;
using Words = std::vector<std::string>;

TEST_CASE("PTX files are told from options and their values", "[ptxas]") {
  const ScratchFolder scratch;
  const auto file = [&](const std::string& name, const std::string& text) {
    std::ofstream(scratch / name) << text;
    return (scratch / name).string();
  };
  const std::string a = file("a.ptx", ".version 9.0\n.target sm_90\n"),
                    b = file("b c.ptx", ".version 9.0\n.target sm_80\n"), source = file("k.cu", "__global__");
  const auto inputs = [](const Words& arguments) {
    const PtxasCall call = read_ptxas_call(arguments);
    Words out;
    for (const std::size_t i : call.inputs) out.push_back(call.arguments[i]);
    return out;
  };
  CHECK(inputs({"-arch=sm_90", "-m64", a, "-o", b}) == Words{a});
  CHECK(inputs({"-o", a, b, "-arch", "sm_90"}) == Words{b});
  CHECK(inputs({a, b}) == Words{a, b});
  CHECK(inputs({source, "missing.ptx", "-v"}).empty());
  CHECK(inputs({"--output-file", a, "--gpu-name", "sm_90", b, "-lineinfo"}) == Words{b});
  const std::string options = file("options", "-arch=sm_90 -o \"out file\"\n '" + b + "' -v"),
                    nested = file("nested", "@" + options + " " + a);
  CHECK(read_ptxas_call({"@" + options}).arguments == Words{"-arch=sm_90", "-o", "out file", b, "-v"});
  CHECK(inputs({"@" + options}) == Words{b});
  CHECK(inputs({"-optf", nested}) == Words{b, a});
  CHECK(inputs({"--options-file=" + nested + "," + options}) == Words{b, a, b});
  CHECK(read_ptxas_call({"@missing"}).arguments == Words{"@missing"});
  const std::string endless = file("endless", "");
  std::ofstream(endless) << "@" << endless;
  CHECK(read_ptxas_call({"@" + endless}).inputs.empty());
  CHECK(read_ptxas_call({a}).whole);
  CHECK_FALSE(read_ptxas_call({a, "-e", "k"}).whole);
  CHECK_FALSE(read_ptxas_call({"--entry=k", a}).whole);
  CHECK_FALSE(read_ptxas_call({a, "-o", "a.cubin"}).relocatable);
  CHECK(read_ptxas_call({"-c", a}).relocatable);
  CHECK(read_ptxas_call({a, "--compile-only"}).relocatable);
  CHECK(read_ptxas_call({a, b}).relocatable);
}

TEST_CASE("of a fatbin's options those stay that change the code", "[ptxas]") {
  CHECK(assembler_options("-v  --generate-line-info ").empty());
  CHECK(assembler_options(" -g --dont-merge-basicblocks --return-at-end ") ==
        Words{"-g", "--dont-merge-basicblocks", "--return-at-end"});
  CHECK(assembler_options("-maxrregcount=40 -O1 -v") == Words{"-maxrregcount=40", "-O1"});
  CHECK(assembler_options("--maxrregcount 40 -O 2 --fmad false") ==
        Words{"--maxrregcount=40", "-O2", "--fmad=false"});
  CHECK(assembler_options("-o /etc/passwd --compile-only x").empty());
}

}  // namespace gangway::testing
