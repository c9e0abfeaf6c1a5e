#include "tests/standin/streams/submission.hpp"

#include "tests/standin/graphs/capture.hpp"

namespace gangway::standin {

OperationPtr submit(Lock& lock, Stream& stream, CUgraphNodeType type,
                    std::shared_ptr<const Command> command) {
  if (!captures(stream)) return enqueue(lock, stream, std::move(command));
  Node& node = stream.capture->graph->add(type, std::move(command), stream.capture_last);
  stream.capture_last = {&node};
  return nullptr;
}

}  // namespace gangway::standin
