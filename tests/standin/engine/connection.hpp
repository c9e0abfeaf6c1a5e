// A connection of a context to its device: a queue in which operations of several streams may stand. One
// starts once all before it have, and a wait for a value leaves the queue when it is over.
#pragma once

#include <deque>

#include "tests/standin/engine/operation.hpp"

namespace gangway::standin {

struct Connection {
  std::deque<const Operation*> waiting;
  std::size_t streams = 0;  // with unfinished operations
};

// Of a context: STANDIN_CONNECTIONS; none: each stream has a queue of its own.
class Connections {
 public:
  Connection* least_used();  // of equals the next in turn; null: there are none

 private:
  std::deque<Connection> all_;
  std::size_t latest_ = 0;
};

}  // namespace gangway::standin
