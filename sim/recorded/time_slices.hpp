// Time slices of contexts on a GPU that several processes use without MPS. Rules TS1 to TS9 of README.md.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "models/device.hpp"
#include "models/quantity.hpp"
#include "sim/stop_costs.hpp"
#include "sim/successor.hpp"

namespace gangway {

// The contexts of one GPU, by number, which is their place in the ring.
class TimeSlices {
 public:
  // Without a slice, and under MPS, all contexts are on the GPU at once.
  TimeSlices(std::uint32_t contexts, const Device& device);
  void reset();

  // Sets whether the context has kernels that could run now; the other: what those under way hold, in parts
  // of StopCosts::whole(), 0 if there are none.
  void set_ready(std::uint32_t context, bool ready);
  void set_running(std::uint32_t context, std::int64_t held) { running_[context] = held; }
  bool on(std::uint32_t context) const {
    return !slice_ || (current_ == context && phase_ != Phase::switching);
  }

  // The result of an instant. Ask again at `look`, and when readiness changes.
  struct Change {
    std::optional<std::uint32_t> off;  // whose kernels stop
    std::optional<std::uint32_t> on;   // whose kernels run
    std::optional<Time> look;
  };
  bool changed() const { return changed_; }
  void look() { changed_ = slice_.has_value(); }
  // Work of the context was due behind the head of its stream from then until now.
  void was_queued(std::uint32_t context, Time since);
  // `queued`: whether a context has work behind the heads of its streams that was due by some time.
  Change settle(Time now, const std::function<bool(std::uint32_t, Time)>& queued);

 private:
  void begin_turn(Change& change);
  void leave(std::uint32_t next, Duration cost, Time now, Change& change);

  std::optional<TimeSlice> slice_;
  StopCosts costs_;
  std::vector<char> ready_;                      // by context
  std::vector<std::int64_t> running_, stopped_;  // likewise: what its kernels hold
  std::optional<std::uint32_t> current_;
  Successor successor_;
  enum class Phase { nobody, switching, on, idle };  // idle: the current one is not ready but loaded
  Phase phase_ = Phase::nobody;
  bool expired_ = false;  // its slice is over, with nothing queued and no competitor
  bool changed_ = false;
  Time slice_end_;
  Time until_;       // end of the switch
  Time idle_since_;  // of the current one
};

}  // namespace gangway
