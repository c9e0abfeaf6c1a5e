// Contexts that take turns on a device: native-timeslice. Exact definition: sim/blocks/README.md.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "models/device.hpp"
#include "sim/blocks/delay_line.hpp"

namespace gangway {

// The context of each client, from 0. Clients that name the same context or share a stream share it; without
// time slices, all do.
std::vector<std::uint32_t> contexts_of(std::span<const Client> clients, const Device& device);

class ContextTurns {
 public:
  ContextTurns(const TimeSlice& slice, std::size_t contexts, Alarm alarm)
      : slice_(slice), contexts_(contexts), alarm_(alarm) {}
  void reset();

  // The context whose blocks may be assigned now; none while the device drains or switches. `waits(c)`:
  // whether context c has blocks to assign. `busy`: whether blocks are on the device.
  template <typename Waits>
  std::optional<std::size_t> turn(Time now, Waits waits, bool busy);
  // Whether a turn or switch has ended since the last call of turn().
  bool due(Time now) const { return alarmed_ && *alarmed_ <= now; }
  bool open() const { return open_; }

 private:
  // An inactive context with work, and since when; sorted.
  struct Waiting {
    Time since;
    std::size_t context = 0;
  };
  bool in_line(std::size_t context) const;
  void join_line(Time now, std::size_t context);
  void begin(Time now, std::size_t context);
  void pass(Time now);
  void wake_at(Time time);

  TimeSlice slice_;
  std::size_t contexts_;
  Alarm alarm_;
  std::size_t active_ = 0;
  std::vector<Waiting> line_;
  bool used_ = false;       // there was a turn before: the first costs no switch
  bool idle_ = true;        // nobody wanted the device at the last turn()
  bool contested_ = false;  // another context waited then
  bool open_ = false;
  Time from_, until_;  // the turn's
  std::optional<Time> alarmed_;
};

template <typename Waits>
std::optional<std::size_t> ContextTurns::turn(Time now, Waits waits, bool busy) {
  if (due(now)) alarmed_.reset();
  open_ = false;
  std::erase_if(line_, [&](const Waiting& w) { return !waits(w.context); });
  for (std::size_t c = 0; c < contexts_; ++c)
    if (c != active_ && !in_line(c) && waits(c)) join_line(now, c);
  const bool wanted = busy || waits(active_);
  if (!wanted && line_.empty()) {
    idle_ = true;
    return std::nullopt;
  }
  if (std::exchange(idle_, false)) {
    if (wanted) begin(now, active_);
  } else if (!contested_) {
    pass(now);
  }
  contested_ = !line_.empty();
  if (contested_ && (!wanted || now >= until_)) {
    if (busy) return std::nullopt;  // its blocks drain
    const std::size_t loser = active_;
    begin(now, line_.front().context);
    if (waits(loser)) join_line(now, loser);
    contested_ = !line_.empty();
  }
  if (now < from_) {
    wake_at(from_);
    return std::nullopt;
  }
  if (contested_) wake_at(until_);
  open_ = true;
  return active_;
}

}  // namespace gangway
