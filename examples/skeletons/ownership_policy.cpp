// Whoever has waited longest, for a quantum: round robin, to be changed into something better.
//
// This file goes into models/policy/ of Gangway's sources, and `./dev build` picks it up. models/policy.hpp
// has the contract of all policies, models/policy/ownership.hpp what can be said here, CONTRIBUTING.md which
// tests apply without a line.
#include "models/policy/ownership.hpp"

namespace gangway {
namespace {

using namespace literals;

class SkeletonPolicy : public OwnershipPolicy {
 public:
  explicit SkeletonPolicy(const ParameterValues& values) : quantum_(values.duration("quantum")) {}

 private:
  // A GPU is free: who gets it, and for how long while others wait. `view.job(w.job)` tells what is known of
  // a job; estimates_.total() of it is how long it takes.
  Choice choose(Time, const View&) override {
    return {least([](const Waiting& w) { return w.since; }), quantum_};
  }
  // The quantum has expired, and nobody waits.
  Duration renewed_quantum(Time, const View&, const Owner&) override { return quantum_; }

  Duration quantum_;
};

// Its name in files, what `gangway list policies` says of it, and its parameters: name, what it is, default,
// least and most.
const OwnershipRegistration<SkeletonPolicy> registered_skeleton{
    "skeleton",
    "whoever has waited longest, for a quantum",
    {{"quantum", "time a job may own the GPU while others wait", Parameter::Time{1_ms, 10_us, 10_s}}}};

}  // namespace
}  // namespace gangway
