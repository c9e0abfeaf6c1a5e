// `gangway bound --world`: plays task sets in a world and checks their bounds with costs.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gangway {

struct InWorld {
  std::string world, mechanism;
  double seconds = 1;
  std::optional<std::uint64_t> search;
  std::int64_t periods = 3;
  std::uint64_t seed = 1;
  bool json = false;
  // For drawn sets.
  std::uint64_t draw = 0;
  std::optional<std::uint64_t> until_held;
  std::string from, out;
  double slack = 0.02, margin = 1.5;
  std::vector<std::string> costs;  // KEY=TIME
};

void add_in_world(CLI::App& sub, InWorld& in_world);

// Throws InputError for conflicting options; `simulated`: another option requests simulation.
void check_combination(const InWorld& in_world, const std::string& file, bool simulated);

// These return the exit code: 1, with one line, if a response exceeds a bound or, for a single set, if an
// assumption of the bounds did not hold.
int hold_set(const InWorld& in_world, const std::string& file);
int hold_drawn_sets(const InWorld& in_world);

}  // namespace gangway
