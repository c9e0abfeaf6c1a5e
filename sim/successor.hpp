// Who follows where contexts take turns in a ring: TS2 of sim/recorded/README.md, `creation` of
// sim/blocks/README.md.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>

#include "models/quantity.hpp"

namespace gangway {

class Successor {
 public:
  void begin_turn() { *this = {}; }
  std::optional<std::size_t> context() const { return context_; }

  // To be called in each instant in which one of these changes. That work comes to be queued is no such
  // instant where was_queued() is called when it no longer is. `could(c)`: whether context c could follow.
  // `queued_by(t)`: whether work of the active context is queued now that was so at t, which is not later.
  // `choice`: how long nothing must have been queued until others that come change nothing.
  template <typename Could, typename QueuedBy>
  void look(Time now, Duration choice, std::size_t active, std::size_t contexts, Could could,
            QueuedBy queued_by) {
    if (unqueued_since_ && !seen_) {
      const Time certain = *unqueued_since_ + choice;
      if (queued_by(std::min(now, certain)))
        unqueued_since_.reset();
      else
        seen_ = now > certain;
    }
    if (context_ && unqueued_since_ && now > *unqueued_since_ + choice && could(*context_)) return;
    context_ = next(active, contexts, could);
    const bool before = unqueued_since_.has_value();
    if (queued_by(now))
      unqueued_since_.reset();
    else if (!before)
      unqueued_since_ = now;
    if (unqueued_since_.has_value() != before) seen_ = false;
  }
  // Some of the active context's work was queued from then until now.
  void was_queued(Time since, Duration choice) {
    if (unqueued_since_ && (!context_ || since <= *unqueued_since_ + choice)) unqueued_since_.reset();
  }

  // The next one after `active` in a ring of so many contexts that could follow.
  template <typename Could>
  static std::optional<std::size_t> next(std::size_t active, std::size_t contexts, Could could) {
    for (std::size_t step = 1; step < contexts; ++step)
      if (const std::size_t context = (active + step) % contexts; could(context)) return context;
    return std::nullopt;
  }

 private:
  std::optional<std::size_t> context_;
  std::optional<Time> unqueued_since_;  // in this turn
  bool seen_ = false;                   // known: nothing was queued until the choice was certain
};

}  // namespace gangway
