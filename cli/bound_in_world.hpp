// `gangway bound --world`: task sets played in a world and held against their bounds with costs.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace gangway {

struct InWorld {
  std::string world, mechanism;
  double seconds = 1;
  std::uint64_t search = 50, seed = 1;
  bool json = false;
  // Of drawn sets.
  std::uint64_t draw = 0;
  std::string from, out;
  double slack = 0.02, margin = 1.5;
  std::vector<std::string> costs;  // KEY=TIME
};

void add_in_world(CLI::App& sub, InWorld& in_world);

// Throws InputError where these options do not go together; `simulated`: others say what is to be simulated.
void check_combination(const InWorld& in_world, const std::string& file, bool simulated);

// Both return the exit code: 1 with one line where a response is above a bound or, for one set, where what
// the bounds assume did not hold.
int hold_set(const InWorld& in_world, const std::string& file);
int hold_drawn_sets(const InWorld& in_world);

}  // namespace gangway
