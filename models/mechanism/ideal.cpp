// Preemption that costs nothing: the bound that any mechanism can be held against.
#include "models/mechanism.hpp"

namespace gangway {
namespace {

class Ideal : public Mechanism {
 public:
  explicit Ideal(const ParameterValues&) {}
  CommandDelays delays(const Kernel&, const Device&) const override {
    CommandDelays delays{};
    delays.ideal = true;
    return delays;
  }
};

const MechanismRegistration<Ideal> registered_ideal{
    "ideal", "launches and evictions take no time", PreemptionLevel::block_task, {}};

}  // namespace
}  // namespace gangway
