// Spreads the spans of one thing over as many tracks as it takes for none to overlap another.
#pragma once

#include <cstddef>
#include <vector>

#include "models/quantity.hpp"

namespace gangway {

class Lanes {
 public:
  // The first lane with room for the span, counted from 0. Spans come in the order of their begins, or
  // nearly.
  std::size_t place(Time begin, Time end) { return place(begin, end, false); }
  // Likewise, but a span may lie within another one, as in a stack of calls.
  std::size_t nest(Time begin, Time end) { return place(begin, end, true); }

  // The first lane that is free now; it is taken until close().
  std::size_t open(Time now) { return place(now, Time::max(), false); }
  void close(std::size_t lane, Time now) { ends_[lane].back() = now; }

 private:
  std::size_t place(Time begin, Time end, bool nested);

  std::vector<std::vector<Time>>
      ends_;  // by lane: of spans that may still go on, each within those before it
};

}  // namespace gangway
