// First come, first served: the job that arrived first runs to completion.
#include "models/policy/ownership.hpp"

namespace gangway {
namespace {

class Fcfs : public OwnershipPolicy {
 public:
  explicit Fcfs(const ParameterValues&) {}
  Capabilities needs() const override { return {}; }

 private:
  Choice choose(Time, const View&) override {
    return {least([](const Waiting& w) { return w.arrived; }), std::nullopt};
  }
};

const OwnershipRegistration<Fcfs> registered_fcfs{"fcfs", "first come, first served, run to completion", {}};

}  // namespace
}  // namespace gangway
