// Time slices for whole clients in proportion to their weights: the token goes to the client with the least
// pass of stride scheduling. Within a slice its holder has the device to itself, as in NEON's Disengaged
// Timeslice.
#include <algorithm>

#include "models/policy/passes.hpp"
#include "models/policy/token.hpp"

namespace gangway {
namespace {

class StrideTimeslice : public TokenPolicy {
 public:
  explicit StrideTimeslice(const ParameterValues& values) : TokenPolicy(values, false) {}
  Capabilities needs() const override { return {Capability::access}; }
  using TokenPolicy::parameters;

 private:
  void opened(const Opens& opens) override { passes_.join(opens.client, opens.weight); }
  void exited(ClientId) override {}
  void gave_back(ClientId client, Duration held, Duration) override { passes_.charge(client, held); }

  // Of equal passes, the first in the order of the workload.
  ClientId next() override {
    const ClientId first = *std::min_element(present().begin(), present().end(), [&](ClientId a, ClientId b) {
      return passes_.of(a) < passes_.of(b);
    });
    passes_.reach(passes_.of(first));
    return first;
  }

  Passes passes_;
};

const PolicyRegistration<StrideTimeslice> registered_stride_timeslice{
    "stride-timeslice",
    "time slices for whole clients in proportion to weights, direct access within a slice",
    StrideTimeslice::parameters()};

}  // namespace
}  // namespace gangway
