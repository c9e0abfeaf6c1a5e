// Contexts that take turns on a device: native-timeslice. Exact definition: sim/blocks/README.md.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "models/device.hpp"
#include "sim/blocks/delay_line.hpp"
#include "sim/successor.hpp"

namespace gangway {

// The context of each client, from 0. Clients that name the same context or share a stream share it; without
// time slices, all do.
std::vector<std::uint32_t> contexts_of(std::span<const Client> clients, const Device& device);

class ContextTurns {
 public:
  ContextTurns(const TimeSlice& slice, std::size_t contexts, Alarm alarm)
      : slice_(slice), contexts_(contexts), alarm_(alarm), waits_since_(contexts) {}
  void reset();

  // The context whose blocks may be assigned now; none while the device drains or switches. `waits(c)`:
  // whether context c has blocks to assign. `queued(c)`: whether kernels of context c are issued that have
  // not begun. `busy`: whether blocks are on the device. To be called in each instant in which one of these
  // changes.
  template <typename Waits, typename Queued>
  std::optional<std::size_t> turn(Time now, Waits waits, Queued queued, bool busy);
  // Whether a turn or switch has ended since the last call of turn().
  bool due(Time now) const { return alarmed_ && *alarmed_ <= now; }
  bool open() const { return open_; }

 private:
  template <typename Waits, typename Queued>
  void choose_successor(Time now, Waits waits, Queued queued);
  template <typename Waits>
  std::optional<std::size_t> longest_waiting(Time now, Waits waits);
  bool by_waiting() const { return slice_.order == TimeSlice::Order::waiting; }
  void begin(Time now, std::size_t context);
  void wake_at(Time time);

  TimeSlice slice_;
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

template <typename Waits>
std::optional<std::size_t> ContextTurns::longest_waiting(Time now, Waits waits) {
  std::optional<std::size_t> first;
  for (std::size_t context = 0; context < contexts_; ++context) {
    auto& since = waits_since_[context];
    if (context == active_ || !waits(context))
      since.reset();
    else if (!since)
      since = now;
    if (since && (!first || *since < *waits_since_[*first])) first = context;
  }
  return first;
}

template <typename Waits, typename Queued>
void ContextTurns::choose_successor(Time now, Waits waits, Queued queued) {
  if (by_waiting()) {
    successor_ = longest_waiting(now, waits);
    return;
  }
  in_ring_.look(now, slice_.choice, active_, contexts_, waits, [&] { return queued(active_); });
  successor_ = in_ring_.context();
}

template <typename Waits, typename Queued>
std::optional<std::size_t> ContextTurns::turn(Time now, Waits waits, Queued queued, bool busy) {
  if (due(now)) alarmed_.reset();
  open_ = false;
  const bool wanted = busy || waits(active_);
  if (idle_ && wanted) begin(now, active_);
  if (now > until_ && !expired_) {
    if (renews_)
      until_ = until_ + Duration{mul_div_ceil((now - until_).ns, 1, slice_.length.ns) * slice_.length.ns};
    else
      expired_ = true;
  }
  renews_ = false;
  if (by_waiting() || now >= from_ || !wanted) choose_successor(now, waits, queued);
  idle_ = !wanted && !successor_;
  if (idle_) return std::nullopt;
  if (successor_ && (!wanted || now >= until_)) {
    if (busy) return std::nullopt;  // its blocks drain
    begin(now, *successor_);
    if (by_waiting() || now >= from_) choose_successor(now, waits, queued);
  }
  if (now < from_) {
    wake_at(from_);
    return std::nullopt;
  }
  renews_ = !expired_ && !successor_ && (by_waiting() || queued(active_));
  if (successor_ || (renews_ && !by_waiting())) wake_at(now < until_ ? until_ : until_ + slice_.length);
  open_ = true;
  return active_;
}

}  // namespace gangway
