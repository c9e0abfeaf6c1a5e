// Launches of ranges of the grid: an offset is added to the block's index.
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
           "\tadd.u32 %gangway_index, %gangway_index, %gangway_t0;\n";
  }
  std::string instead_of_leaving() const override { return {}; }
};

const SliceForm slice_form;
const FormRegistration registered_slice(slice_form);

}  // namespace
}  // namespace gangway::transform
