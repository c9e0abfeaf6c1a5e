// Shortest job first, preemptive (FRS paper, IV-A): by the declared time of all kernels of the application.
#include "models/policy/ownership.hpp"

namespace gangway {
namespace {

class Sjf : public OwnershipPolicy {
 public:
  explicit Sjf(const ParameterValues&) {}

 private:
  Choice choose(Time, const View& view) override {
    return {least([&](const Waiting& w) { return estimates_.total(view.job(w.job)); }), std::nullopt};
  }

  bool yields(const Owner&) const override { return true; }
  std::int64_t urgency(const View& view, const Waiting& w) const override {
    return -estimates_.total(view.job(w.job)).ns;
  }
  std::int64_t owner_urgency(Time, const View& view, const Owner& owner) const override {
    return urgency(view, owner.waiting);
  }
};

const OwnershipRegistration<Sjf> registered_sjf{"sjf", "shortest job first, preemptive", {}};

}  // namespace
}  // namespace gangway
