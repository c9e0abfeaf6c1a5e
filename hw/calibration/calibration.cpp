#include "hw/calibration/calibration.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "hw/calibration/fitted.hpp"
#include "hw/calibration/launches.hpp"
#include "hw/calibration/measurements.hpp"
#include "hw/calibration/polls.hpp"
#include "hw/calibration/rounded.hpp"
#include "hw/kernels/throttle.hpp"
#include "hw/mechanisms/real_mechanism.hpp"
#include "hw/real_time_refusals.hpp"
#include "models/fit/location.hpp"
#include "models/mechanism.hpp"

namespace gangway {
namespace {

using namespace literals;

constexpr Duration kProbeTime = 3'000'000_ns;  // throttle kernels last about this long

// A throttle kernel whose block-tasks last about `length`.
Client probe(const Device& device, Duration length) {
  Kernel kernel;
  kernel.name = fmt::format("throttle-{}us", length.ns / 1000);
  kernel.block_tasks = {1};
  const std::int64_t resident = std::max<std::int64_t>(1, resident_blocks(device, kernel));
  kernel.block_tasks = {resident * std::max<std::int64_t>(4, kProbeTime.ns / length.ns)};
  kernel.time = {kernel.block_tasks.count * length.ns / resident};
  kernel.code = throttle_like(kernel, resident);
  Client client;
  client.name = kernel.name;
  client.kernels.push_back(std::move(kernel));
  return client;
}

// One client at a time: only one problem's memory is needed.
void measure_alone(const RealDeviceEntry& entry, const CalibrationPlan& plan, std::size_t number,
                   Calibration& c, const std::function<void(const std::string&)>& progress,
                   const std::atomic<bool>& stop) {
  const Client& client = plan.clients[number];
  Bench bench(entry, c.device, {client, another_kernel(entry, plan.largest_copy / 4)},
              plan.mechanisms.front(), plan.seed, c, stop);
  for (std::uint32_t k = 0; k < client.kernels.size(); ++k) {
    const std::string name = label(client, client.kernels[k]);
    progress("kernel " + name);
    describe_forms(bench, c, number, k);
    c.persistent_blocks[name] = bench.device().probes().blocks({0, k});
    warm_up(bench, {plan.warm_up.ns / 5});
    measure_times(bench, plan, {0, k});
    measure_block_tasks(bench, {0, k});
    measure_beside_copies(bench, plan, {0, k});
  }
}

}  // namespace

CalibrationPlan usual_plan(std::vector<Client> clients, const RealDeviceEntry& device) {
  CalibrationPlan plan;
  plan.clients = std::move(clients);
  plan.lengths = {2_us, 5_us, 10_us, 20_us, 50_us, 100_us, 200_us};
  plan.idle = {100_us, 300_us, 1_ms, 3_ms, 10_ms, 30_ms, 100_ms};
  for (const std::string& name : mechanisms_of(device)) {
    if (Mechanisms::named(name, "calibration", "mechanism").needs != PreemptionLevel::block_task) continue;
    const RealMechanismEntry& half = RealMechanisms::named(name, "calibration", "mechanism");
    const bool known = std::any_of(plan.mechanisms.begin(), plan.mechanisms.end(), [&](const auto& other) {
      return device.same(half, RealMechanisms::named(other, "calibration", "mechanism"));
    });
    if (!known) plan.mechanisms.push_back(name);
  }
  const auto usual = std::find(plan.mechanisms.begin(), plan.mechanisms.end(), kUsualMechanism);
  if (usual != plan.mechanisms.end()) std::rotate(plan.mechanisms.begin(), usual, usual + 1);
  return plan;
}

Calibration calibrate(const RealDeviceEntry& entry, const CalibrationPlan& plan,
                      const std::function<void(const std::string&)>& progress,
                      const std::atomic<bool>& stop) {
  Calibration c;
  c.device = entry.describe();
  c.machine = entry.machine();
  c.clients = plan.clients;
  c.mechanism = plan.mechanisms.front();
  for (const std::string& mechanism : plan.mechanisms) {
    std::vector<Client> probes;
    for (const Duration length : plan.lengths) probes.push_back(probe(c.device, length));
    probes.front().copy_in = probes.front().copy_out = Bytes{plan.largest_copy};
    Bench bench(entry, c.device, probes, mechanism, plan.seed, c, stop);
    progress("warm-up, commands by " + mechanism);
    warm_up(bench, plan.warm_up);
    measure_commands(bench, plan, {0, 0});
    for (std::uint32_t i = 0; i < plan.lengths.size(); ++i) {
      progress(fmt::format("evictions by {}, block-tasks of {}", mechanism, to_text(plan.lengths[i])));
      measure_switches(bench, plan, {i, 0}, plan.lengths[i]);
    }
    fit_evictions(c, mechanism);
    if (mechanism != c.mechanism) continue;
    progress("launches after idle times");
    measure_after_idle(bench, plan, {0, 0});
    progress("blocks in a row");
    measure_blocks_in_a_row(bench, {0, 0});
    const Kernel& shortest = bench.kernel({0, 0});
    c.device.delays.block_end =
        refill(c, mechanism, shortest.name, waves(c.device, shortest), plan.lengths.front());
    progress("copies");
    measure_copies(bench, plan, "copy h2d", CopyDirection::to_device);
    measure_copies(bench, plan, "copy d2h", CopyDirection::to_host);
    measure_copies_both_ways(bench, plan);
    measure_commands_beside_copies(bench, plan, {0, 0});
  }
  if (entry.poll_probe != nullptr) {
    progress("polls");
    measure_polls(*entry.poll_probe(), plan, c, stop);
    fit_polls(c);
  }
  const std::string& mechanism = plan.mechanisms.front();
  for (std::size_t number = 0; number < plan.clients.size(); ++number) {
    measure_alone(entry, plan, number, c, progress, stop);
    for (std::uint32_t k = 0; k < plan.clients[number].kernels.size(); ++k) {
      const std::string name = label(plan.clients[number], plan.clients[number].kernels[k]);
      progress("launches of " + name);
      play_launches(entry, plan, plan.clients[number], k, mechanism,
                    median_of(c, "transformed", mechanism, name), c, stop);
    }
  }
  c.device.commands.launch = rounded(median_of(c, "launch", mechanism, ""));
  c.device.commands.pending_work = rounded(median_of(c, "pending work", mechanism, ""));
  // Blocks of long block-tasks keep in step, so that a random moment meets them half done on average; short
  // ones are spread, and somewhere one has just begun. What every eviction costs is seen at the shortest.
  c.device.commands.evict = rounded(median(beside_shortest(c, mechanism)));
  c.device.h2d = fit_copies(c, "copy h2d");
  c.device.d2h = fit_copies(c, "copy d2h");
  c.device.h2d.both_ways = speed_both_ways(c, "copy h2d both ways", c.device.h2d);
  c.device.commands.after_idle = launches_after_idle(c, mechanism);
  c.device.commands.beside_copies = commands_beside_copies(c, mechanism);
  c.device.d2h.both_ways = speed_both_ways(c, "copy d2h both ways", c.device.d2h);
  describe_kernels(c, mechanism, c.device.commands.evict);
  c.summaries = summaries_of(c.readings);
  return c;
}

}  // namespace gangway
