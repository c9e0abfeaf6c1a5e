// Task sets whose kernels own the GPU one at a time, as what the simulated world plays: by fixed priorities
// under the policy piv, round robin under rr.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "experiments/studies/simulated_taskset.hpp"
#include "models/trace.hpp"

namespace gangway {

class OwnerRuns {
 public:
  // Times as they are, or rounded such that the bounds must hold all the same; `longest`: no instant of a
  // run is later. Throws InputError, of `origin`, where the clock is too short, and where a quantum is no
  // whole number of ticks.
  OwnerRuns(const OwningTasks& set, const Rational& longest, const std::string& unit, const Origin& origin);

  const Ticks& ticks() const { return ticks_; }
  // A client of the task without releases: as owner for `c`, or up to that where the workload has jitter.
  Client client(std::size_t task) const;
  // Plays a workload of such clients, in any order. Progress counts to the nanosecond, evictions take e
  // without progress, launches l. Returns the number of events.
  std::uint64_t play(const Workload& workload, std::uint64_t seed, TraceSink& sink) const;

 private:
  const OwningTasks& set_;
  Ticks ticks_;
};

}  // namespace gangway
