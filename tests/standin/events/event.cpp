#include "tests/standin/events/event.hpp"

#include <cstdio>
#include <cstdlib>

#include "api.hpp"
#include "tests/standin/calls/registry.hpp"
#include "tests/standin/streams/submission.hpp"

namespace gangway::standin {
namespace {

std::map<CUevent, std::shared_ptr<Event>>& events() {
  static auto* const all = new std::map<CUevent, std::shared_ptr<Event>>;
  return *all;
}

// What a GPU's driver does not survive.
[[noreturn]] void crash(const char* use_of) {
  std::fprintf(stderr, "stand-in: use of %s\n", use_of);
  std::abort();
}

// Queries and waits on an event of a capture are the capture's end.
void refuse_captured(Event& event) {
  if (event.capture == nullptr) return;
  require(!event.capture->ended);
  invalidate(*event.capture, CUDA_ERROR_CAPTURED_EVENT);
}

}  // namespace

std::shared_ptr<Event> event(CUevent handle) {
  if (current_or_none() != nullptr) current();
  const auto found = events().find(handle);
  require(found != events().end(), CUDA_ERROR_INVALID_HANDLE);
  if (found->second->context->destroyed) crash("an event whose context is gone");
  return found->second;
}

void record(Lock& lock, Event& event, Stream& stream) {
  event.capture.reset();
  event.captured.clear();
  event.recorded = enqueue(lock, stream, nullptr);
}

void wait_for(Lock&, Stream& stream, const Event& event) {
  if (event.recorded == nullptr || event.recorded->done) return;
  std::erase_if(stream.last, [](const OperationPtr& operation) { return operation->done; });
  stream.last.push_back(event.recorded);
}

namespace api {

CUresult cuEventCreate(CUevent* event, unsigned flags) {
  const Lock lock = lock_driver();
  const auto context = current();
  require(event != nullptr);
  const unsigned known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
  require((flags & ~known) == 0);
  require((flags & CU_EVENT_INTERPROCESS) == 0 || (flags & CU_EVENT_DISABLE_TIMING) != 0);
  require((flags & CU_EVENT_INTERPROCESS) == 0, CUDA_ERROR_NOT_SUPPORTED);
  auto made = std::make_shared<Event>();
  made->context = context;
  made->flags = flags;
  enter(made.get(), Kind::event);
  *event = made->handle();
  events()[*event] = std::move(made);
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent handle) {
  const Lock lock = lock_driver();
  event(handle);
  remove(handle);
  events().erase(handle);
  return CUDA_SUCCESS;
}

CUresult cuEventRecordWithFlags(CUevent handle, CUstream hStream, unsigned flags) {
  Lock lock = lock_driver();
  const auto which = event(handle);
  const auto into = stream(hStream);
  require((flags & ~static_cast<unsigned>(CU_EVENT_RECORD_EXTERNAL)) == 0);
  require(which->context.get() == into->context, CUDA_ERROR_INVALID_HANDLE);
  if (!captures(*into)) {
    require((flags & CU_EVENT_RECORD_EXTERNAL) == 0, CUDA_ERROR_ILLEGAL_STATE);
    record(lock, *which, *into);
    return CUDA_SUCCESS;
  }
  if ((flags & CU_EVENT_RECORD_EXTERNAL) != 0) {
    Node& node = into->capture->graph->add(CU_GRAPH_NODE_TYPE_EVENT_RECORD, nullptr, into->capture_last);
    node.event = which;
    into->capture_last = {&node};
    return CUDA_SUCCESS;
  }
  which->recorded.reset();
  which->capture = into->capture;
  which->captured = into->capture_last;
  return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent handle, CUstream hStream) {
  return api::cuEventRecordWithFlags(handle, hStream, 0);
}

CUresult cuEventQuery(CUevent handle) {
  const Lock lock = lock_driver();
  const auto which = event(handle);
  refuse_captured(*which);
  refuse_unsafe();
  require(which->context->lost == CUDA_SUCCESS, which->context->lost);
  return which->recorded == nullptr || which->recorded->done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuEventSynchronize(CUevent handle) {
  Lock lock = lock_driver();
  const auto which = event(handle);
  refuse_captured(*which);
  refuse_unsafe();
  const auto context = which->context;
  if (const OperationPtr recorded = which->recorded) Engine::get().wait(lock, [&] { return recorded->done; });
  require(context->lost == CUDA_SUCCESS, context->lost);
  return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end) {
  const Lock lock = lock_driver();
  const auto first = event(start), last = event(end);
  require(milliseconds != nullptr);
  require(first->capture == nullptr && last->capture == nullptr, CUDA_ERROR_CAPTURED_EVENT);
  for (const auto& which : {first, last})
    require((which->flags & CU_EVENT_DISABLE_TIMING) == 0 && which->recorded != nullptr,
            CUDA_ERROR_INVALID_HANDLE);
  if (!first->recorded->done || !last->recorded->done) return CUDA_ERROR_NOT_READY;
  const auto passed = static_cast<std::int64_t>(last->recorded->finished_ns - first->recorded->finished_ns);
  *milliseconds = static_cast<float>(static_cast<double>(passed) / 1e6);
  return CUDA_SUCCESS;
}

CUresult cuStreamWaitEvent(CUstream hStream, CUevent handle, unsigned flags) {
  Lock lock = lock_driver();
  const auto waiting = stream(hStream);
  const auto which = event(handle);
  require((flags & ~static_cast<unsigned>(CU_EVENT_WAIT_EXTERNAL)) == 0);
  const std::shared_ptr<Capture> from = which->capture;
  if (from != nullptr && !from->ended) {
    require(from->valid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    if (waiting->which == Stream::Which::legacy) invalidate(*from, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    if (waiting->capture == nullptr) join(*from, *waiting);
    if (waiting->capture != from) {
      waiting->capture->valid = false;
      invalidate(*from, CUDA_ERROR_STREAM_CAPTURE_MERGE);
    }
    depend(*waiting, which->captured);
    return CUDA_SUCCESS;
  }
  require(from == nullptr);
  if (!captures(*waiting)) {
    wait_for(lock, *waiting, *which);
    return CUDA_SUCCESS;
  }
  if ((flags & CU_EVENT_WAIT_EXTERNAL) == 0)
    invalidate(*waiting->capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  Node& node = waiting->capture->graph->add(CU_GRAPH_NODE_TYPE_WAIT_EVENT, nullptr, waiting->capture_last);
  node.event = which;
  waiting->capture_last = {&node};
  return CUDA_SUCCESS;
}

}  // namespace api
}  // namespace gangway::standin
