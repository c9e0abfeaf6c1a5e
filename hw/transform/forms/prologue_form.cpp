// A block's first act is a claim; refused blocks end, claimed ones finish.
#include "hw/transform/forms/claim.hpp"
#include "hw/transform/forms/form.hpp"

namespace gangway::transform {
namespace {

class PrologueForm : public FormRule {
 public:
  std::string name() const override { return "prologue"; }
  int rank() const override { return 1; }
  std::vector<Objection> objections() const override { return objections_of_claims(); }
  std::uint32_t shared_bytes() const override { return kClaimBytes; }
  std::string beginning(const std::string& shared_base, bool) const override {
    return claim_setup(shared_base) + claim("", "bar.sync", "");
  }
  std::string instead_of_leaving() const override { return {}; }
};

const PrologueForm prologue_form;
const FormRegistration registered_prologue(prologue_form);

}  // namespace
}  // namespace gangway::transform
