// Stream capture: which streams build a graph, and what is forbidden meanwhile.
#pragma once

#include <cuda.h>

#include <memory>
#include <set>
#include <thread>

#include "tests/standin/graphs/graph.hpp"

namespace gangway::standin {

struct Capture {
  std::uint64_t id = 0;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id owner;
  Context* context = nullptr;
  Stream* origin = nullptr;
  std::set<std::shared_ptr<Stream>> streams;
  std::shared_ptr<Graph> graph;
  bool valid = true;
  bool ended = false;
};

std::shared_ptr<Capture> begin_capture(Stream&, CUstreamCaptureMode, std::shared_ptr<Graph>);

// Ends it in any case but that of a wrong stream. Fails where the graph is not to be had.
std::shared_ptr<Graph> end_capture(Stream&);

void end_without_graph(Capture&);                      // its stream is destroyed
void join(Capture&, Stream&);                          // a stream that waits for a captured event
void depend(Stream&, const std::vector<Node*>& more);  // adds to what the stream's next node waits for
[[noreturn]] void invalidate(Capture&, CUresult);

// For calls that may disturb a capture under way. Fails with STREAM_CAPTURE_UNSUPPORTED and invalidates those
// captures which the thread's capture mode does not let it disturb.
void refuse_unsafe();

bool blocking_captures(const Context&);  // whether a blocking stream of it captures

// For calls about a whole context: they conflict with every capture in it, in every mode.
void refuse_whole_context(Context&);

// For calls that wait for a stream or look at it: fails if it captures, or if it is the legacy stream and a
// blocking one captures.
void refuse_captured(Stream&);

}  // namespace gangway::standin
