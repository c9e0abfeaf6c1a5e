// The one way by which driver calls put work into a stream: onto the device, or into the graph that is
// captured.
#pragma once

#include "tests/standin/streams/stream.hpp"

namespace gangway::standin {

// Fails as a call must that would put work into this stream now: its capture is invalidated, or the stream is
// the legacy one while a blocking stream captures. True: the work becomes a node.
bool captures(Stream&);

// Null when the work became a node.
OperationPtr submit(Lock&, Stream&, CUgraphNodeType, std::shared_ptr<const Command>);

}  // namespace gangway::standin
