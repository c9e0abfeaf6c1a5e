// The driver's functions about streams.
#include <algorithm>

#include "api.hpp"
#include "tests/standin/calls/registry.hpp"
#include "tests/standin/events/event.hpp"
#include "tests/standin/streams/submission.hpp"

namespace gangway::standin::api {
namespace {

constexpr int least_priority = 0, greatest_priority = -5;

CUresult make(CUstream* stream, unsigned flags, int priority) {
  const Lock lock = lock_driver();
  const auto context = current();
  require(stream != nullptr);
  require(flags == CU_STREAM_DEFAULT || flags == CU_STREAM_NON_BLOCKING);
  *stream = make_stream(*context, Stream::Which::created, flags == CU_STREAM_DEFAULT,
                        std::clamp(priority, greatest_priority, least_priority))
                ->handle();
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuStreamCreate(CUstream* stream, unsigned flags) { return make(stream, flags, 0); }

CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  return make(stream, flags, priority);
}

CUresult cuStreamDestroy_v2(CUstream hStream) {
  const Lock lock = lock_driver();
  require(hStream != nullptr && hStream != CU_STREAM_LEGACY && hStream != CU_STREAM_PER_THREAD,
          CUDA_ERROR_INVALID_HANDLE);
  const auto which = stream(hStream);
  if (which->capture != nullptr) {
    const auto capture = which->capture;
    capture->valid = false;
    if (capture->origin == which.get()) end_without_graph(*capture);
    capture->streams.erase(which);
  }
  forget_stream(*which);
  return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream hStream) {
  Lock lock = lock_driver();
  const auto which = stream(hStream);
  refuse_captured(*which);
  refuse_unsafe();
  synchronize(lock, *which);
  return CUDA_SUCCESS;
}

CUresult cuStreamQuery(CUstream hStream) {
  const Lock lock = lock_driver();
  const auto which = stream(hStream);
  refuse_captured(*which);
  refuse_unsafe();
  return all_done(outstanding(*which)) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuStreamGetPriority(CUstream hStream, int* priority) {
  const Lock lock = lock_driver();
  require(priority != nullptr);
  *priority = stream(hStream)->priority;
  return CUDA_SUCCESS;
}

CUresult cuStreamGetFlags(CUstream hStream, unsigned* flags) {
  const Lock lock = lock_driver();
  require(flags != nullptr);
  const auto which = stream(hStream);
  if (which->capture != nullptr) refuse_captured(*which);
  *flags = which->blocking ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING;
  return CUDA_SUCCESS;
}

CUresult cuStreamGetId(CUstream hStream, unsigned long long* streamId) {
  const Lock lock = lock_driver();
  require(streamId != nullptr);
  const auto which = stream(hStream);
  if (which->capture != nullptr) refuse_captured(*which);
  *streamId = which->number;
  return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx(CUstream hStream, CUcontext* pctx) {
  const Lock lock = lock_driver();
  require(pctx != nullptr);
  const auto which = stream(hStream);
  captures(*which);
  *pctx = which->context->handle();
  return CUDA_SUCCESS;
}

CUresult cuStreamGetDevice(CUstream hStream, CUdevice* device) {
  const Lock lock = lock_driver();
  require(device != nullptr);
  *device = stream(hStream)->context->device->ordinal;
  return CUDA_SUCCESS;
}

CUresult cuStreamSetAttribute(CUstream hStream, CUstreamAttrID attr, const CUstreamAttrValue* value) {
  const Lock lock = lock_driver();
  require(value != nullptr);
  const auto which = stream(hStream);
  if (attr == CU_LAUNCH_ATTRIBUTE_PRIORITY) which->priority = value->priority;
  which->attributes[attr] = *value;
  return CUDA_SUCCESS;
}

CUresult cuStreamGetAttribute(CUstream hStream, CUstreamAttrID attr, CUstreamAttrValue* value_out) {
  const Lock lock = lock_driver();
  require(value_out != nullptr);
  const auto which = stream(hStream);
  const auto found = which->attributes.find(attr);
  *value_out = found == which->attributes.end() ? CUstreamAttrValue{} : found->second;
  if (attr == CU_LAUNCH_ATTRIBUTE_PRIORITY) value_out->priority = which->priority;
  return CUDA_SUCCESS;
}

CUresult cuStreamCopyAttributes(CUstream dst, CUstream src) {
  const Lock lock = lock_driver();
  stream(dst)->attributes = stream(src)->attributes;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetStreamPriorityRange(int* leastPriority, int* greatestPriority) {
  const Lock lock = lock_driver();
  current();
  if (leastPriority != nullptr) *leastPriority = least_priority;
  if (greatestPriority != nullptr) *greatestPriority = greatest_priority;
  return CUDA_SUCCESS;
}

}  // namespace gangway::standin::api
