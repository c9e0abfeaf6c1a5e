// Events: a point in a stream's order, or in a capture's.
#pragma once

#include <cuda.h>

#include "tests/standin/graphs/capture.hpp"

namespace gangway::standin {

struct Event : std::enable_shared_from_this<Event> {
  std::shared_ptr<Context> context;
  unsigned flags = 0;
  OperationPtr recorded;             // none before the first record
  std::shared_ptr<Capture> capture;  // that it was last recorded in; of no use once that has ended
  std::vector<Node*> captured;       // what waiters there must wait for

  CUevent handle() { return reinterpret_cast<CUevent>(this); }
};

std::shared_ptr<Event> event(CUevent);  // fails with INVALID_HANDLE, or with its context's error

// Recording and waiting as the device does it, captures aside.
void record(Lock&, Event&, Stream&);
void wait_for(Lock&, Stream&, const Event&);

}  // namespace gangway::standin
