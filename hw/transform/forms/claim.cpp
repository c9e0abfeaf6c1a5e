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

std::string claim(const std::string& condition, const std::string& barrier) {
  return "\t@%gangway_p0 bra $gangway_wait;\n"
         "\tld.param.u64 %gangway_d0, [gangway_control];\n"
         "\tcvta.to.global.u64 %gangway_d0, %gangway_d0;\n"
         "\tatom.global.add.u64 %gangway_d1, [%gangway_d0], 1;\n"
         "\tmov.b64 {%gangway_index, %gangway_t0}, %gangway_d1;\n"
         "\tsetp.eq.u32 %gangway_p1, %gangway_t0, 0;\n" +
         condition +
         "\t@%gangway_p1 bra $gangway_claimed;\n"
         "\tred.global.add.u64 [%gangway_d0], -1;\n"
         "\tmov.u32 %gangway_index, 0xffffffff;\n"
         "$gangway_claimed:\n"
         "\tst.shared.u32 [%gangway_slot], %gangway_index;\n"
         "$gangway_wait:\n"
         "\t" +
         barrier +
         " 0;\n"
         "\tld.shared.u32 %gangway_index, [%gangway_slot];\n"
         "\tsetp.eq.u32 %gangway_p1, %gangway_index, 0xffffffff;\n"
         "\t@%gangway_p1 ret;\n";
}

}  // namespace gangway::transform
