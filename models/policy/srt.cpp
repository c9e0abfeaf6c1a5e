// Shortest remaining time, preemptive (FRS paper, IV-B): remaining times of all kernels of the application.
// The paper leaves open whether the running kernel's is kept up to date.
#include <algorithm>

#include "models/policy/ownership.hpp"

namespace gangway {
namespace {

class Srt : public OwnershipPolicy {
 public:
  explicit Srt(const ParameterValues& values)
      : OwnershipPolicy(Estimates(values)), fresh_(values.choice("remaining") == "fresh") {}

 private:
  Choice choose(Time, const View& view) override {
    return {least([&](const Waiting& w) { return estimates_.left(view.job(w.job)); }), std::nullopt};
  }

  bool yields(const Owner&) const override { return true; }
  std::int64_t urgency(const View& view, const Waiting& w) const override {
    return -estimates_.left(view.job(w.job)).ns;
  }
  std::int64_t owner_urgency(Time now, const View& view, const Owner& owner) const override {
    Duration left = estimates_.left(view.job(owner.waiting.job));
    if (fresh_ && owner.started) left = std::max(Duration{}, left - (now - *owner.started));
    return -left.ns;
  }

  bool fresh_;
};

const OwnershipRegistration<Srt> registered_srt{
    "srt",
    "shortest remaining time, preemptive",
    {{"remaining", "the owner's remaining time: up to date, or as of its last launch",
      Parameter::Choice{{"fresh", "stale"}}},
     Estimates::parameter()}};

}  // namespace
}  // namespace gangway
