// NEON's engaged Timeslice (3.1): the holder's submissions are intercepted as well, so that nothing is on the
// device that the scheduler has not seen.
#include "models/policy/token.hpp"

namespace gangway {
namespace {

class Timeslice : public TokenPolicy {
 public:
  explicit Timeslice(const ParameterValues& values) : TokenPolicy(values, true) {}
  using TokenPolicy::parameters;
};

const PolicyRegistration<Timeslice> registered_timeslice{
    "timeslice", "time slices for whole clients, every submission intercepted", Timeslice::parameters()};

}  // namespace
}  // namespace gangway
