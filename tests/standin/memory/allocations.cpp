// Device memory: the driver's functions that allocate, free and describe it.
#include <cstdlib>
#include <cstring>

#include "api.hpp"
#include "tests/standin/calls/registry.hpp"
#include "tests/standin/graphs/capture.hpp"
#include "tests/standin/memory/arena.hpp"
#include "tests/standin/memory/host_memory.hpp"
#include "tests/standin/streams/submission.hpp"

namespace gangway::standin {
namespace {

// Gives memory back in a stream's order.
struct FreeCommand : Command {
  explicit FreeCommand(CUdeviceptr a) : address(a) {}
  const char* name() const override { return "free"; }
  bool occupies_device() const override { return false; }
  bool takes_connection() const override { return false; }
  bool runs_after_fault() const override { return true; }
  void run() const override {
    const Lock lock = lock_driver();
    Arena::get().release(address);
  }

  CUdeviceptr address;
};

}  // namespace

namespace api {
namespace {

CUresult allocate_in_order(CUdeviceptr* dptr, std::size_t bytes, CUstream hStream) {
  const Lock lock = lock_driver();
  require(dptr != nullptr);
  const auto into = stream(hStream);
  if (captures(*into))
    invalidate(*into->capture, CUDA_ERROR_NOT_SUPPORTED);  // the stand-in has no memory nodes
  refuse_unsafe();
  *dptr = bytes == 0 ? 0 : Arena::get().take(bytes, into->context->device->ordinal);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  const Lock lock = lock_driver();
  const auto context = current();
  require(free != nullptr && total != nullptr);
  *total = Arena::get().total();
  *free = *total - Arena::get().used(context->device->ordinal);
  return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr* dptr, size_t bytesize) {
  const Lock lock = lock_driver();
  const auto context = current();
  require(dptr != nullptr && bytesize > 0);
  refuse_unsafe();
  *dptr = Arena::get().take(bytesize, context->device->ordinal, context.get());
  return CUDA_SUCCESS;
}

CUresult cuMemAllocPitch_v2(CUdeviceptr* dptr, size_t* pPitch, size_t WidthInBytes, size_t Height,
                            unsigned ElementSizeBytes) {
  const Lock lock = lock_driver();
  const auto context = current();
  require(dptr != nullptr && pPitch != nullptr && WidthInBytes > 0 && Height > 0);
  require(ElementSizeBytes == 4 || ElementSizeBytes == 8 || ElementSizeBytes == 16);
  refuse_unsafe();
  *pPitch = (WidthInBytes + 511) / 512 * 512;
  *dptr = Arena::get().take(*pPitch * Height, context->device->ordinal, context.get());
  return CUDA_SUCCESS;
}

CUresult cuMemFree_v2(CUdeviceptr dptr) {
  Lock lock = lock_driver();
  if (dptr == 0) return CUDA_SUCCESS;
  current();
  refuse_unsafe();
  const auto host = host_ranges().find(dptr);
  const bool managed = host != host_ranges().end() && host->second.managed;
  const Arena::Range range = Arena::get().range_of(dptr);
  require(managed || range.start == dptr);
  // Whichever context is current: that of the memory is waited for. Memory of a stream's order has none.
  const Context* const owner = managed ? host->second.owner : range.owner;
  for (const auto& context : all_contexts())
    if (owner == nullptr || owner == context.get()) synchronize(lock, *context);
  if (managed) {
    host_ranges().erase(dptr);
    std::free(reinterpret_cast<void*>(dptr));
  } else {
    Arena::get().release(dptr);
  }
  return CUDA_SUCCESS;
}

CUresult cuMemAllocAsync(CUdeviceptr* dptr, size_t bytesize, CUstream hStream) {
  return allocate_in_order(dptr, bytesize, hStream);
}

CUresult cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream) {
  Lock lock = lock_driver();
  const auto into = stream(hStream);
  require(Arena::get().range_of(dptr).start == dptr && dptr != 0);
  if (captures(*into)) invalidate(*into->capture, CUDA_ERROR_NOT_SUPPORTED);
  refuse_unsafe();
  enqueue(lock, *into, std::make_shared<FreeCommand>(dptr));
  return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* pbase, size_t* psize, CUdeviceptr dptr) {
  const Lock lock = lock_driver();
  current();
  Arena::Range range = Arena::get().range_of(dptr);
  if (const auto host = host_range(dptr); host != host_ranges().end())
    range = {host->first, host->second.size, 0};
  require(range.size != 0, CUDA_ERROR_NOT_FOUND);
  if (pbase != nullptr) *pbase = range.start;
  if (psize != nullptr) *psize = range.size;
  return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr ptr) {
  const Lock lock = lock_driver();
  const auto context = current();
  require(data != nullptr);
  const Arena::Range range = Arena::get().range_of(ptr);
  const auto host = host_range(ptr);
  const bool on_host = host != host_ranges().end();
  require(range.size != 0 || on_host);
  const bool managed = on_host && host->second.managed;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      *static_cast<CUcontext*>(data) = context->handle();
      break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<unsigned*>(data) = on_host && !managed ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
      break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      *static_cast<CUdeviceptr*>(data) = attribute == CU_POINTER_ATTRIBUTE_DEVICE_POINTER ? ptr
                                         : on_host                                        ? host->first
                                                                                          : range.start;
      break;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      require(on_host);
      *static_cast<CUdeviceptr*>(data) = ptr;
      break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      *static_cast<std::size_t*>(data) = on_host ? host->second.size : range.size;
      break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      *static_cast<unsigned*>(data) = managed ? 1 : 0;
      break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *static_cast<int*>(data) = context->device->ordinal;
      break;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      *static_cast<unsigned*>(data) = range.sync_memops ? 1 : 0;
      break;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      *static_cast<std::uint64_t*>(data) = range.number;
      break;
    case CU_POINTER_ATTRIBUTE_MAPPED:
      *static_cast<unsigned*>(data) = 1;
      break;
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
  return CUDA_SUCCESS;
}

CUresult cuPointerSetAttribute(const void* value, CUpointer_attribute attribute, CUdeviceptr ptr) {
  const Lock lock = lock_driver();
  current();
  require(value != nullptr && attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS);
  require(Arena::get().range_of(ptr).size != 0);
  Arena::get().set_sync_memops(ptr, *static_cast<const unsigned*>(value) != 0);
  return CUDA_SUCCESS;
}

CUresult cuPointerGetAttributes(unsigned numAttributes, CUpointer_attribute* attributes, void** data,
                                CUdeviceptr ptr) {
  require(attributes != nullptr && data != nullptr && numAttributes > 0);
  for (unsigned i = 0; i < numAttributes; ++i) {
    try {
      api::cuPointerGetAttribute(data[i], attributes[i], ptr);
    } catch (const Failure&) {  // unknown addresses have attributes of zero here
      const bool wide = attributes[i] == CU_POINTER_ATTRIBUTE_CONTEXT ||
                        attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_POINTER ||
                        attributes[i] == CU_POINTER_ATTRIBUTE_HOST_POINTER ||
                        attributes[i] == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR ||
                        attributes[i] == CU_POINTER_ATTRIBUTE_RANGE_SIZE;
      std::memset(data[i], 0, wide ? 8 : 4);
      if (attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) *static_cast<int*>(data[i]) = -2;
    }
  }
  return CUDA_SUCCESS;
}

}  // namespace api
}  // namespace gangway::standin
