// NEON's engaged Timeslice (3.1): the holder's submissions are intercepted as well, so that nothing is on the
// device that the scheduler has not seen.
#include "models/policy/token_turns.hpp"

namespace gangway {
namespace {

class Timeslice : public TokenTurns {
 public:
  explicit Timeslice(const ParameterValues& values) : TokenTurns(values, true) {}
  using TokenTurns::parameters;
};

const PolicyRegistration<Timeslice> registered_timeslice{
    "timeslice", "time slices for whole clients, every submission intercepted", Timeslice::parameters()};

}  // namespace
}  // namespace gangway
