// Requests at equal distances, as a load generator or a sensor sends them.
#include "models/arrival_process.hpp"

namespace gangway {
namespace {

class Fixed : public ArrivalProcess {
 public:
  explicit Fixed(const ParameterValues&) {}
  double gap(Stream&) const override { return 1; }
};

const ArrivalProcessRegistration<Fixed> registered_fixed{"fixed", "equal gaps", {}};

}  // namespace
}  // namespace gangway
