#include "hw/calibration/launches.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "hw/calibration/rounded.hpp"
#include "models/input/document.hpp"

namespace gangway {
namespace {

// Covers [0, 1) evenly with any number of points, no two neighbours in a row.
double spread_evenly(int i, double offset) {
  const double x = offset + i / std::numbers::phi;
  return x - std::floor(x);
}

double in_ns(Duration d) { return static_cast<double>(d.ns); }

}  // namespace

Client another_kernel(const RealDeviceEntry& entry, std::int64_t copy) {
  const KernelEntry& code = Kernels::named("VA", "calibration", "code");
  const std::int64_t elements = entry.poll_probe != nullptr ? 1 << 25 : 1 << 16;
  const Node params =
      parse_yaml("{elements: " + std::to_string(elements) + ", per_thread: 32}", "another kernel");
  Client client;
  Kernel kernel;
  client.name = kernel.name = "another kernel";
  kernel.code = code.make(ParameterValues(code.parameters, Field(params, "")));
  kernel.block_tasks = kernel.code->block_tasks();
  kernel.block = kernel.code->block();
  kernel.time = Duration{100'000};
  client.copy_in = client.copy_out = Bytes{copy};
  client.kernels.push_back(std::move(kernel));
  return client;
}

void measure_after_another(Bench& bench, const CalibrationPlan& plan, KernelIndex k) {
  const auto whole = [&](const char* command, const char* time) {
    const auto l = bench.launch(k);
    const auto o = bench.over();
    if (!bench.undisturbed(o.gone - l.started)) return;
    bench.read(command, k, 0, l.started - l.ordered);
    bench.read(time, k, 0, o.gone - l.started);
    bench.read("pending work of the whole", k, 0, o.known - o.gone);
  };
  for (int i = 0; i < plan.launches; ++i) {
    bench.whole(kAnother);
    whole("launch after another", "transformed after another");
    whole("launch after itself", "transformed after itself");
  }
}

void measure_rests(Bench& bench, const CalibrationPlan& plan, KernelIndex k) {
  const std::int64_t tasks = bench.kernel(k).block_tasks.count;
  if (tasks < 2) return;
  const double offset = bench.random().uniform();
  for (int i = 0; i < plan.launches; ++i) {
    const auto first =
        1 + static_cast<std::int64_t>(spread_evenly(i, offset) * static_cast<double>(tasks - 1));
    bench.whole(kAnother);
    const auto l = bench.launch(k, BlockCount{first});
    const auto o = bench.over();
    if (bench.undisturbed(o.gone - l.started))
      bench.read(kRestOfKernel, k, tasks - first, o.gone - l.started);
  }
}

void measure_evictions(Bench& bench, const CalibrationPlan& plan, KernelIndex k, double transformed) {
  const double tasks = static_cast<double>(bench.kernel(k).block_tasks.count);
  const double offset = bench.random().uniform();
  for (int i = 0; i < plan.evictions; ++i) {
    bench.whole(kAnother);
    const auto l = bench.launch(k);
    bench.pause(l.started + rounded(transformed * 0.98 * spread_evenly(i, offset)) - HostClock::now());
    const auto ordered = HostClock::now();
    bench.device().launches().evict();
    const auto o = bench.over();
    if (o.done == bench.kernel(k).block_tasks) continue;  // it had ended before
    bench.read("eviction", k, 0, o.gone - ordered);
    bench.read("pending work after an eviction", k, 0, o.known - o.gone);
    bench.read("eviction's order", k, 0, ordered - l.started);
    const double work = static_cast<double>(o.done.count) / tasks * transformed;
    bench.read("work after an eviction's order", k, 0,
               Duration{std::llround(work - in_ns(ordered - l.started))});
  }
}

void measure_beside_copies(Bench& bench, const CalibrationPlan& plan, KernelIndex k) {
  const Bytes size = bench.workload().clients[kAnother.client].copy_in;
  auto& copies = bench.device().copies();
  for (const CopyDirection direction : {CopyDirection::to_device, CopyDirection::to_host}) {
    const bool in = direction == CopyDirection::to_device;
    for (int i = 0; i < plan.beside_copies; ++i) {
      bench.whole(kAnother);
      copies.copy(direction, size);
      const auto l = bench.launch(k);
      const auto gone = bench.wait([&] {
        if (copies.copied(direction)) copies.copy(direction, size);
        return bench.device().launches().gone();
      });
      bench.over();
      bench.wait([&] { return copies.copied(direction); });
      bench.read(in ? "launch beside copy h2d" : "launch beside copy d2h", k, 0, l.started - l.ordered);
      bench.read(in ? "transformed beside copy h2d" : "transformed beside copy d2h", k, 0, gone - l.started);
    }
  }
}

}  // namespace gangway
