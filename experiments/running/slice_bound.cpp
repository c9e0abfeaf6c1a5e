#include "experiments/running/slice_bound.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/running/playable.hpp"
#include "models/short_slice.hpp"

namespace gangway {
namespace {

double in_seconds(Duration time) { return static_cast<double>(time.ns) / 1e9; }

bool plays_programs(const Workload& workload) {
  return std::any_of(workload.clients.begin(), workload.clients.end(),
                     [](const Client& client) { return client.recorded || client.command; });
}

}  // namespace

std::optional<Duration> time_slice_of(const PolicyEntry& policy, const ParameterValues& values) {
  for (const char* name : {"slice", "quantum"})
    for (const Parameter& parameter : policy.parameters)
      if (parameter.name == name && std::holds_alternative<Parameter::Time>(parameter.form))
        return values.duration(name);
  return std::nullopt;
}

Duration least_time_slice(const Point& point, const Contender& contender) {
  std::int64_t first = 0, second = 0;
  for (const Client& client : point.workload_of(contender).sample().clients) {
    second = std::max(second, std::min(first, client.memory.count));
    first = std::max(first, client.memory.count);
  }
  const CopyEngine& engine = point.device_of(contender).h2d;
  const double bus = static_cast<double>(engine.bandwidth.bytes_per_second) * engine.both_ways;
  if (bus <= 0 || second == 0) return {};
  return {std::llround((static_cast<double>(first) + static_cast<double>(second)) * 1e9 / bus)};
}

std::string slice_bound_note(const Experiment& experiment) {
  std::string worst;
  double least = 1;
  std::size_t cells = 0, shorter = 0, next = 0;
  experiment.points.each_checked([&](const Point& point) {
    const std::size_t index = next++;
    if (!moves_memory(point.policies)) return;
    for (const Contender& contender : point.policies) {
      const auto slice = time_slice_of(*contender.entry, contender.values);
      if (!slice || contender.granting.of != GrantOf::job) continue;
      if (!plays_programs(point.workload_of(contender).sample())) continue;
      ++cells;
      const Duration bound = least_time_slice(point, contender);
      if (!too_short(*slice, bound)) continue;
      ++shorter;
      const double part = in_seconds(*slice) / in_seconds(bound);
      if (part >= least && !worst.empty()) continue;
      least = part;
      worst = short_slice_text(*slice, bound, fmt::format("under {} at point {}", contender.label, index));
    }
  });
  if (worst.empty()) return "";
  return fmt::format("{} ({} of {} cells), so moves are not hidden", worst, shorter, cells);
}

}  // namespace gangway
