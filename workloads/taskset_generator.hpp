// Random task sets for schedulability studies: utilisations by a registered method, then periods, blocks and
// grids.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/random.hpp"
#include "models/registry.hpp"
#include "models/taskset.hpp"

namespace gangway {

// Draws `tasks` shares above 0, at most `most`, with sum `total`; 0 < total < tasks * most. One
// self-registering file per method.
struct UtilisationMethod : Described {
  std::vector<double> (*draw)(std::size_t tasks, double total, double most, Stream& random) = nullptr;
};
using UtilisationMethods = Registry<UtilisationMethod>;

struct UtilisationRegistration : Registration<UtilisationMethod> {
  UtilisationRegistration(std::string name, std::string summary,
                          std::vector<double> (*draw)(std::size_t, double, double, Stream&),
                          const std::source_location& where = std::source_location::current());
};

// Parameters common to all methods: number of tasks, device, utilisation, periods, blocks, grids.
std::vector<Parameter> task_set_parameters();

// Draws sporadic task sets, deterministic in seed and number.
class TaskSetGenerator {
 public:
  // Throws std::invalid_argument, with what was found, if parameters conflict.
  TaskSetGenerator(const UtilisationMethod& method, const ParameterValues& values);

  // Set `number` of a seed, named set-NUMBER. Times are plain numbers with at most six decimals; w_i is
  // rounded to a millionth, so utilisations are met to about that. Throws RunError if 10,000 draws gave no
  // set whose tasks can keep up with their releases (w_i <= T_i) under the allowed grids and blocks.
  TaskSet draw(std::uint64_t seed, std::uint64_t number) const;

 private:
  struct Shape {
    std::int64_t g = 1, b = 1;
  };
  double draw_period(Stream& random) const;
  std::vector<double> draw_periods(Stream& random) const;
  bool draw_shape(double utilisation, Stream& random, Shape& shape) const;
  bool draw_tasks(Stream& random, SporadicTasks& set) const;

  const UtilisationMethod* method_;
  SporadicTasks empty_;  // device and order
  std::size_t tasks_;
  double total_, most_;  // threads
  bool harmonic_;
  double shortest_, longest_;
  std::int64_t most_blocks_, least_threads_, most_threads_;
  std::string block_sizes_;
};

}  // namespace gangway
