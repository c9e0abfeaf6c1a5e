#include "hw/calibration/measurements.hpp"

#include <algorithm>

#include "hw/calibration/fitted.hpp"
#include "hw/calibration/rounded.hpp"
#include "models/fit/location.hpp"

namespace gangway {
using namespace literals;

Duration rest_after(Duration kernel) { return std::min(kernel, Duration{50'000'000}); }

void warm_up(Bench& bench, Duration length) {
  const auto began = HostClock::now();
  do bench.whole({0, 0});
  while (HostClock::now() - began < length);
}

// --- Kernels, each alone ---

// Registers are given out in eights, which is how the model counts them.
void describe_forms(Bench& bench, Calibration& c, std::size_t client, std::uint32_t number) {
  const auto forms = bench.device().probes().forms({0, number});
  if (!forms) return;
  Kernel& kernel = c.clients[client].kernels[number];
  c.forms.push_back({label(c.clients[client], kernel), kernel.block_tasks, kernel.threads(), *forms});
  kernel.registers = (forms->original.registers + 7) / 8 * 8;
  kernel.shared_memory = forms->original.shared_memory;
}

void measure_times(Bench& bench, const CalibrationPlan& plan, KernelIndex k) {
  std::vector<double> original, transformed;
  for (int i = 0; i < plan.most; ++i) {  // in turns, so that slow changes of the clock meet both alike
    if (const auto time = bench.original(k)) {
      original.push_back(static_cast<double>(time->ns));
      bench.read("original", k, 0, *time);
      bench.pause(rest_after(*time));
    }
    if (const auto time = bench.whole(k)) {
      transformed.push_back(static_cast<double>(time->ns));
      bench.read("transformed", k, 0, *time);
      bench.read("transformed on the device clock", k, 0, bench.device().probes().device_time());
      bench.pause(rest_after(*time));
    }
    if (std::min(original.size(), transformed.size()) < kFewestReadings) continue;
    if (median_settled(original, plan.settled) && median_settled(transformed, plan.settled)) return;
  }
  if (std::min(original.size(), transformed.size()) < kFewestReadings)
    throw RunError("the scheduler's core is too busy with other things to time " +
                   bench.workload().clients[k.client].name);
}

void measure_block_tasks(Bench& bench, KernelIndex k) {
  bench.device().probes().observe(true);
  bench.whole(k);
  const auto observed = bench.device().probes().observed();
  bench.device().probes().observe(false);
  constexpr std::size_t kKept = 2000;  // of up to 100,000: enough for a distribution
  const std::size_t step = std::max<std::size_t>(1, observed.lengths.size() / kKept);
  for (std::size_t i = 0; i < observed.lengths.size(); i += step)
    bench.read("block-task", k, 0, observed.lengths[i]);
}

void measure_beside_copies(Bench& bench, const CalibrationPlan& plan, KernelIndex k) {
  const Bytes size = bench.workload().clients.back().copy_in;
  auto& copies = bench.device().copies();
  for (const CopyDirection direction : {CopyDirection::to_device, CopyDirection::to_host}) {
    const bool in = direction == CopyDirection::to_device;
    for (int i = 0; i < plan.beside_copies; ++i) {
      copies.copy(direction, size);
      const auto l = bench.launch(k);
      const auto gone = bench.wait([&] {
        if (copies.copied(direction)) copies.copy(direction, size);
        return bench.device().launches().gone();
      });
      bench.over();
      bench.wait([&] { return copies.copied(direction); });
      bench.read(in ? "transformed beside copy h2d" : "transformed beside copy d2h", k, 0, gone - l.started);
    }
  }
}

// --- Commands ---

void measure_commands(Bench& bench, const CalibrationPlan& plan, KernelIndex k) {
  for (int i = 0; i < plan.commands; ++i) {
    const auto l = bench.launch(k);
    bench.read("launch", k, 0, l.started - l.ordered);
    bench.pause(100'000_ns);
    bench.device().launches().evict();
    const auto o = bench.over();
    bench.read("pending work", k, 0, o.known - o.gone);
  }
}

void measure_blocks_in_a_row(Bench& bench, KernelIndex k) {
  for (std::size_t i = 0; i < 2 * kFewestReadings; ++i)
    if (const auto time = bench.original(k)) bench.read(kBlocksInARow, k, 0, *time);
}

void measure_after_idle(Bench& bench, const CalibrationPlan& plan, KernelIndex k) {
  for (const Duration idle : plan.idle)
    for (int i = 0; i < plan.after_idle; ++i) {
      bench.pause(idle);
      const auto l = bench.launch(k);
      bench.device().launches().evict();
      bench.over();
      bench.read(kLaunchAfterIdle, k, idle.ns, l.started - l.ordered);
    }
}

void measure_switches(Bench& bench, const CalibrationPlan& plan, KernelIndex k, Duration length) {
  const BlockCount all = bench.kernel(k).block_tasks;
  std::vector<Duration> evictions, switches;
  for (int i = 0; i < plan.commands; ++i) {
    bench.launch(k);
    bench.pause(rounded(2e5 + 1e6 * bench.random().uniform()));
    const auto ordered = HostClock::now();
    bench.device().launches().evict();
    const auto o = bench.over();
    if (o.done == all) continue;  // it had ended before
    const auto next = bench.launch(k, o.done);
    bench.device().launches().evict();
    bench.over();
    evictions.push_back(o.gone - ordered);
    switches.push_back(next.started - ordered);
    bench.read("eviction", k, length.ns, evictions.back());
    bench.read("evict order to next first block", k, length.ns, switches.back());
    bench.read("relaunch", k, length.ns, next.started - next.ordered);
  }
  std::vector<double> longest;
  bench.device().probes().observe(true);
  for (std::size_t i = 0; i < kFewestReadings; ++i) {
    bench.launch(k);
    bench.pause(500'000_ns);
    bench.device().launches().evict();
    bench.over();
    const auto lengths = bench.device().probes().observed().lengths;
    if (lengths.empty()) continue;
    const Duration most = *std::max_element(lengths.begin(), lengths.end());
    longest.push_back(static_cast<double>(most.ns));
    bench.read("longest block-task", k, length.ns, most);
  }
  bench.device().probes().observe(false);
  if (length > kShortTask || longest.empty()) return;
  const auto beside = [&](Duration d) { return rounded(static_cast<double>(d.ns) - median(longest)); };
  for (std::size_t i = 0; i < evictions.size(); ++i) {
    bench.read(kEvictionBeside, k, length.ns, beside(evictions[i]));
    bench.read("switch beside its block-task", k, length.ns, beside(switches[i]));
  }
}

// --- Copies ---

void measure_copies(Bench& bench, const CalibrationPlan& plan, const char* quantity,
                    CopyDirection direction) {
  for (std::int64_t size = 4096; size <= plan.largest_copy; size *= 4)
    for (std::size_t i = 0; i < kFewestReadings + 5; ++i) {
      const auto began = HostClock::now();
      bench.device().copies().copy(direction, Bytes{size});
      const auto ended = bench.wait([&] { return bench.device().copies().copied(direction); });
      if (i >= 5) bench.read_copy(quantity, size, ended - began);
    }
}

void measure_copies_both_ways(Bench& bench, const CalibrationPlan& plan) {
  auto& copies = bench.device().copies();
  for (const CopyDirection direction : {CopyDirection::to_device, CopyDirection::to_host}) {
    const bool in = direction == CopyDirection::to_device;
    const CopyDirection other = in ? CopyDirection::to_host : CopyDirection::to_device;
    for (std::size_t i = 0; i < kFewestReadings; ++i) {
      copies.copy(other, Bytes{plan.largest_copy});
      const auto began = HostClock::now();
      copies.copy(direction, Bytes{plan.largest_copy / 4});
      const auto ended = bench.wait([&] { return copies.copied(direction); });
      bench.wait([&] { return copies.copied(other); });
      bench.read_copy(in ? "copy h2d both ways" : "copy d2h both ways", plan.largest_copy / 4, ended - began);
    }
  }
}

void measure_commands_beside_copies(Bench& bench, const CalibrationPlan& plan, KernelIndex k) {
  auto& copies = bench.device().copies();
  for (const CopyDirection direction : {CopyDirection::to_device, CopyDirection::to_host}) {
    const std::string beside =
        direction == CopyDirection::to_device ? " beside copy h2d" : " beside copy d2h";
    for (int i = 0; i < plan.commands / 10; ++i) {
      copies.copy(direction, Bytes{plan.largest_copy});
      bench.pause(50'000_ns);
      const auto l = bench.launch(k);
      bench.pause(100'000_ns);
      const auto ordered = HostClock::now();
      bench.device().launches().evict();
      const auto o = bench.over();
      bench.wait([&] { return copies.copied(direction); });
      bench.read("launch" + beside, k, 0, l.started - l.ordered);
      bench.read("eviction" + beside, k, 0, o.gone - ordered);
      bench.read("pending work" + beside, k, 0, o.known - o.gone);
    }
  }
}

}  // namespace gangway
