// Checks many random task sets against their bounds; the result folder can be continued.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "experiments/observed/drawn_sets.hpp"
#include "experiments/observed/observed_responses.hpp"

namespace gangway {

struct ObservedSets {
  std::uint64_t sets = 0;  // sets present
  std::uint64_t tasks = 0;
  std::uint64_t held = 0;      // sets that met every assumption
  std::uint64_t violated = 0;  // of these, sets with a response above a bound
  std::uint64_t above = 0;     // sets with a response above a bound and a violated assumption
  std::string first_violated;  // describes it
  // Observed over bound, for tasks of sets that met their assumptions.
  double p50 = 0, p90 = 0, p99 = 0, largest = 0;
  bool interrupted = false;
};

// Draws and plays the sets from 0 to `count` - 1 missing in the folder, in order, until `enough` sets met
// every assumption (none: all). Writes a row per set to sets.csv, per task to tasks.csv, per assumption to
// assumptions.csv, and sets/set-N.yaml for `gangway bound`. `request` identifies the inputs: a folder of
// another request is refused with InputError. `progress` receives each row of sets.csv.
ObservedSets observe_sets(const DrawnSets& drawn, std::uint64_t count, std::optional<std::uint64_t> enough,
                          const ObserveOptions& options, const std::string& request,
                          const std::filesystem::path& folder,
                          const std::function<void(const std::string&)>& progress,
                          const std::atomic<bool>& stop);

}  // namespace gangway
