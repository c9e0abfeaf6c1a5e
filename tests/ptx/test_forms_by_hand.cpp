// Forms written by hand after the contract, without the rewriter: what holds forms against their originals
// takes them, and finds what is wrong with them.
#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/ptx/played_forms.hpp"

using namespace gangway::testing::ptx;
namespace transform = gangway::transform;

namespace {

// Each thread of a block of 40 gives its neighbour a number that depends on the block's place in a grid of 5
// x 3.
constexpr std::string_view kBody = R"(
  .reg .pred %p<4>; .reg .b32 %r<20>; .reg .b64 %d<8>;
  .shared .align 4 .b8 given[160];
  {find}
  ld.param.u64 %d0, [out];
  mov.u32 %r0, %tid.x;
  mad.lo.u32 %r5, %r2, %r3, %r1;
  mad.wide.u32 %d0, %r5, 704, %d0;
  setp.eq.u32 %p0, %r0, 0;
  @%p0 red.global.add.u32 [%d0], 1;
  mad.lo.u32 %r6, %r1, 100, %r0;
  mad.lo.u32 %r6, %r2, 1000, %r6;
  mad.lo.u32 %r6, %r4, 100000, %r6;
  mov.u32 %r7, given;
  mad.lo.u32 %r8, %r0, 4, %r7;
  st.shared.u32 [%r8], %r6;
  bar.sync 0;
  setp.eq.u32 %p1, %r0, 39;
  @%p1 {leave};
  ld.shared.u32 %r9, [%r8+4];
  mad.wide.u32 %d1, %r0, 16, %d0;
  st.global.u32 [%d1+64], %r9;
  {leave};
)";

constexpr std::string_view kHidden =
    ", .param .align 8 .u64 control, .param .u32 grid_x, .param .u32 grid_y, .param .u32 grid_z, .param .u32 "
    "first, .param .u32 end, .param .u32 looks, .param .align 8 .u64 host";

// From the index in %r10.
constexpr std::string_view kPlace = R"(
  ld.param.u32 %r3, [grid_x]; ld.param.u32 %r4, [grid_y];
  rem.u32 %r1, %r10, %r3; div.u32 %r2, %r10, %r3;
)";

// The first thread claims and hands the index on, behind the kernel's 37 bytes of dynamic shared memory.
constexpr std::string_view kClaim = R"(
  mov.u32 %r11, dynamic; add.u32 %r11, %r11, 40;
NEXT:
  bar.sync 0;
  mov.u32 %r12, %tid.x; setp.ne.u32 %p2, %r12, 0;
  @%p2 bra WAIT;
  ld.param.u64 %d6, [control];
  atom.global.add.u64 %d7, [%d6], 1;
  mov.b64 {{%r13, %r14}}, %d7;
  setp.ne.u32 %p3, %r14, 0;
  {limit}
  @%p3 bra REFUSED;
  ld.param.u32 %r14, [looks]; and.b32 %r14, %r13, %r14;
  setp.ne.u32 %p3, %r14, 0;
  @%p3 bra CLAIMED;
  ld.param.u32 %r14, [first];
  setp.ge.u32 %p3, %r13, %r14;
  @%p3 bra CLAIMED;
  ld.param.u64 %d7, [host];
  ld.volatile.global.u32 %r14, [%d7];
  setp.ne.u32 %p3, %r14, 0;
  @%p3 st.volatile.global.u32 [%d6+4], 1;
  bra CLAIMED;
REFUSED:
  red.global.add.u64 [%d6], -1;
  mov.u32 %r13, -1;
CLAIMED:
  st.shared.u32 [%r11], %r13;
WAIT:
  bar.sync 0;
  ld.shared.u32 %r10, [%r11];
  setp.eq.u32 %p3, %r10, -1;
  {leaves}
)";

// The last block to leave reports if the flag is up.
constexpr std::string_view kReport = R"(@!%p3 bra GO_ON;
  @%p2 ret;
  ld.param.u64 %d6, [control];
  membar.gl;
  atom.global.add.u32 %r14, [%d6+8], 1;
  add.u32 %r14, %r14, 1; mov.u32 %r15, %nctaid.x;
  setp.ne.u32 %p3, %r14, %r15;
  @%p3 ret;
  ld.volatile.global.u32 %r14, [%d6+4];
  setp.eq.u32 %p3, %r14, 0;
  @%p3 ret;
  ld.volatile.global.u32 %r14, [%d6];
  ld.param.u64 %d7, [host];
  st.volatile.global.u32 [%d7+4], %r14;
  ret;
GO_ON:)";

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
  return text;
}

std::string entry(const std::string& name, std::string_view hidden, const std::string& find,
                  const std::string& leave) {
  const std::string body = replaced(replaced(std::string(kBody), "{find}", find), "{leave}", leave);
  return fmt::format(".visible .entry {}(.param .u64 out{})\n{{{}}}\n", name, hidden, body);
}

std::string module_text() {
  const std::string claim = replaced(std::string(kClaim), "{{", "{");
  const std::string one = replaced(replaced(claim, "{limit}", ""), "{leaves}", "@%p3 ret;"),
                    many = replaced(replaced(claim, "{limit}",
                                             "ld.param.u32 %r14, [end]; setp.ge.or.u32 %p3, %r13, %r14, "
                                             "%p3;"),
                                    "{leaves}", std::string(kReport));
  return ".version 8.0\n.target sm_80\n.address_size 64\n.extern .shared .align 16 .b8 dynamic[];\n" +
         entry(
             "k", "",
             "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %nctaid.x; mov.u32 %r4, %nctaid.y;",
             "ret") +
         entry("k_slice", kHidden,
               "mov.u32 %r10, %ctaid.x; ld.param.u32 %r11, [first]; add.u32 %r10, %r10, %r11; ld.param.u32 "
               "%r14, "
               "[end]; setp.ge.u32 %p3, %r10, %r14; @%p3 ret;" +
                   std::string(kPlace),
               "ret") +
         entry("k_prologue", kHidden, replaced(one, "}}", "}") + std::string(kPlace), "ret") +
         entry("k_loop", kHidden, replaced(many, "}}", "}") + std::string(kPlace), "bra NEXT");
}

RandomKernel kernel() {
  RandomKernel made;
  made.name = "k";
  made.grid = {5, 3, 1};
  made.block.x = 40;
  made.dynamic_shared_bytes = 37;
  made.parameters.resize(8);
  made.output_parameter = 0;
  made.region_bytes = 64 + 16 * 40;
  return made;
}

// The first thing that is wrong with a form in so many schedules.
std::string wrong(const std::string& text, const std::string& form, int schedules = 40) {
  const RandomKernel of = kernel();
  const Original original(module_text(), of, 1);
  Module with(text);
  transform::Form description;
  description.form = form;
  description.entry = "k_" + form;
  description.hidden.offset = 8;
  description.shared_bytes = form == "slice" ? 0 : 7;
  std::string why;
  for (int seed = 0; seed < schedules && why.empty(); ++seed)
    why = difference(original, with, description, static_cast<std::uint64_t>(seed));
  return why;
}

}  // namespace

TEST_CASE("forms by hand are right") {
  for (const char* const form : {"slice", "prologue", "loop"}) {
    INFO(form);
    CHECK(wrong(module_text(), form) == "");
  }
}

TEST_CASE("faults in forms by hand are found") {
  struct Fault {
    const char *name, *form, *what, *with;
  };
  constexpr Fault kFaults[] = {
      {"no barrier behind the claim", "prologue", "WAIT:\n  bar.sync 0;", "WAIT:"},
      {"the claim is not taken back", "prologue", "red.global.add.u64 [%d6], -1;", ""},
      {"the flag is ignored", "prologue", "setp.ne.u32 %p3, %r14, 0;", "setp.ne.u32 %p3, 0, 0;"},
      {"the end is ignored", "loop", "setp.ge.or.u32 %p3, %r13, %r14, %p3;", ""},
      {"the place is the kernel's", "prologue", "mov.u32 %r11, dynamic; add.u32 %r11, %r11, 40;",
       "mov.u32 %r11, given;"},
      {"the place is behind the block's memory", "prologue", "add.u32 %r11, %r11, 40;",
       "add.u32 %r11, %r11, 44;"},
      {"rows and columns are exchanged", "slice", "rem.u32 %r1, %r10, %r3; div.u32 %r2, %r10, %r3;",
       "rem.u32 %r2, %r10, %r3; div.u32 %r1, %r10, %r3;"},
      {"the height is the launch's", "prologue", "ld.param.u32 %r4, [grid_y];", "mov.u32 %r4, %nctaid.y;"},
      {"the first index is left out", "slice", "add.u32 %r10, %r10, %r11;", ""},
      {"the slice's end is ignored", "slice", "setp.ge.u32 %p3, %r10, %r14;", "setp.ne.u32 %p3, 0, 0;"},
      {"a thread leaves the loop", "loop", "@%p1 bra NEXT", "@%p1 exit"},
      {"an effect before the claim", "prologue",
       "NEXT:", "ld.param.u64 %d6, [out]; red.global.add.u32 [%d6+8], 1;\nNEXT:"},
      {"block 0 is done by everybody", "loop", "GO_ON:", "GO_ON:\n  mov.u32 %r10, 0;"},
      {"who looks takes its claim back", "prologue", "st.volatile.global.u32 [%d6+4], 1;\n  bra CLAIMED;",
       "st.volatile.global.u32 [%d6+4], 1;\n  @!%p3 bra CLAIMED;"},
      {"nobody looks", "loop", "@%p3 st.volatile.global.u32 [%d6+4], 1;",
       "@%p3 st.volatile.global.u32 [%d6+4], 2;"},
      {"the first block to leave reports", "loop", "setp.ne.u32 %p3, %r14, %r15;",
       "setp.ne.u32 %p3, %r14, 1;"},
      {"the report does not wait for the block's threads", "loop", "  @%p2 ret;\n", ""},
  };
  for (const Fault& fault : kFaults) {
    INFO(fault.name);
    const std::string text = replaced(module_text(), fault.what, fault.with);
    REQUIRE(text != module_text());
    CHECK(wrong(text, fault.form, 200) != "");
  }
}
