#include "experiments/studies/simulated_taskset.hpp"

#include <algorithm>

#include "models/error.hpp"

namespace gangway {
namespace {

constexpr std::int64_t kFinest = 1'000'000'000;             // ticks of a unit, beyond which times are rounded
constexpr std::int64_t kRounded = 1'000'000;                // ticks of a unit then
constexpr std::int64_t kMostTicks = 1'000'000'000'000'000;  // of a run

std::optional<std::int64_t> nanoseconds_of(const std::string& unit) {
  if (unit == "s") return 1'000'000'000;
  if (unit == "ms") return 1'000'000;
  if (unit == "us") return 1'000;
  if (unit == "ns") return 1;
  return std::nullopt;
}

}  // namespace

Ticks::Ticks(const std::vector<Rational>& times, const Rational& longest, Prefer prefer,
             const std::string& unit, const Origin& origin, const std::string& key) {
  Rational whole = 1;  // the least scale that makes all times whole
  for (const Rational& time : times)
    whole = Rational::common_multiple(whole, Rational::common_denominator(time, 1));
  std::vector<Rational> scales;
  if (const auto natural = nanoseconds_of(unit);
      natural && prefer == Prefer::nanosecond && (Rational(*natural) / whole).whole())
    scales.emplace_back(*natural);
  scales.push_back(whole * 1000);
  scales.push_back(whole * 2);
  for (const Rational& scale : scales) {
    exact_ = scale <= Rational(kFinest) && longest * scale <= Rational(kMostTicks);
    if (!exact_) continue;
    scale_ = scale;
    return;
  }
  scale_ = Rational(kRounded);
  if (!(longest * scale_ <= Rational(kMostTicks)))
    throw InputError(origin, key, longest.text(), "at most 10^9 of the set's units of time");
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
