// Which GPU a recorded client is on. README.md is the definition.
#include "sim/recorded/recorded_world.hpp"

namespace gangway {
namespace {

double per_ns(Duration time) { return 1 / static_cast<double>(std::max<std::int64_t>(time.ns, 1)); }

double rate_of(const std::vector<Duration>& releases) {
  return static_cast<double>(releases.size()) * per_ns(releases.back() - releases.front());
}

// How many jobs of the client begin in a ns.
double rate_of_jobs(const Client& client) {
  const Repeat& repeat = client.repeat;
  if (repeat.period) return per_ns(*repeat.period);
  if (repeat.think) return per_ns(client.recorded->job + *repeat.think);
  if (repeat.arrivals && repeat.arrivals->process) return repeat.arrivals->rate.per_second / 1e9;
  if (repeat.arrivals && repeat.arrivals->times && !repeat.arrivals->times->empty())
    return rate_of(*repeat.arrivals->times);
  if (!repeat.releases.empty()) return rate_of(repeat.releases);
  return per_ns(client.recorded->between_ends);
}

// Which share of a GPU the client uses with nobody else there.
double use_of(const Client& client) {
  return std::min(1.0, static_cast<double>(client.recorded->busy.ns) * rate_of_jobs(client));
}

}  // namespace

void RecordedWorld::place_in_turn() {
  for (std::uint32_t c = 0; c < clients_.size(); ++c)
    gpus_[c] =
        placed_in_turn(setup_.workload.clients[c].gpus, c, static_cast<std::uint32_t>(setup_.device.gpus))
            .index;
  using Forms = GpuStreams::Forms;
  const bool forms = under_grants() && takes_forms();
  streams_.reset(gpus_, !forms ? Forms::none : slices_ ? Forms::sliced : Forms::leave);
}

void RecordedWorld::place_where_least_is_used(const RecordedClient& client) {
  const auto all = static_cast<std::uint32_t>(setup_.device.gpus);
  std::vector<double> used(all);
  for (const RecordedClient& other : clients_)
    if (other.begun && has_jobs(other)) used[gpus_[other.run.id().index]] += use_of(other.run.client());
  GpuSet may_use = common(client.run.client().gpus, GpuSet::first(all));
  std::uint32_t least = may_use.lowest().index;
  for (; !may_use.empty(); may_use.remove(may_use.lowest()))
    if (used[may_use.lowest().index] < used[least]) least = may_use.lowest().index;
  gpus_[client.run.id().index] = least;
  streams_.place(client.run.id(), least);
}

}  // namespace gangway
