#include "hw/live/gpus/placement.hpp"

#include <algorithm>

#include "models/error.hpp"

namespace gangway::live {
namespace {

constexpr double kAlike = 0.01;  // loads that measuring does not tell apart

}  // namespace

Place place_named(const std::string& option, const std::string& text) {
  for (const Place place : {Place::fixed, Place::least_loaded, Place::migrate})
    if (text == text_of(place)) return place;
  throw InputError({option, 0}, "place", quote(text), "fixed, least-loaded or migrate");
}

const char* text_of(Place place) {
  switch (place) {
    case Place::fixed:
      return "fixed";
    case Place::least_loaded:
      return "least-loaded";
    case Place::migrate:
      return "migrate";
  }
  return "";
}

double load_of(const GpuLoad& gpu) {
  const double resident =
      gpu.memory == 0 ? 0 : static_cast<double>(gpu.resident) / static_cast<double>(gpu.memory);
  return resident + gpu.use;
}

std::size_t least_loaded(const std::vector<GpuLoad>& gpus) {
  double least = load_of(gpus[0]);
  for (const GpuLoad& gpu : gpus) least = std::min(least, load_of(gpu));
  std::size_t best = gpus.size();
  for (std::size_t g = 0; g < gpus.size(); ++g)
    if (load_of(gpus[g]) <= least + kAlike && (best == gpus.size() || gpus[g].programs < gpus[best].programs))
      best = g;
  return best;
}

Duration move_time(std::uint64_t footprint, const MovePace& pace) {
  const auto bytes = static_cast<double>(footprint);
  return pace.fixed + Duration{static_cast<std::int64_t>((bytes / pace.save + bytes / pace.restore) * 1e9)};
}

double turnaround(const std::vector<double>& demands) {
  double sum = 0;
  for (const double demand : demands) sum += demand * std::max(1.0, demand);
  return sum;
}

std::optional<MoveChoice> best_move(const std::vector<Wanting>& clients,
                                    const std::vector<std::uint64_t>& room, const MovePace& pace,
                                    const MoveRule& rule) {
  std::vector<double> demands(room.size());
  for (const Wanting& client : clients) demands[client.gpu] += client.demand;
  const double before = turnaround(demands);
  const auto seconds = [](Duration time) { return static_cast<double>(time.ns) / 1e9; };
  std::optional<MoveChoice> best;
  double most = 0;
  for (std::size_t c = 0; c < clients.size(); ++c) {
    const Wanting& client = clients[c];
    if (!client.movable) continue;
    const Duration expected = move_time(client.footprint, pace);
    for (std::size_t to = 0; to < room.size(); ++to) {
      if (to == client.gpu || client.footprint > room[to]) continue;
      std::vector<double> after = demands;
      after[client.gpu] -= client.demand;
      after[to] += client.demand;
      const double gain = before - turnaround(after);
      const double profit = gain * seconds(rule.window) - rule.margin * seconds(expected);
      if (gain < rule.least_gain || profit <= most) continue;
      most = profit;
      best = MoveChoice{c, to, gain, expected};
    }
  }
  return best;
}

}  // namespace gangway::live
