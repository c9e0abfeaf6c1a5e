// Task sets whose kernels own the GPU on the simulated GPU: the largest responses seen over many ways in
// which jobs may be released.
#pragma once

#include "experiments/studies/responses.hpp"

namespace gangway {

// As simulate_responses(), which calls it.
SimulatedResponses simulate_owners(const OwningTasks& set, const std::string& unit, const Rational& horizon,
                                   std::uint64_t seed);

}  // namespace gangway
