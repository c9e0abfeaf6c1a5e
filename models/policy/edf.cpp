// Earliest deadline first, preemptive (Liu and Layland, "Scheduling Algorithms for Multiprogramming in a
// Hard-Real-Time Environment", JACM 1973, section 7). A job's deadline is its release plus its client's
// `slo`.

#include "models/policy/ownership.hpp"

namespace gangway {
namespace {

class Edf : public OwnershipPolicy {
 public:
  explicit Edf(const ParameterValues&) {}

 private:
  Choice choose(Time, const View& view) override {
    return {least([&](const Waiting& w) { return deadline(view, w); }), std::nullopt};
  }

  bool yields(const Owner&) const override { return true; }
  std::int64_t urgency(const View& view, const Waiting& w) const override { return -deadline(view, w).ns; }
  std::int64_t owner_urgency(Time, const View& view, const Owner& owner) const override {
    return -deadline(view, owner.waiting).ns;
  }

  // Jobs without one come after all others.
  static Time deadline(const View& view, const Waiting& w) {
    return view.job(w.job).deadline.value_or(Time::max());
  }
};

const OwnershipRegistration<Edf> registered_edf{"edf", "earliest deadline first, by `slo`, preemptive", {}};

}  // namespace
}  // namespace gangway
