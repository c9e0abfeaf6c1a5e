// Random task sets whose kernels own the GPU one at a time, for schedulability studies.
#pragma once

#include "workloads/taskset_generator.hpp"

namespace gangway {

// What every method of drawing utilisations has besides, for these sets.
std::vector<Parameter> owner_set_parameters();

// Draws sets under fixed priorities (the shorter a period, the higher) or round robin; the same seed and
// number always give the same set.
class OwnerSetGenerator {
 public:
  // `values` are of owner_set_parameters(). Throws std::invalid_argument, saying what was found, when they do
  // not fit together.
  OwnerSetGenerator(const UtilisationMethod& method, const ParameterValues& values);

  // Set `number` of those of a seed, named set-NUMBER. Times are plain numbers with at most three decimals.
  TaskSet draw(std::uint64_t seed, std::uint64_t number) const;

 private:
  const UtilisationMethod* method_;
  std::size_t tasks_;
  double total_, most_, shortest_, longest_, eviction_, launch_;
  std::optional<Rational> quantum_;
};

}  // namespace gangway
