#include "hw/transform/forms/claim.hpp"

#include <fmt/format.h>

namespace gangway::transform {

std::vector<Objection> objections_of_claims() {
  return {
      {Trait::total_size, "it reads the size of its shared memory, to which the claim adds"},
      {Trait::shared_spills, "it spills to shared memory, which excludes the claim's dynamic shared memory"}};
}

std::string claim_setup(const std::string& shared_base) {
  return fmt::format(
      "\tmov.u32 %gangway_t0, %tid.x;\n"
      "\tmov.u32 %gangway_t1, %tid.y;\n"
      "\tor.b32 %gangway_t0, %gangway_t0, %gangway_t1;\n"
      "\tmov.u32 %gangway_t1, %tid.z;\n"
      "\tor.b32 %gangway_t0, %gangway_t0, %gangway_t1;\n"
      "\tsetp.ne.u32 %gangway_p0, %gangway_t0, 0;\n"
      "\tmov.u32 %gangway_slot, {};\n"
      "\tmov.u32 %gangway_t0, %dynamic_smem_size;\n"
      "\tadd.u32 %gangway_slot, %gangway_slot, %gangway_t0;\n"
      "\tsub.u32 %gangway_slot, %gangway_slot, {};\n"  // up to the next multiple of 4
      "\tand.b32 %gangway_slot, %gangway_slot, 0xfffffffc;\n",
      shared_base, kClaimBytes - 3);
}

// Most claims take one branch. The address is that of the control word, since only the first thread comes
// there, but it looks as if threads had different ones: for equal ones ptxas would gather a warp's additions
// first, which takes 15 instructions (ptxas 13.0).
std::string claim(const std::string& condition, const std::string& barrier, const std::string& leaving) {
  return "\tselp.u32 %gangway_t1, 8, 0, %gangway_p0;\n"
         "\t@%gangway_p0 bra $gangway_wait;\n"
         "\tld.param.u64 %gangway_d0, [gangway_control];\n"
         "\tcvta.to.global.u64 %gangway_d0, %gangway_d0;\n"
         "\tcvt.u64.u32 %gangway_d1, %gangway_t1;\n"
         "\tadd.s64 %gangway_d0, %gangway_d0, %gangway_d1;\n"
         "\tatom.global.add.u64 %gangway_d1, [%gangway_d0], 1;\n"
         "\tmov.b64 {%gangway_index, %gangway_t0}, %gangway_d1;\n"
         "\tsetp.eq.u32 %gangway_p1, %gangway_t0, 0;\n" +
         condition +
         "\tld.param.u32 %gangway_t0, [gangway_looks];\n"
         "\tand.b32 %gangway_t0, %gangway_t0, %gangway_index;\n"
         "\tsetp.ne.and.u32 %gangway_p2, %gangway_t0, 0, %gangway_p1;\n"
         "\t@%gangway_p2 bra $gangway_claimed;\n"
         "\t@!%gangway_p1 bra $gangway_refused;\n"
         "\tld.param.u32 %gangway_t0, [gangway_first];\n"
         "\tsetp.ge.u32 %gangway_p1, %gangway_index, %gangway_t0;\n"
         "\t@%gangway_p1 bra $gangway_claimed;\n"
         "\tld.param.u64 %gangway_d1, [gangway_host];\n"
         "\tcvta.to.global.u64 %gangway_d1, %gangway_d1;\n"
         "\tld.volatile.global.u32 %gangway_t0, [%gangway_d1];\n"
         "\tsetp.eq.u32 %gangway_p1, %gangway_t0, 0;\n"
         "\t@%gangway_p1 bra $gangway_claimed;\n"
         "\tred.global.or.b64 [%gangway_d0], 0x100000000;\n"
         "\tbra $gangway_claimed;\n"
         "$gangway_refused:\n"
         "\tred.global.add.u64 [%gangway_d0], -1;\n"
         "\tmov.u32 %gangway_index, 0xffffffff;\n"
         "$gangway_claimed:\n"
         "\tst.shared.u32 [%gangway_slot], %gangway_index;\n"
         "$gangway_wait:\n"
         "\t" +
         barrier +
         " 0;\n"
         "\tld.shared.u32 %gangway_index, [%gangway_slot];\n"
         "\tsetp.eq.u32 %gangway_p1, %gangway_index, 0xffffffff;\n" +
         (leaving.empty() ? "\t@%gangway_p1 ret;\n"
                          : "\t@!%gangway_p1 bra $gangway_goes_on;\n"
                            "\t@%gangway_p0 ret;\n" +
                                leaving +
                                "\tret;\n"
                                "$gangway_goes_on:\n");
}

// The barrier has ordered what the block's other threads did before this; the fences order it before the
// block is counted, and what all blocks did before the report. No test on a CPU would miss either. They are
// the GPU's: what is launched then is on the same GPU.
std::string last_block_reports() {
  return "\tld.param.u64 %gangway_d0, [gangway_control];\n"
         "\tcvta.to.global.u64 %gangway_d0, %gangway_d0;\n"
         "\tmembar.gl;\n"
         "\tatom.global.add.u32 %gangway_t0, [%gangway_d0+8], 1;\n"
         "\tadd.u32 %gangway_t0, %gangway_t0, 1;\n"
         "\tmov.u32 %gangway_t1, %nctaid.x;\n"
         "\tsetp.ne.u32 %gangway_p1, %gangway_t0, %gangway_t1;\n"
         "\t@%gangway_p1 ret;\n"
         "\tmembar.gl;\n"
         "\tld.volatile.global.u64 %gangway_d1, [%gangway_d0];\n"
         "\tmov.b64 {%gangway_t0, %gangway_t1}, %gangway_d1;\n"
         "\tsetp.eq.u32 %gangway_p1, %gangway_t1, 0;\n"
         "\t@%gangway_p1 ret;\n"
         "\tld.param.u64 %gangway_d1, [gangway_host];\n"
         "\tcvta.to.global.u64 %gangway_d1, %gangway_d1;\n"
         "\tst.volatile.global.u32 [%gangway_d1+4], %gangway_t0;\n";
}

}  // namespace gangway::transform
