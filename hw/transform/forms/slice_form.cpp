// Launches of ranges of the grid: an offset is added to the block's index. A block from the range's end on
// does nothing, so that a launch can be tried.
#include "hw/transform/forms/form.hpp"

namespace gangway::transform {
namespace {

class SliceForm : public FormRule {
 public:
  std::string name() const override { return "slice"; }
  int rank() const override { return 0; }
  std::vector<Objection> objections() const override { return {}; }
  std::uint32_t shared_bytes() const override { return 0; }
  std::string beginning(const std::string&, bool) const override {
    return "\tld.param.u32 %gangway_index, [gangway_first];\n"
           "\tmov.u32 %gangway_t0, %ctaid.x;\n"
           "\tadd.u32 %gangway_index, %gangway_index, %gangway_t0;\n"
           "\tld.param.u32 %gangway_t0, [gangway_end];\n"
           "\tsetp.ge.u32 %gangway_p1, %gangway_index, %gangway_t0;\n"
           "\t@%gangway_p1 ret;\n";
  }
  std::string instead_of_leaving() const override { return {}; }
};

const SliceForm slice_form;
const FormRegistration registered_slice(slice_form);

}  // namespace
}  // namespace gangway::transform
