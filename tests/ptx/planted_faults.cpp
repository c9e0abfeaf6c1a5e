#include "tests/ptx/planted_faults.hpp"

#include <string_view>

namespace gangway::testing::ptx {
namespace {

// Everywhere behind the original.
bool replace_all(std::string& text, std::size_t from, std::string_view what, std::string_view with) {
  bool any = false;
  for (std::size_t at = text.find(what, from); at != std::string::npos;
       at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
    any = true;
  }
  return any;
}

auto everywhere(std::string what, std::string with) {
  return [what = std::move(what), with = std::move(with)](std::string& text, std::size_t original) {
    return replace_all(text, original, what, with);
  };
}

// In the bodies of entries only, behind what the form does first.
auto in_bodies(std::string what, std::string with) {
  return [what = std::move(what), with = std::move(with)](std::string& text, std::size_t original) {
    bool any = false;
    for (std::size_t at = text.find("$gangway_indexed:", original); at != std::string::npos;
         at = text.find("$gangway_indexed:", at + 1)) {
      const std::size_t end = std::min(text.find(".entry", at), text.find(".func", at));
      const std::size_t found = text.find(what, at);
      if (found == std::string::npos || found >= end) continue;
      text.replace(found, what.size(), with);
      any = true;
    }
    return any;
  };
}

const std::string kClaim = "atom.global.add.u64 %gangway_d1, [%gangway_d0], 1;";
const std::string kBack = "red.global.add.u64 [%gangway_d0], -1;";
const std::string kLoad = "ld.shared.u32 %gangway_index, [%gangway_slot];";
const std::string kWait = "$gangway_wait:\n\tbar.sync 0;\n\t";
const std::string kHidden =
    "%gangway_ctaid_x, %gangway_ctaid_y, %gangway_ctaid_z, %gangway_nctaid_x, %gangway_nctaid_y, "
    "%gangway_nctaid_z";

// A call of the function as it was, which asks the GPU where it is.
bool call_originals(std::string& text, std::size_t original) {
  bool any = false;
  for (const char* const form : {"slice", "prologue", "loop"})
    any = replace_all(text, original, "$gangway_" + std::string(form) + ", (" + kHidden + ", given)",
                      ", (given)") ||
          any;
  return any;
}

// The kernel's output, in a variable, is changed before the block has an index.
bool effect_before_claim(std::string& text, std::size_t original) {
  bool any = false;
  for (std::size_t at = text.find("$gangway_prologue(", original); at != std::string::npos;
       at = text.find("$gangway_prologue(", at + 1)) {
    const std::size_t name = text.rfind(".entry ", at);
    if (name == std::string::npos || text.find('\n', name) < at) continue;
    const std::string output = text.substr(name + 7, at - name - 7) + "_output";
    const std::size_t here = text.find("\tmov.u32 %gangway_t0, %tid.x;", at);
    if (text.find(output + "[") == std::string::npos || here == std::string::npos) continue;
    text.insert(here, "\tred.global.add.u32 [" + output + "+8], 1;\n");
    any = true;
  }
  return any;
}

bool first_byte(std::string& text, std::size_t) {
  text[0] = ' ';
  return true;
}

}  // namespace

const std::vector<PlantedFault>& planted_faults() {
  static const std::vector<PlantedFault> all = {
      {"no barrier behind the claim", everywhere(kWait, "$gangway_wait:\n\t")},
      {"a refused claim is not taken back", everywhere(kBack, "")},
      {"a refused claim is taken back twice", everywhere(kBack, "red.global.add.u64 [%gangway_d0], -2;")},
      {"the index is read before the barrier",
       everywhere(kWait + kLoad, "$gangway_wait:\n\t" + kLoad + "\n\tbar.sync 0;")},
      {"the flag is ignored",
       everywhere("setp.eq.u32 %gangway_p1, %gangway_t0, 0;", "setp.eq.u32 %gangway_p1, 0, 0;")},
      {"a refused block goes on", everywhere("@%gangway_p1 ret;", "")},
      {"every thread claims", everywhere("@%gangway_p0 bra $gangway_wait;", "")},
      {"a claim counts as two", everywhere(kClaim, "atom.global.add.u64 %gangway_d1, [%gangway_d0], 2;")},
      {"a claim is not atomic",
       everywhere(
           kClaim,
           "ld.global.u64 %gangway_d1, [%gangway_d0];\nadd.u64 %gangway_d1, %gangway_d1, 1;\nst.global.u64 "
           "[%gangway_d0], %gangway_d1;\nsub.u64 %gangway_d1, %gangway_d1, 1;")},
      {"the grid's width is the launch's", in_bodies("%gangway_nctaid_x", "%nctaid.x")},
      {"the block's row is the launch's", in_bodies("%gangway_ctaid_y", "%ctaid.y")},
      {"the block's column is the launch's", in_bodies("%gangway_ctaid_x", "%ctaid.x")},
      {"a function asks the GPU for the block",
       everywhere("ld.param.b32 %gangway_ctaid_x, [gangway_ctaid_x];",
                  "mov.u32 %gangway_ctaid_x, %ctaid.x;")},
      {"a function asks the GPU for the grid",
       everywhere("ld.param.b32 %gangway_nctaid_y, [gangway_nctaid_y];",
                  "mov.u32 %gangway_nctaid_y, %nctaid.y;")},
      {"functions as they were are called", call_originals},
      {"the first row has one block more",
       everywhere("setp.lt.u32 %gangway_p1, %gangway_index, %gangway_nctaid_x;",
                  "setp.le.u32 %gangway_p1, %gangway_index, %gangway_nctaid_x;")},
      {"the grid's height is its depth", everywhere("[gangway_grid_y]", "[gangway_grid_z]")},
      {"the index lies in the kernel's shared memory",
       everywhere("sub.u32 %gangway_slot, %gangway_slot, 9;", "sub.u32 %gangway_slot, %gangway_slot, 20;")},
      {"the index lies behind shared memory",
       everywhere("sub.u32 %gangway_slot, %gangway_slot, 9;", "add.u32 %gangway_slot, %gangway_slot, 3;")},
      {"dynamic shared memory has its new size",
       everywhere("sub.u32 %gangway_dynamic, %gangway_dynamic, 12;", "")},
      {"a loop ends with its first block-task", everywhere("bra $gangway_next;", "ret;")},
      {"a loop does not see its end",
       everywhere("setp.lt.and.u32 %gangway_p1, %gangway_index, %gangway_t0, %gangway_p1;", "")},
      {"a loop hands on every index in one place",
       everywhere("mov.u32 %gangway_turn, 4;", "mov.u32 %gangway_turn, 0;")},
      {"a thread that leaves early leaves the loop", in_bodies(" bra $gangway_next;", " exit;")},
      {"who looks at the host takes its claim back",
       everywhere("red.global.or.b64 [%gangway_d0], 0x100000000;\n\tbra $gangway_claimed;",
                  "red.global.or.b64 [%gangway_d0], 0x100000000;")},
      {"who looks at the host goes on without a flag",
       everywhere("red.global.or.b64 [%gangway_d0], 0x100000000;", "red.global.or.b64 [%gangway_d0], 0;")},
      {"every block looks at the host",
       everywhere("and.b32 %gangway_t0, %gangway_t0, %gangway_index;", "mov.u32 %gangway_t0, 0;")},
      {"who should not looks at the host",
       everywhere(
           "setp.ge.u32 %gangway_p1, %gangway_index, %gangway_t0;\n\t@%gangway_p1 bra $gangway_claimed;",
           "")},
      {"a refused block looks at the host", everywhere("@!%gangway_p1 bra $gangway_refused;", "")},
      {"the first block to leave reports", everywhere("setp.ne.u32 %gangway_p1, %gangway_t0, %gangway_t1;",
                                                      "setp.ne.u32 %gangway_p1, %gangway_t0, 1;")},
      {"every thread counts its block",
       everywhere("@%gangway_p0 ret;\n\tld.param.u64 %gangway_d0", "ld.param.u64 %gangway_d0")},
      {"blocks report that were not told to leave",
       everywhere("setp.eq.u32 %gangway_p1, %gangway_t1, 0;", "setp.ne.u32 %gangway_p1, 0, 0;")},
      {"a slice begins with block 0", everywhere("add.u32 %gangway_index, %gangway_index, %gangway_t0;",
                                                 "mov.u32 %gangway_index, %gangway_t0;")},
      {"a slice does not see its end",
       everywhere("setp.ge.u32 %gangway_p1, %gangway_index, %gangway_t0;", "setp.ne.u32 %gangway_p1, 0, 0;")},
      {"a block has an effect before its claim", effect_before_claim},
      {"a hidden parameter has moved",
       everywhere(".param .align 8 .u64 gangway_control,",
                  ".param .u64 gangway_odd, .param .align 8 .u64 gangway_control,")},
      {"the bounds of a block are gone", everywhere(".maxntid", ".maxnreg 64 //")},
      {"static shared memory has grown",
       everywhere("\t.reg .pred %gangway_p0, %gangway_p1, %gangway_p2;",
                  "\t.reg .pred %gangway_p0, %gangway_p1, %gangway_p2;\n\t.shared "
                  ".align 4 .b8 odd[4];\n\tst.shared.u32 [odd], 0;")},
      {"the module is not as it was", first_byte},
  };
  return all;
}

}  // namespace gangway::testing::ptx
