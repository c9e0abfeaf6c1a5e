#include "sim/copy_engines.hpp"

#include <algorithm>
#include <cmath>

namespace gangway {

Bandwidth share_of_bus(Bandwidth bus, Bandwidth own, std::int64_t engines, Bandwidth other,
                       std::int64_t others) {
  const std::int64_t even = bus.bytes_per_second / (engines + others);
  const std::int64_t taken = others * std::min(other.bytes_per_second, even);
  return {std::min(own.bytes_per_second, std::max(even, (bus.bytes_per_second - taken) / engines))};
}

CopyEngines::CopyEngines(const Device& device) : h2d_(device.h2d), d2h_(device.d2h), bus_(device.bus) {
  const bool one_at_a_time = device.rules.on(Rule::C2);
  for (std::int64_t gpu = 0; gpu < device.gpus; ++gpu)
    for (const CopyEngine& engine : {h2d_, d2h_}) queues_.emplace_back(engine, one_at_a_time);
}

void CopyEngines::reset() {
  for (CopyQueue& queue : queues_) queue.reset();
  changed_ = false;
}

std::optional<CopyEngines::Ended> CopyEngines::end(std::uint32_t index, std::uint64_t event, Time now) {
  CopyQueue& queue = queues_[index % count()];
  const std::uint32_t slot = index / count();
  if (!queue.ends(slot, event)) return std::nullopt;
  changed_ = true;
  const Ended ended{queue.copy(slot), queue.beginning(slot)};
  queue.finish(slot, now);
  return ended;
}

std::int64_t CopyEngines::busy(CopyDirection wanted) const {
  std::int64_t busy = 0;
  for (std::uint32_t e = 0; e < count(); ++e)
    if (direction(e) == wanted && !queues_[e].idle()) ++busy;
  return busy;
}

std::int64_t CopyEngines::speed(std::uint32_t e) const {
  const CopyEngine& own = direction(e) == CopyDirection::to_device ? h2d_ : d2h_;
  double part = 1;
  if (!bus_) {
    if (!queues_[e ^ 1U].idle()) part = own.both_ways;
  } else {
    const CopyEngine& other = direction(e) == CopyDirection::to_device ? d2h_ : h2d_;
    const std::int64_t restoring = busy(CopyDirection::to_device), saving = busy(CopyDirection::to_host);
    const auto [engines, others] = direction(e) == CopyDirection::to_device ? std::pair(restoring, saving)
                                                                            : std::pair(saving, restoring);
    const Bandwidth share =
        share_of_bus(*bus_, own.bandwidth, std::max<std::int64_t>(1, engines), other.bandwidth, others);
    part = static_cast<double>(share.bytes_per_second) / static_cast<double>(own.bandwidth.bytes_per_second);
  }
  return std::llround(part * CopyQueue::kFullSpeed);
}

}  // namespace gangway
