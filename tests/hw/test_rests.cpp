// A device rests between a calibration's readings of a kernel, as it does in mixes.
#include <atomic>

#include "hw/calibration/launches.hpp"
#include "hw/calibration/measurements.hpp"
#include "tests/catch.hpp"
#include "tests/hw/kernel_cases.hpp"
#include "tests/scenario.hpp"

namespace gangway::testing {

TEST_CASE("rests: a device is idle for as long as a kernel took, and not for longer than 50 ms") {
  CHECK(rest_after(Duration{2'000'000}) == Duration{2'000'000});
  CHECK(rest_after(Duration{200'000'000}) == Duration{50'000'000});
}

TEST_CASE("rests: after each reading of a kernel's time, in both forms") {
  const RealDeviceEntry& host = RealDevices::named("host", "test", "device");
  Client kernel = client("c", 0, 64);
  kernel.kernels[0].code = kernel_from("throttle", "{block_tasks: 64, time: 1 ms}");
  Calibration c;
  c.device = host.describe();
  const std::atomic<bool> stop{false};
  Bench bench(host, c.device, {kernel}, "flag-copy", 1, c, stop);
  CalibrationPlan plan;
  plan.most = 20;
  const auto began = HostClock::now();
  measure_times(bench, plan, {0, 0});
  const Duration lasted = HostClock::now() - began;
  Duration timed{};
  for (const Reading& reading : c.readings)
    if (reading.quantity == "original" || reading.quantity == "transformed") {
      const Duration time{static_cast<std::int64_t>(reading.value)};
      timed = timed + time + rest_after(time);
    }
  CHECK(timed > Duration{});
  CHECK(lasted >= timed);
}

TEST_CASE("rests: the other kernel comes when the device has rested after the probed one") {
  Kernel kernel = client("A", 0, 2'000'000).kernels[0];
  const Workload workload =
      probed_kernel(CalibrationPlan{}, "A", kernel, Duration{3'000'000}, client("other", 0, 100'000));
  CHECK(workload.clients[0].repeat.think == Duration{});
  CHECK(workload.clients[1].repeat.think == Duration{6'000'000});
}

}  // namespace gangway::testing
