// Contexts that take turns on a device: native-timeslice. Exact definition: sim/blocks/README.md.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "models/device.hpp"
#include "sim/blocks/delay_line.hpp"
#include "sim/stop_costs.hpp"
#include "sim/successor.hpp"

namespace gangway {

// The context of each client, from 0. Clients that name the same context or share a stream share it; without
// time slices, all do.
std::vector<std::uint32_t> contexts_of(std::span<const Client> clients, const Device& device);

// What contexts have to do on a device.
class ContextWork {
 public:
  virtual bool waits(std::size_t context) const = 0;    // it has blocks to assign, or that were stopped
  virtual bool queued(std::size_t context) const = 0;   // kernels of it are issued that have not begun
  virtual bool present(std::size_t context) const = 0;  // the active one: its blocks are there
  // What its blocks hold that have not ended: they run, or were stopped. In parts of StopCosts::whole().
  virtual std::int64_t held(std::size_t context) const = 0;

 protected:
  ~ContextWork() = default;
};

class ContextTurns {
 public:
  // `device` has a time_slice.
  ContextTurns(const Device& device, std::size_t contexts, Alarm alarm)
      : slice_(*device.time_slice),
        costs_(slice_, device),
        contexts_(contexts),
        alarm_(alarm),
        waits_since_(contexts) {}
  void reset();

  // The context whose blocks may be assigned now; none while the device drains or switches. To be called in
  // each instant in which what `work` says changes.
  std::optional<std::size_t> turn(Time now, const ContextWork& work);
  std::size_t active() const { return active_; }
  bool stops_blocks() const { return slice_.stops_blocks; }
  const StopCosts& stop_costs() const { return costs_; }
  // Whether a turn or switch has ended since the last call of turn().
  bool due(Time now) const { return alarmed_ && *alarmed_ <= now; }
  bool open() const { return open_; }

 private:
  void choose_successor(Time now, const ContextWork& work);
  std::optional<std::size_t> longest_waiting(Time now, const ContextWork& work);
  bool by_waiting() const { return slice_.order == TimeSlice::Order::waiting; }
  void begin(Time now, std::size_t context, const ContextWork& work);
  void wake_at(Time time);

  TimeSlice slice_;
  StopCosts costs_;
  std::size_t contexts_;
  Alarm alarm_;
  std::size_t active_ = 0;
  std::optional<std::size_t> successor_;
  Successor in_ring_;                             // by creation
  std::vector<std::optional<Time>> waits_since_;  // by context; only where that is the order
  bool used_ = false;                             // there was a turn before: the first costs no switch
  bool idle_ = true;                              // nobody wanted the device at the last turn()
  bool renews_ = false;   // at the last turn(): another turn follows if this one ends in that instant
  bool expired_ = false;  // it has ended, and no other follows
  bool open_ = false;
  Time from_, until_;  // the turn's
  std::optional<Time> alarmed_;
};

}  // namespace gangway
