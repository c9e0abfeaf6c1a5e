// A Poisson process: requests of many users who know nothing of each other.
#include "models/arrival_process.hpp"
#include "models/random.hpp"

namespace gangway {
namespace {

class Poisson : public ArrivalProcess {
 public:
  explicit Poisson(const ParameterValues&) {}
  double gap(Stream& random) const override { return random.exponential(); }
};

const ArrivalProcessRegistration<Poisson> registered_poisson{
    "poisson", "exponential gaps: independent users", {}};

}  // namespace
}  // namespace gangway
