// Many random task sets held against their bounds, a folder of results that can be gone on with.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>

#include "experiments/observed/drawn_sets.hpp"
#include "experiments/observed/observed_responses.hpp"

namespace gangway {

struct ObservedSets {
  std::uint64_t sets = 0;  // that there are now, of those wanted
  std::uint64_t tasks = 0;
  std::uint64_t held = 0;      // sets of which every assumption held
  std::uint64_t violated = 0;  // of these, with a response above a bound
  std::uint64_t above = 0;     // sets with a response above a bound and an assumption that did not hold
  std::string first_violated;  // says it
  // Observed over bound, of tasks of sets whose assumptions held.
  double p50 = 0, p90 = 0, p99 = 0, largest = 0;
  bool interrupted = false;
};

// Draws and plays the sets 0 to `count` - 1 that the folder does not have yet. sets.csv gets a row for each,
// tasks.csv for each of their tasks, assumptions.csv for each assumption of these, sets/set-N.yaml what
// `gangway bound` plays again. `request` says what all of that depends on: a folder that was begun with
// another one is refused with InputError. `progress` is told each row of sets.csv.
ObservedSets observe_sets(const DrawnSets& drawn, std::uint64_t count, const ObserveOptions& options,
                          const std::string& request, const std::filesystem::path& folder,
                          const std::function<void(const std::string&)>& progress,
                          const std::atomic<bool>& stop);

}  // namespace gangway
