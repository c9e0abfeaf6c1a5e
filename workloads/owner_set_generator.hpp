// Random task sets whose kernels own the GPU, for schedulability studies.
#pragma once

#include "workloads/taskset_generator.hpp"

namespace gangway {

// Parameters of every utilisation method for these sets.
std::vector<Parameter> owner_set_parameters();

// Draws sets under fixed priorities (shorter period first) or round robin. Deterministic in seed and number.
class OwnerSetGenerator {
 public:
  // `values`: of owner_set_parameters(). Throws std::invalid_argument, with what was found, if they conflict.
  OwnerSetGenerator(const UtilisationMethod& method, const ParameterValues& values);

  // Set `number` of a seed, named set-NUMBER. Times are plain numbers with at most three decimals.
  TaskSet draw(std::uint64_t seed, std::uint64_t number) const;

 private:
  const UtilisationMethod* method_;
  std::size_t tasks_;
  double total_, most_, shortest_, longest_, eviction_, launch_;
  std::optional<Rational> quantum_;
};

}  // namespace gangway
