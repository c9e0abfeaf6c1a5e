// Task sets whose kernels own the simulated GPU: the largest responses over many release patterns.
#pragma once

#include "experiments/studies/responses.hpp"

namespace gangway {

// Called by simulate_responses(), whose contract it shares.
SimulatedResponses simulate_owners(const OwningTasks& set, const std::string& unit, const Rational& horizon,
                                   std::uint64_t seed);

}  // namespace gangway
