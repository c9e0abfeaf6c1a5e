// One copy direction between host and device: first come, first served; copies requested at the same instant
// in client order. Copy times: sim/README.md and sim/blocks/README.md.
#pragma once

#include <deque>
#include <iterator>
#include <optional>
#include <vector>

#include "models/device.hpp"
#include "models/identity.hpp"
#include "models/policy.hpp"

namespace gangway {

class CopyQueue {
 public:
  static constexpr std::int64_t kFullSpeed = 1'000'000;

  enum class Purpose { program, move, merge };
  struct Copy {
    JobId job;
    Bytes size;
    Purpose purpose = Purpose::program;
    bool of_program() const { return purpose == Purpose::program; }
  };

  // RTSS17.C2: one copy at a time; if disabled, all at once.
  CopyQueue(const CopyEngine& engine, bool one_at_a_time) : engine_(engine), one_at_a_time_(one_at_a_time) {}

  void ask(const Copy& copy, Time now) {
    auto place = waiting_.end();
    while (place != waiting_.begin() && std::prev(place)->asked == now &&
           copy.job < std::prev(place)->copy.job)
      --place;
    waiting_.insert(place, {copy, now});
  }

  // At the end of an instant: the slot of a copy that begins now; call until none. Its end is known after
  // pace().
  std::optional<std::uint32_t> begin(Time now) {
    if (waiting_.empty() || (one_at_a_time_ && !idle())) return std::nullopt;
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(slots_.size()));
      slots_.emplace_back();
    }
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    const Copy copy = waiting_.front().copy;
    slots_[slot] = {copy, {now, ++begun_}, static_cast<Work>(time_of(copy, now).ns) * kFullSpeed, now, 0,
                    true};
    waiting_.pop_front();
    return slot;
  }

  // Sets the speed from now on, in parts of kFullSpeed, after copies began or ended on any engine. Calls
  // push(end, slot), which returns an event number, for each copy whose end changes.
  template <typename Push>
  void pace(Time now, std::int64_t speed, Push push) {
    for (std::uint32_t s = 0; s < slots_.size(); ++s) {
      Slot& slot = slots_[s];
      if (!slot.busy || (slot.event != 0 && speed == speed_)) continue;
      if (slot.event != 0) slot.left -= static_cast<Work>((now - slot.since).ns) * speed_;
      slot.since = now;
      slot.event = push(now + Duration{static_cast<std::int64_t>((slot.left + speed - 1) / speed)}, s);
    }
    speed_ = speed;
  }

  bool idle() const { return free_.size() == slots_.size(); }
  const Copy& copy(std::uint32_t slot) const { return slots_[slot].copy; }
  // Orders queued copies, and copies that began at different times, by their beginning.
  struct Beginning {
    Time time;
    std::uint64_t number = 0;
  };
  Beginning beginning(std::uint32_t slot) const { return slots_[slot].began; }
  // Whether the event is the copy's current end, not an outdated one.
  bool ends(std::uint32_t slot, std::uint64_t event) const {
    return slots_[slot].busy && slots_[slot].event == event;
  }
  void finish(std::uint32_t slot, Time now) {
    slots_[slot].busy = false;
    free_.push_back(slot);
    last_end_ = now;
  }
  // Removes the client's copies; calls stopped(copy) for each running one. Does not count as an end.
  template <typename Stopped>
  void remove(ClientId client, Stopped stopped) {
    std::erase_if(waiting_, [&](const Waiting& w) { return w.copy.job.client == client; });
    for (std::uint32_t s = 0; s < slots_.size(); ++s) {
      if (!slots_[s].busy || slots_[s].copy.job.client != client) continue;
      slots_[s].busy = false;
      free_.push_back(s);
      stopped(slots_[s].copy);
    }
  }
  void reset() {
    waiting_.clear();
    slots_.clear();
    free_.clear();
    speed_ = kFullSpeed;
    last_end_.reset();
  }

 private:
  __extension__ using Work = __int128;  // ns at full speed, times kFullSpeed

  struct Slot {
    Copy copy;
    Beginning began;
    Work left = 0;            // at `since`
    Time since;               // of the last speed change
    std::uint64_t event = 0;  // of its end; 0: not known yet
    bool busy = false;
  };

  Duration time_of(const Copy& copy, Time now) const {
    const bool queued = engine_.queued_latency && last_end_ == now;
    return (queued ? *engine_.queued_latency : engine_.latency) + transfer_time(copy.size, engine_.bandwidth);
  }

  CopyEngine engine_;
  bool one_at_a_time_;
  std::int64_t speed_ = kFullSpeed;
  std::uint64_t begun_ = 0;
  std::optional<Time> last_end_;
  struct Waiting {
    Copy copy;
    Time asked;
  };
  std::deque<Waiting> waiting_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;  // slots
};

}  // namespace gangway
