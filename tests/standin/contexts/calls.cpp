// The driver's functions about contexts.
#include <utility>

#include "api.hpp"
#include "tests/standin/calls/registry.hpp"
#include "tests/standin/contexts/host_function.hpp"
#include "tests/standin/graphs/capture.hpp"

namespace gangway::standin::api {
namespace {

CUresult create(CUcontext* pctx, unsigned flags, CUdevice dev) {
  const Lock lock = lock_driver();
  require(pctx != nullptr);
  *pctx = make_context(device(dev), flags, false)->handle();
  this_thread_state().stack.push_back(*pctx);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuCtxCreate_v2(CUcontext* pctx, unsigned flags, CUdevice dev) { return create(pctx, flags, dev); }

CUresult cuCtxCreate_v3(CUcontext* pctx, CUexecAffinityParam*, int, unsigned flags, CUdevice dev) {
  return create(pctx, flags, dev);
}

CUresult cuCtxCreate_v4(CUcontext* pctx, CUctxCreateParams*, unsigned flags, CUdevice dev) {
  return create(pctx, flags, dev);
}

CUresult cuCtxDestroy_v2(CUcontext ctx) {
  Lock lock = lock_driver();
  const auto which = context(ctx);
  require(!which->is_primary, CUDA_ERROR_INVALID_CONTEXT);
  auto& stack = this_thread_state().stack;
  if (!stack.empty() && stack.back() == ctx) stack.pop_back();
  destroy_context(lock, *which);
  return CUDA_SUCCESS;
}

// Nobody attaches to one.
CUresult cuCtxDetach(CUcontext ctx) {
  {
    const Lock lock = lock_driver();
    require(ctx != nullptr && !this_thread_state().stack.empty() && this_thread_state().stack.back() == ctx,
            CUDA_ERROR_INVALID_CONTEXT);
  }
  return api::cuCtxDestroy_v2(ctx);
}

CUresult cuCtxPushCurrent_v2(CUcontext ctx) {
  const Lock lock = lock_driver();
  InHostFunction::refuse();
  require(ctx != nullptr);
  context(ctx);
  this_thread_state().stack.push_back(ctx);
  return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUcontext* pctx) {
  const Lock lock = lock_driver();
  InHostFunction::refuse();
  auto& stack = this_thread_state().stack;
  require(!stack.empty(), CUDA_ERROR_INVALID_CONTEXT);
  if (pctx != nullptr) *pctx = stack.back();
  stack.pop_back();
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext ctx) {
  const Lock lock = lock_driver();
  InHostFunction::refuse();
  auto& stack = this_thread_state().stack;
  if (ctx != nullptr) context(ctx);
  if (!stack.empty()) stack.pop_back();
  if (ctx != nullptr) stack.push_back(ctx);
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext* pctx) {
  const Lock lock = lock_driver();
  InHostFunction::refuse();
  require(pctx != nullptr);
  const auto& stack = this_thread_state().stack;
  *pctx = stack.empty() ? nullptr : stack.back();
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice* device) {
  const Lock lock = lock_driver();
  InHostFunction::refuse();
  require(device != nullptr);
  const auto which = current_or_none();
  require(which != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  *device = which->device->ordinal;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext ctx) {
  const Lock lock = lock_driver();
  require(device != nullptr);
  *device = (ctx == nullptr ? current() : context(ctx))->device->ordinal;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetFlags(unsigned* flags) {
  const Lock lock = lock_driver();
  require(flags != nullptr);
  *flags = current()->flags | CU_CTX_MAP_HOST;  // always on
  return CUDA_SUCCESS;
}

CUresult cuCtxGetId(CUcontext ctx, unsigned long long* ctxId) {
  const Lock lock = lock_driver();
  require(ctxId != nullptr);
  *ctxId = (ctx == nullptr ? current() : context(ctx))->number;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetApiVersion(CUcontext ctx, unsigned* version) {
  const Lock lock = lock_driver();
  require(version != nullptr);
  if (ctx == nullptr)
    current();
  else
    context(ctx);
  *version = 3020;
  return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize() {
  Lock lock = lock_driver();
  const auto which = current();
  refuse_whole_context(*which);
  refuse_unsafe();
  synchronize(lock, *which);
  return which->lost;
}

CUresult cuCtxSynchronize_v2(CUcontext ctx) {
  Lock lock = lock_driver();
  const auto which = ctx == nullptr ? current() : context(ctx);
  refuse_whole_context(*which);
  refuse_unsafe();
  synchronize(lock, *which);
  return which->lost;
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  const Lock lock = lock_driver();
  require(limit >= 0 && limit < CU_LIMIT_MAX);
  current()->limits[limit] = value;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetLimit(size_t* pvalue, CUlimit limit) {
  const Lock lock = lock_driver();
  require(pvalue != nullptr);
  require(limit >= 0 && limit < CU_LIMIT_MAX);
  static const std::map<CUlimit, std::size_t> usual{{CU_LIMIT_STACK_SIZE, 1024},
                                                    {CU_LIMIT_PRINTF_FIFO_SIZE, 6553600},
                                                    {CU_LIMIT_MALLOC_HEAP_SIZE, 8388608}};
  const auto& limits = current()->limits;
  const auto set = limits.find(limit), fixed = usual.find(limit);
  *pvalue = set != limits.end() ? set->second : fixed != usual.end() ? fixed->second : 0;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCacheConfig(CUfunc_cache) {
  const Lock lock = lock_driver();
  current();
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCacheConfig(CUfunc_cache* pconfig) {
  const Lock lock = lock_driver();
  current();
  require(pconfig != nullptr);
  *pconfig = CU_FUNC_CACHE_PREFER_NONE;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* pctx, CUdevice dev) {
  const Lock lock = lock_driver();
  require(pctx != nullptr);
  Device& on = device(dev);
  if (on.primary == nullptr) on.primary = make_context(on, on.primary_flags, true);
  ++on.retained;
  *pctx = on.primary->handle();
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev) {
  Lock lock = lock_driver();
  Device& on = device(dev);
  require(on.retained > 0, CUDA_ERROR_INVALID_CONTEXT);
  if (--on.retained > 0) return CUDA_SUCCESS;
  const auto gone = std::exchange(on.primary, nullptr);
  destroy_context(lock, *gone);
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev) {
  Lock lock = lock_driver();
  Device& on = device(dev);
  const auto gone = std::exchange(on.primary, nullptr);
  on.retained = 0;
  if (gone != nullptr) destroy_context(lock, *gone);
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned flags) {
  const Lock lock = lock_driver();
  require((flags & 7U) <= 4 && flags < 256);
  device(dev).primary_flags = flags;
  if (device(dev).primary != nullptr) device(dev).primary->flags = flags;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned* flags, int* active) {
  const Lock lock = lock_driver();
  require(flags != nullptr && active != nullptr);
  *flags = device(dev).primary_flags;
  *active = device(dev).primary != nullptr ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult cuProfilerStart() {
  const Lock lock = lock_driver();
  current();
  return CUDA_SUCCESS;
}

CUresult cuProfilerStop() { return api::cuProfilerStart(); }

}  // namespace gangway::standin::api
