// Memory pools, as far as programs look at them: what is freed in a stream's order is free for all at once.
#include "api.hpp"
#include "tests/standin/calls/registry.hpp"
#include "tests/standin/contexts/context.hpp"

namespace gangway::standin::api {
namespace {

struct Pool {
  std::map<CUmemPool_attribute, std::uint64_t> attributes;
  std::size_t most = 0;  // bytes; 0: no limit
};

CUmemoryPool make_pool() {
  auto* made = new Pool;
  enter(made, Kind::pool);
  return reinterpret_cast<CUmemoryPool>(made);
}

Pool& found(CUmemoryPool pool) {
  require(alive(pool, Kind::pool));
  return *reinterpret_cast<Pool*>(pool);
}

// A device's first pool is its default, its last the one in use.
CUmemoryPool default_pool(Device& device) {
  if (device.pools.empty()) device.pools = {make_pool()};
  return device.pools.front();
}

bool is_flag(CUmemPool_attribute attribute) {
  return attribute == CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES ||
         attribute == CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC ||
         attribute == CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
}

}  // namespace

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool_out, CUdevice dev) {
  const Lock lock = lock_driver();
  require(pool_out != nullptr);
  *pool_out = default_pool(device(dev));
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice dev) {
  const Lock lock = lock_driver();
  require(pool != nullptr);
  default_pool(device(dev));
  *pool = device(dev).pools.back();
  return CUDA_SUCCESS;
}

CUresult cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool) {
  const Lock lock = lock_driver();
  found(pool);
  device(dev).pools = {default_pool(device(dev)), pool};
  return CUDA_SUCCESS;
}

CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* poolProps) {
  const Lock lock = lock_driver();
  require(pool != nullptr && poolProps != nullptr);
  *pool = make_pool();
  found(*pool).most = poolProps->maxSize;
  return CUDA_SUCCESS;
}

// One request at a time: what else the pool has does not count.
CUresult cuMemAllocFromPoolAsync(CUdeviceptr* dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream) {
  {
    const Lock lock = lock_driver();
    const std::size_t most = found(pool).most;
    require(most == 0 || bytesize <= most, CUDA_ERROR_OUT_OF_MEMORY);
  }
  return api::cuMemAllocAsync(dptr, bytesize, hStream);
}

CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  const Lock lock = lock_driver();
  Pool* which = &found(pool);
  for (int i = 0; i < device_count(); ++i) {
    auto& pools = device(i).pools;
    require(pools.empty() || pools.front() != pool);
    if (pools.size() > 1 && pools.back() == pool) pools.pop_back();
  }
  remove(pool);
  delete which;
  return CUDA_SUCCESS;
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t) {
  const Lock lock = lock_driver();
  found(pool);
  return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void* value) {
  const Lock lock = lock_driver();
  require(value != nullptr);
  found(pool).attributes[attr] =
      is_flag(attr) ? *static_cast<const std::uint32_t*>(value) : *static_cast<const std::uint64_t*>(value);
  return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void* value) {
  const Lock lock = lock_driver();
  require(value != nullptr);
  auto& attributes = found(pool).attributes;
  const auto set = attributes.find(attr);
  if (is_flag(attr))
    *static_cast<std::uint32_t*>(value) =
        set == attributes.end() ? 1 : static_cast<std::uint32_t>(set->second);
  else
    *static_cast<std::uint64_t*>(value) = set == attributes.end() ? 0 : set->second;
  return CUDA_SUCCESS;
}

}  // namespace gangway::standin::api
