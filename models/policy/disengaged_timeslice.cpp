// NEON's Disengaged Timeslice (3.2): the holder has the device to itself, and the scheduler looks again when
// the slice is over.
#include "models/policy/token_turns.hpp"

namespace gangway {
namespace {

class DisengagedTimeslice : public TokenTurns {
 public:
  explicit DisengagedTimeslice(const ParameterValues& values) : TokenTurns(values, false) {}
  Capabilities needs() const override { return {Capability::access}; }
  using TokenTurns::parameters;
};

const PolicyRegistration<DisengagedTimeslice> registered_disengaged_timeslice{
    "disengaged-timeslice", "time slices for whole clients, direct access within a slice",
    DisengagedTimeslice::parameters()};

}  // namespace
}  // namespace gangway
