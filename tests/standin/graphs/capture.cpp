#include "tests/standin/graphs/capture.hpp"

#include <algorithm>

#include "tests/standin/streams/submission.hpp"

namespace gangway::standin {
namespace {

// Those under way.
std::vector<std::shared_ptr<Capture>>& captures_under_way() {
  static auto* const all = new std::vector<std::shared_ptr<Capture>>;
  return *all;
}

void finish(Capture& capture) {
  capture.ended = true;
  for (const auto& stream : capture.streams) {
    stream->capture_last.clear();
    stream->capture.reset();
  }
  capture.streams.clear();
  std::erase_if(captures_under_way(), [&](const auto& c) { return c.get() == &capture; });
}

// What these nodes come after, themselves included.
std::set<const Node*> ancestors(const std::vector<Node*>& nodes) {
  std::set<const Node*> found;
  std::vector<const Node*> open(nodes.begin(), nodes.end());
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    if (found.insert(node).second) open.insert(open.end(), node->after.begin(), node->after.end());
  }
  return found;
}

bool joined(const Capture& capture) {
  const auto before = ancestors(capture.origin->capture_last);
  return std::all_of(capture.streams.begin(), capture.streams.end(), [&](const auto& stream) {
    return std::all_of(stream->capture_last.begin(), stream->capture_last.end(),
                       [&](const Node* node) { return before.contains(node); });
  });
}

bool disturbed(const Capture& capture, CUstreamCaptureMode mode) {
  if (mode == CU_STREAM_CAPTURE_MODE_RELAXED) return false;
  if (capture.owner == std::this_thread::get_id()) return capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED;
  return mode == CU_STREAM_CAPTURE_MODE_GLOBAL && capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

// The captures in which a blocking stream of this context takes part.
std::vector<std::shared_ptr<Capture>> captures_of_blocking(const Context& context) {
  std::vector<std::shared_ptr<Capture>> found;
  for (const auto& capture : captures_under_way())
    if (std::any_of(capture->streams.begin(), capture->streams.end(),
                    [&](const auto& s) { return s->blocking && s->context == &context; }))
      found.push_back(capture);
  return found;
}

void refuse_implicit(const Stream& stream) {
  if (stream.which != Stream::Which::legacy) return;
  const auto implied = captures_of_blocking(*stream.context);
  for (const auto& capture : implied) capture->valid = false;
  if (!implied.empty()) fail(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
}

}  // namespace

std::shared_ptr<Capture> begin_capture(Stream& stream, CUstreamCaptureMode mode,
                                       std::shared_ptr<Graph> graph) {
  static std::uint64_t last_id = 0;
  auto capture = std::make_shared<Capture>();
  capture->id = ++last_id;
  capture->mode = mode;
  capture->owner = std::this_thread::get_id();
  capture->context = stream.context;
  capture->origin = &stream;
  capture->graph = std::move(graph);
  captures_under_way().push_back(capture);
  join(*capture, stream);
  return capture;
}

std::shared_ptr<Graph> end_capture(Stream& stream) {
  const std::shared_ptr<Capture> capture = stream.capture;
  require(capture != nullptr, CUDA_ERROR_ILLEGAL_STATE);
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->owner != std::this_thread::get_id()) {
    finish(*capture);
    fail(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  }
  if (capture->origin != &stream) invalidate(*capture, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  const bool valid = capture->valid, all_joined = joined(*capture);
  finish(*capture);
  require(valid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  require(all_joined, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  return capture->graph;
}

void end_without_graph(Capture& capture) { finish(capture); }

bool blocking_captures(const Context& context) { return !captures_of_blocking(context).empty(); }

void join(Capture& capture, Stream& stream) {
  const auto shared = std::find_if(captures_under_way().begin(), captures_under_way().end(),
                                   [&](const auto& c) { return c.get() == &capture; });
  capture.streams.insert(stream.shared_from_this());
  stream.capture = *shared;
  stream.capture_last.clear();
}

void depend(Stream& stream, const std::vector<Node*>& more) {
  for (Node* node : more)
    if (std::find(stream.capture_last.begin(), stream.capture_last.end(), node) == stream.capture_last.end())
      stream.capture_last.push_back(node);
}

void invalidate(Capture& capture, CUresult result) {
  capture.valid = false;
  fail(result);
}

void refuse_unsafe() {
  bool any = false;
  for (const auto& capture : captures_under_way()) {
    if (!disturbed(*capture, this_thread_state().capture_mode)) continue;
    capture->valid = false;
    any = true;
  }
  require(!any, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

void refuse_whole_context(Context& context) {
  bool any = false;
  for (const auto& capture : captures_under_way()) {
    if (capture->context != &context) continue;
    capture->valid = false;
    any = true;
  }
  require(!any, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

void refuse_captured(Stream& stream) {
  refuse_implicit(stream);
  if (stream.capture == nullptr) return;
  invalidate(*stream.capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

bool captures(Stream& stream) {
  refuse_implicit(stream);
  if (stream.capture == nullptr) return false;
  require(stream.capture->valid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  return true;
}

}  // namespace gangway::standin
