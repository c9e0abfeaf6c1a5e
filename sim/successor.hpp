// Who follows where contexts take turns in a ring: TS2 of sim/recorded/README.md, `creation` of
// sim/blocks/README.md.
#pragma once

#include <cstddef>
#include <optional>

#include "models/quantity.hpp"

namespace gangway {

class Successor {
 public:
  void begin_turn() { *this = {}; }
  std::optional<std::size_t> context() const { return context_; }

  // To be called in each instant in which one of these changes. `could(c)`: whether context c could follow.
  // `queued()`: whether work of the active context is queued. `choice`: how long nothing must have been
  // queued until others that come change nothing.
  template <typename Could, typename Queued>
  void look(Time now, Duration choice, std::size_t active, std::size_t contexts, Could could, Queued queued) {
    if (context_ && unqueued_since_ && now > *unqueued_since_ + choice && could(*context_)) return;
    context_ = next(active, contexts, could);
    if (queued())
      unqueued_since_.reset();
    else if (!unqueued_since_)
      unqueued_since_ = now;
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
};

}  // namespace gangway
