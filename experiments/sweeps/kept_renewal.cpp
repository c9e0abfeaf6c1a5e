#include "experiments/sweeps/kept_renewal.hpp"

#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>

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
  for (const SweptPath& swept : experiment.points.sweep().paths())
    if (swept.path().ends_with("time_slice.renewal")) return {};
  std::map<std::string, std::set<std::pair<Duration, Duration>>> found;  // by device: length, renewal
  experiment.points.each_checked([&](const Point& point) {
    for (const Contender& policy : point.policies) {
      const Device& device = point.device_of(policy);
      if (plays_recordings(point.workload_of(policy).sample()) && device.arbitration != Arbitration::mps &&
          device.time_slice && differ(*device.time_slice))
        found[device.name].insert({device.time_slice->length, device.time_slice->renewal});
    }
  });
  std::vector<std::string> notes;
  for (const auto& [device, slices] : found) {
    const auto& [length, renewal] = *slices.begin();
    notes.push_back(fmt::format(
        "{}: time slices last {}{}, but {} if nobody else is ready, as time_slice.renewal says; without that "
        "key they last the same",
        device, to_text(length),
        slices.size() > 1 ? fmt::format(" (and {} other times)", slices.size() - 1) : "", to_text(renewal)));
  }
  return notes;
}

}  // namespace gangway
