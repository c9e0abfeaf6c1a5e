// Converts task sets whose kernels own the GPU into simulator input: fixed priorities under piv, round robin
// under rr.
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
  // Times are exact, or rounded such that bounds still apply. `horizon`: no release is later. Throws
  // InputError, with `origin` and `key`, for times too short to round, and for a quantum if any are rounded.
  OwnerRuns(const OwningTasks& set, const Rational& horizon, const std::string& unit, const Origin& origin,
            const std::string& key);

  const Ticks& ticks() const { return ticks_; }
  // A client for the task, without releases: owner for `c`, or for up to `c` if the workload has jitter.
  Client client(std::size_t task) const;
  // Plays a workload of such clients in any order. Progress counts in ns, evictions take e without progress,
  // launches l. Returns the number of events.
  std::uint64_t play(const Workload& workload, std::uint64_t seed, TraceSink& sink) const;

 private:
  const OwningTasks& set_;
  Ticks ticks_;
};

}  // namespace gangway
