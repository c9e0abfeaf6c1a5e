// The copy engines of one or several GPUs on one bus: which copies run, and how fast. sim/memory/README.md
// defines bus sharing. The world keeps the events.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "models/copy_direction.hpp"
#include "sim/copy_queue.hpp"

namespace gangway {

// Bandwidth for each of `engines` (at least 1) on a bus that `others` use too, at most `other` each: an even
// share plus what slower ones leave, at most `own`; bytes per second, rounded down.
Bandwidth share_of_bus(Bandwidth bus, Bandwidth own, std::int64_t engines, Bandwidth other,
                       std::int64_t others);

class CopyEngines {
 public:
  struct Ended {
    CopyQueue::Copy copy;
    CopyQueue::Beginning began;
  };

  explicit CopyEngines(const Device& device);
  void reset();  // a run begins without copies

  void ask(DeviceId gpu, CopyDirection direction, const CopyQueue::Copy& copy, Time now) {
    queues_[engine(gpu, direction)].ask(copy, now);
    changed_ = true;
  }
  // Whether copies were requested or ended since the last settle().
  bool changed() const { return changed_; }

  // At the end of an instant: starts copies and sets speeds. Calls begun(copy, gpu, direction) for each that
  // begins, and push(end, index), which returns an event number, for each whose end changes.
  template <typename Begun, typename Push>
  void settle(Time now, Begun begun, Push push) {
    if (!std::exchange(changed_, false)) return;
    for (std::uint32_t e = 0; e < queues_.size(); ++e)
      while (const auto slot = queues_[e].begin(now)) begun(queues_[e].copy(*slot), gpu(e), direction(e));
    for (std::uint32_t e = 0; e < queues_.size(); ++e)
      queues_[e].pace(now, speed(e),
                      [&](Time end, std::uint32_t slot) { return push(end, index_of(e, slot)); });
  }

  // Whether a copy is under way there.
  bool copies(DeviceId gpu, CopyDirection direction) const { return !queues_[engine(gpu, direction)].idle(); }
  // Handles a copy's end event; none if it is outdated.
  std::optional<Ended> end(std::uint32_t index, std::uint64_t event, Time now);
  // Removes the client's copies from all engines; calls stopped(copy, direction) for each running one.
  template <typename Stopped>
  void remove(ClientId client, Stopped stopped) {
    changed_ = true;
    for (std::uint32_t e = 0; e < queues_.size(); ++e)
      queues_[e].remove(client, [&](const CopyQueue::Copy& copy) { stopped(copy, direction(e)); });
  }
  // Decodes an index.
  DeviceId gpu_of(std::uint32_t index) const { return gpu(index % count()); }
  CopyDirection direction_of(std::uint32_t index) const { return direction(index % count()); }

 private:
  static std::uint32_t engine(DeviceId gpu, CopyDirection direction) {
    return gpu.index * 2 + (direction == CopyDirection::to_device ? 0 : 1);
  }
  static DeviceId gpu(std::uint32_t engine) { return {engine / 2}; }
  static CopyDirection direction(std::uint32_t engine) {
    return engine % 2 == 0 ? CopyDirection::to_device : CopyDirection::to_host;
  }
  std::uint32_t count() const { return static_cast<std::uint32_t>(queues_.size()); }
  std::uint32_t index_of(std::uint32_t engine, std::uint32_t slot) const { return slot * count() + engine; }

  // Current speed, in parts of CopyQueue::kFullSpeed.
  std::int64_t speed(std::uint32_t engine) const;
  std::int64_t busy(CopyDirection direction) const;  // number of engines

  CopyEngine h2d_, d2h_;
  std::optional<Bandwidth> bus_;
  std::vector<CopyQueue> queues_;  // by GPU and direction
  bool changed_ = false;
};

}  // namespace gangway
