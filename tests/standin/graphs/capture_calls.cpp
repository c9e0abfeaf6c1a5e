// The driver's functions about captures.
#include "api.hpp"
#include "tests/standin/graphs/capture.hpp"
#include "tests/standin/streams/submission.hpp"

namespace gangway::standin::api {
namespace {

struct Info {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  std::shared_ptr<Stream> stream;
};

// The legacy stream's status is not to be had while a blocking stream captures; that invalidates nothing.
Info info(CUstream handle) {
  Info found;
  found.stream = stream(handle);
  if (found.stream->which == Stream::Which::legacy)
    require(!blocking_captures(*found.stream->context), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  if (const auto& capture = found.stream->capture)
    found.status = capture->valid ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
  return found;
}

CUresult begin(CUstream hStream, std::shared_ptr<Graph> graph, const std::vector<Node*>& after,
               CUstreamCaptureMode mode) {
  const auto which = stream(hStream);
  require(mode >= CU_STREAM_CAPTURE_MODE_GLOBAL && mode <= CU_STREAM_CAPTURE_MODE_RELAXED);
  require(which->which != Stream::Which::legacy, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  require(which->capture == nullptr, CUDA_ERROR_ILLEGAL_STATE);
  begin_capture(*which, mode, std::move(graph));
  which->capture_last = after;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuStreamBeginCapture_v2(CUstream hStream, CUstreamCaptureMode mode) {
  const Lock lock = lock_driver();
  return begin(hStream, std::make_shared<Graph>(), {}, mode);
}

CUresult cuStreamBeginCapture(CUstream hStream) {
  const Lock lock = lock_driver();
  return begin(hStream, std::make_shared<Graph>(), {}, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult cuStreamBeginCaptureToGraph(CUstream hStream, CUgraph hGraph, const CUgraphNode* dependencies,
                                     const CUgraphEdgeData*, size_t numDependencies,
                                     CUstreamCaptureMode mode) {
  const Lock lock = lock_driver();
  std::vector<Node*> after;
  for (std::size_t i = 0; i < numDependencies; ++i) after.push_back(&node(dependencies[i]));
  return begin(hStream, graph(hGraph), after, mode);
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  require(mode != nullptr);
  std::swap(*mode, this_thread_state().capture_mode);
  return CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream hStream, CUgraph* phGraph) {
  const Lock lock = lock_driver();
  const auto which = stream(hStream);
  require(phGraph != nullptr);
  *phGraph = nullptr;
  *phGraph = publish(end_capture(*which));
  return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream hStream, CUstreamCaptureStatus* captureStatus) {
  const Lock lock = lock_driver();
  require(captureStatus != nullptr);
  *captureStatus = info(hStream).status;
  return CUDA_SUCCESS;
}

CUresult cuStreamGetCaptureInfo_v3(CUstream hStream, CUstreamCaptureStatus* captureStatus_out,
                                   cuuint64_t* id_out, CUgraph* graph_out,
                                   const CUgraphNode** dependencies_out, const CUgraphEdgeData** edgeData_out,
                                   size_t* numDependencies_out) {
  const Lock lock = lock_driver();
  require(captureStatus_out != nullptr);
  const Info found = info(hStream);
  *captureStatus_out = found.status;
  if (found.status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return CUDA_SUCCESS;
  thread_local std::vector<CUgraphNode> dependencies;
  dependencies.clear();
  for (Node* node : found.stream->capture_last) dependencies.push_back(node->handle());
  if (id_out != nullptr) *id_out = found.stream->capture->id;
  if (graph_out != nullptr) *graph_out = found.stream->capture->graph->handle();
  if (dependencies_out != nullptr) *dependencies_out = dependencies.data();
  if (edgeData_out != nullptr) *edgeData_out = nullptr;
  if (numDependencies_out != nullptr) *numDependencies_out = dependencies.size();
  return CUDA_SUCCESS;
}

CUresult cuStreamGetCaptureInfo_v2(CUstream hStream, CUstreamCaptureStatus* captureStatus_out,
                                   cuuint64_t* id_out, CUgraph* graph_out,
                                   const CUgraphNode** dependencies_out, size_t* numDependencies_out) {
  return api::cuStreamGetCaptureInfo_v3(hStream, captureStatus_out, id_out, graph_out, dependencies_out,
                                        nullptr, numDependencies_out);
}

CUresult cuStreamGetCaptureInfo(CUstream hStream, CUstreamCaptureStatus* captureStatus_out,
                                cuuint64_t* id_out) {
  return api::cuStreamGetCaptureInfo_v3(hStream, captureStatus_out, id_out, nullptr, nullptr, nullptr,
                                        nullptr);
}

CUresult cuStreamUpdateCaptureDependencies(CUstream hStream, CUgraphNode* dependencies,
                                           size_t numDependencies, unsigned flags) {
  const Lock lock = lock_driver();
  const auto which = stream(hStream);
  require(which->capture != nullptr, CUDA_ERROR_ILLEGAL_STATE);
  require(which->capture->valid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  std::vector<Node*> nodes;
  for (std::size_t i = 0; i < numDependencies; ++i) nodes.push_back(&node(dependencies[i]));
  if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) which->capture_last.clear();
  depend(*which, nodes);
  return CUDA_SUCCESS;
}

CUresult cuStreamUpdateCaptureDependencies_v2(CUstream hStream, CUgraphNode* dependencies,
                                              const CUgraphEdgeData*, size_t numDependencies,
                                              unsigned flags) {
  return api::cuStreamUpdateCaptureDependencies(hStream, dependencies, numDependencies, flags);
}

}  // namespace gangway::standin::api
