// No scheduling in software: every client submits its kernels and copies to the device's own queues, whose
// rules (models/gpu_rules.hpp) decide.
#include "models/policy.hpp"

namespace gangway {
namespace {

class Passthrough : public Policy {
 public:
  explicit Passthrough(const ParameterValues&) {}
  Capabilities needs() const override { return {Capability::native}; }
  void note(Time, const Fact&, const View&) override {}
  void decide(Time, const View&, Orders&) override {}
};

const PolicyRegistration<Passthrough> registered_passthrough{
    "passthrough", "no policy: the device's own queues decide", {}};

}  // namespace
}  // namespace gangway
