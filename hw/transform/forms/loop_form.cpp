// Persistent blocks claim logical indices until one is refused.
#include "hw/transform/forms/claim.hpp"
#include "hw/transform/forms/form.hpp"

namespace gangway::transform {
namespace {

class LoopForm : public FormRule {
 public:
  std::string name() const override { return "loop"; }
  int rank() const override { return 2; }
  std::vector<Objection> objections() const override {
    std::vector<Objection> all = objections_of_claims();
    const Objection own[] = {
        {Trait::stack, "it takes stack memory that is given back only when the kernel ends"},
        {Trait::exit, "a function that it calls ends the thread"},
        {Trait::transactions, "it leaves state that the next block-task would find"},
        {Trait::own_barrier, "it may use the claims' barrier with only some of the block's threads"},
        {Trait::arrival, "it arrives at a barrier without waiting, possibly the next block-task's"},
        {Trait::skipped_barrier,
         "some of a block's threads may skip this, and would reach it if they continued"},
    };
    all.insert(all.end(), std::begin(own), std::end(own));
    return all;
  }
  std::pair<std::uint32_t, std::uint32_t> least_version() const override { return {6, 0}; }  // barrier.sync
  std::uint32_t shared_bytes() const override { return kClaimBytes; }
  // Two words in turn: the first thread may claim again while others still read what it claimed before.
  std::string beginning(const std::string& shared_base, bool copies) const override {
    return claim_setup(shared_base) +
           "\tmov.u32 %gangway_turn, 4;\n"
           "$gangway_next:\n" +
           (copies ? "\tcp.async.wait_all;\n" : "") +
           "\tadd.u32 %gangway_slot, %gangway_slot, %gangway_turn;\n"
           "\tneg.s32 %gangway_turn, %gangway_turn;\n" +
           claim(
               "\tld.param.u32 %gangway_t0, [gangway_end];\n"
               "\tsetp.lt.and.u32 %gangway_p1, %gangway_index, %gangway_t0, %gangway_p1;\n",
               "barrier.sync",  // threads come back from different places
               last_block_reports());
  }
  std::string instead_of_leaving() const override { return "bra $gangway_next;"; }
};

const LoopForm loop_form;
const FormRegistration registered_loop(loop_form);

}  // namespace
}  // namespace gangway::transform
