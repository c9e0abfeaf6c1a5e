#include "experiments/studies/simulated_taskset.hpp"

#include <fmt/format.h>

#include <utility>

namespace gangway {
namespace {

constexpr std::int64_t kFine = 1'000'000'000;               // ticks of a unit, beyond which none are spared
constexpr std::int64_t kMostTicks = 1'000'000'000'000'000;  // of a run
constexpr std::int64_t kFewestTicks = 2;                    // of a block that is rounded

std::optional<std::int64_t> nanoseconds_of(const std::string& unit) {
  if (unit == "s") return 1'000'000'000;
  if (unit == "ms") return 1'000'000;
  if (unit == "us") return 1'000;
  if (unit == "ns") return 1;
  return std::nullopt;
}

}  // namespace

Ticks::Ticks(const std::vector<Rational>& times, const Rational& longest, Prefer prefer,
             const std::string& unit, Origin origin, std::string key)
    : origin_(std::move(origin)), key_(std::move(key)) {
  const Rational most = Rational(kMostTicks) / longest;
  Rational whole = 1;  // the least scale that makes all times whole
  for (const Rational& time : times)
    whole = Rational::common_multiple(whole, Rational::common_denominator(time, 1));
  std::vector<Rational> scales;
  if (const auto natural = nanoseconds_of(unit);
      natural && prefer == Prefer::nanosecond && (Rational(*natural) / whole).whole())
    scales.emplace_back(*natural);
  if (whole * 1000 <= Rational(kFine)) scales.push_back(whole * 1000);
  scales.push_back(whole * 2);
  for (const Rational& scale : scales) {
    if (scale > most) continue;
    scale_ = scale;
    return;
  }
  exact_ = false;
  while (scale_ * 10 <= most) scale_ = scale_ * 10;
  while (scale_ > most) scale_ = scale_ / 10;
}

std::int64_t Ticks::rounded_down(const Rational& time, std::int64_t multiple) const {
  const std::int64_t ticks = multiple * *Rational::floor_of(time * scale_, multiple).integer();
  if (!exact_ && ticks < kFewestTicks)  // what is left would say nothing of the block
    throw InputError(
        origin_, key_, "a block of " + time.text(),
        fmt::format("at least {}, as the run has up to 10^15 ticks of {} and blocks need {}",
                    (Rational(kFewestTicks) / scale_).text(), (Rational(1) / scale_).text(), kFewestTicks));
  return ticks;
}

std::int64_t Ticks::whole(const Rational& time, const std::string& what) const {
  const Rational ticks = time * scale_;
  if (!ticks.whole())
    throw InputError(origin_, what, time.text(),
                     fmt::format("a multiple of {}, a tick of the run", (Rational(1) / scale_).text()));
  return *ticks.integer();
}

std::int64_t waves_of(const ThreadLayout& layout, const Grid& grid) {
  const std::int64_t at_once = layout.sms * (layout.threads / grid.threads);
  return (grid.blocks - 1) / at_once + 1;
}

Device device_of(const ThreadLayout& layout, QueueOrder order, std::int64_t channels, Placement placement) {
  Device device;
  device.name = "task-set";
  device.pool = layout.kind == ThreadLayout::Kind::pool;
  device.sms = layout.sms;
  device.sm.threads = device.sm.blocks = layout.threads;
  device.sm.registers = 1;
  device.queue_order = order;
  device.channels = channels;
  device.placement = placement;
  device.memory = Bytes{1};
  return device;
}

Kernel kernel_of(const Grid& grid, Duration block_time) {
  Kernel kernel;
  kernel.name = "k";
  kernel.block_tasks = {grid.blocks};
  kernel.block = {grid.threads, 1, 1};
  kernel.block_task_length = kernel.time = block_time;
  return kernel;
}

}  // namespace gangway
