// Shortest job first, preemptive (FRS paper, IV-A): by the declared time of all kernels of the application.
#include "models/policy/estimates.hpp"
#include "models/policy/ownership.hpp"

namespace gangway {
namespace {

class Sjf : public OwnershipPolicy {
 public:
  explicit Sjf(const ParameterValues&) {}

 private:
  Choice choose(Time, const View& view) override { return {shortest(view), std::nullopt}; }

  bool displaced(Time, const View& view) override {
    return estimates_.total(view.job(waiting()[shortest(view)].job)) <
           estimates_.total(view.job(owner().waiting.job));
  }

  std::size_t shortest(const View& view) const {
    return least([&](const Waiting& w) { return estimates_.total(view.job(w.job)); });
  }

  Estimates estimates_;
};

const OwnershipRegistration<Sjf> registered{"sjf", "shortest job first, preemptive", {}};

}  // namespace
}  // namespace gangway
