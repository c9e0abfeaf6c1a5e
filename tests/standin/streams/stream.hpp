// Streams: the order in which a program's operations may start.
#pragma once

#include <cuda.h>

#include <memory>
#include <span>
#include <vector>

#include "tests/standin/contexts/context.hpp"

namespace gangway::standin {

struct Node;

struct Stream : std::enable_shared_from_this<Stream> {
  enum class Which { legacy, per_thread, created };

  Context* context = nullptr;
  Which which = Which::created;
  bool blocking = true;  // waits for the legacy stream, and it for this one
  int priority = 0;
  std::uint64_t number = 0;
  bool gone = false;
  std::vector<OperationPtr>
      last;                // what its next operation must wait for: the last one, and events' operations
  std::size_t queued = 0;  // unfinished operations
  Connection* connection = nullptr;  // while there are some
  std::map<int, CUstreamAttrValue> attributes;

  std::shared_ptr<Capture> capture;  // while it captures
  std::vector<Node*> capture_last;   // what its next node depends on

  CUstream handle() { return reinterpret_cast<CUstream>(this); }
};

std::shared_ptr<Stream> make_stream(Context&, Stream::Which, bool blocking, int priority);
void give_back_connection(Stream&);
void forget_stream(Stream&);  // its operations go on

// The stream that a handle means in this call: NULL is the legacy one, or the thread's in calls of that kind.
// Fails with INVALID_HANDLE, or with its context's error.
std::shared_ptr<Stream> stream(CUstream);

bool all_done(std::span<const OperationPtr>);

// Submits to the device; waits first while the stream's queue is full. `after`: more to wait for than the
// stream's own order. Does not look at captures.
OperationPtr enqueue(Lock&, Stream&, std::shared_ptr<const Command>,
                     std::span<const OperationPtr> after = {});

// Waits until all that is in the stream now is done; then fails if the context is lost.
void synchronize(Lock&, Stream&);

// What a query of the stream looks at: for the legacy stream, what its next operation would wait for.
std::vector<OperationPtr> outstanding(const Stream&);

}  // namespace gangway::standin
