// EffiSha without its optimisations (Chen et al., 6.2): every block reads the state in the scheduler's memory
// before each block-task.
#include "hw/mechanisms/polled_word.hpp"

namespace gangway {
namespace {

template <typename Base>
class Basic : public Base {
 public:
  PollingForm polling() const override { return PollingForm::host; }
};

const RealMechanismRegistration<Basic<HostMechanism>, Basic<StoreMechanism>> registered{
    {"basic", {}, {"useful"}}};

}  // namespace
}  // namespace gangway
