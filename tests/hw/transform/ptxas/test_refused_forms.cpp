// Which forms are left out after ptxas has refused a rewritten module.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "hw/transform/ptxas/refused_forms.hpp"
#include "tests/catch.hpp"

namespace gangway::testing {
namespace {

using transform::ExcludedForm, transform::RefusedForms, transform::rewrite, transform::Rewritten;

constexpr const char* kModule = R"(.version 8.0
.target sm_80
.address_size 64
.func (.param .b32 b) block()
{
	.reg .b32 %r<2>;
	mov.u32 %r1, %ctaid.x;
	st.param.b32 [b], %r1;
	ret;
}
.visible .entry one()
{
	.reg .b32 %r<2>;
	.param .b32 b;
	call.uni (b), block;
	ld.param.b32 %r1, [b];
	ret;
}
.visible .entry two()
{
	.reg .b32 %r<2>;
	mov.u32 %r1, %ctaid.y;
	ret;
}
)";

// Of the first line that has it, from 1.
std::size_t line_with(const std::string& text, const std::string& what) {
  const std::size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return static_cast<std::size_t>(
             std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n')) +
         1;
}

std::string left_out(const std::string& said) {
  RefusedForms refused;
  const bool any = refused.note(rewrite(kModule), said);
  std::string out;
  for (const ExcludedForm& each : refused.excluded())
    out += fmt::format("{}/{}: {}; ", each.kernel, each.form, each.reason);
  CHECK(any == !out.empty());
  return out;
}

std::string error_at(std::size_t line) {
  return fmt::format("ptxas /tmp/a.ptx, line {}; error   : Odd thing\n", line);
}

}  // namespace

TEST_CASE("the forms in whose text ptxas found errors are left out", "[ptxas]") {
  const std::string text = rewrite(kModule).text;
  CHECK(left_out(error_at(line_with(text, ".entry two$gangway_prologue"))) ==
        "two/prologue: ptxas refuses it: Odd thing; ");
  CHECK(left_out(error_at(line_with(text, ".entry two$gangway_prologue") + 9)) ==
        "two/prologue: ptxas refuses it: Odd thing; ");
  CHECK(left_out(error_at(line_with(text, ".entry one$gangway_loop") + 30) +
                 error_at(line_with(text, ".entry one$gangway_loop") + 31) +
                 error_at(line_with(text, ".entry two$gangway_slice") + 1)) ==
        "one/loop: ptxas refuses it: Odd thing; two/slice: ptxas refuses it: Odd thing; ");
  // A function's copy serves all kernels of its form.
  CHECK(left_out(error_at(line_with(text, "block$gangway_loop"))) == "/loop: ptxas refuses it: Odd thing; ");
  CHECK(left_out("ptxas error   : Entry function 'one$gangway_prologue' uses too much shared data\n") ==
        "one/prologue: ptxas refuses it: Entry function 'one$gangway_prologue' uses too much shared data; ");
  // The program's own text, and what is of no form.
  CHECK(left_out(error_at(7)).empty());
  CHECK(left_out(error_at(line_with(text, ".entry one$gangway_report") + 2)).empty());
  CHECK(left_out("ptxas /tmp/a.ptx, line 7000; warning : Odd thing\nptxas fatal   : No memory\n").empty());
}

TEST_CASE("without anybody to blame all loops are left out once, and tries come to an end", "[ptxas]") {
  RefusedForms refused;
  const Rewritten all = rewrite(kModule);
  CHECK_FALSE(refused.note(all, "ptxas fatal   : Odd thing\n"));
  CHECK(refused.without_loops(all));
  const Rewritten rest = rewrite(kModule, transform::Compilation::whole, refused.excluded());
  CHECK(rest.text.find("$gangway_loop") == std::string::npos);
  CHECK_FALSE(refused.without_loops(rest));
  RefusedForms often;
  CHECK(often.note(all, error_at(line_with(all.text, ".entry two$gangway_prologue"))));
  for (int n = 0; n < 3; ++n) CHECK_FALSE(often.note(all, "ptxas fatal   : Odd thing\n"));
  CHECK_FALSE(often.note(all, error_at(line_with(all.text, ".entry one$gangway_prologue"))));
}

}  // namespace gangway::testing
