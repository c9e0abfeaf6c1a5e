#include "experiments/sweeps/kept_renewal.hpp"

#include <fmt/format.h>

#include <set>

#include "models/quantity.hpp"
#include "models/world.hpp"

namespace gangway {
namespace {

bool differ(const TimeSlice& slice) {
  const Duration more =
      slice.renewal > slice.length ? slice.renewal - slice.length : slice.length - slice.renewal;
  return more.ns > slice.length.ns / 10;
}

}  // namespace

std::vector<std::string> notes_of_kept_renewal(const Experiment& experiment) {
  std::set<std::string> notes;
  experiment.points.each_checked([&](const Point& point) {
    for (const Contender& policy : point.policies) {
      const Device& device = point.device_of(policy);
      if (!plays_recordings(point.workload_of(policy).sample()) || device.arbitration == Arbitration::mps ||
          !device.time_slice || !differ(*device.time_slice))
        continue;
      notes.insert(
          fmt::format("{}: time slices last {}, but {} if nobody else is ready, as time_slice.renewal "
                      "says; without that key they last the same",
                      device.name, to_text(device.time_slice->length), to_text(device.time_slice->renewal)));
    }
  });
  return {notes.begin(), notes.end()};
}

}  // namespace gangway
