#include "hw/intercept/memory/real_memory.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <type_traits>

#include "hw/live/memory/host_pool.hpp"

namespace gangway::intercept {

constinit RealMemory real_memory;

void RealMemory::find(void* library) {
  const auto take = [&](auto*& function, const char* symbol) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, symbol));
  };
  take(create_, "cuMemCreate");
  take(release_, "cuMemRelease");
  take(export_, "cuMemExportToShareableHandle");
  take(import_, "cuMemImportFromShareableHandle");
  take(reserve_, "cuMemAddressReserve");
  take(give_back_, "cuMemAddressFree");
  take(map_, "cuMemMap");
  take(unmap_, "cuMemUnmap");
  take(allow_, "cuMemSetAccess");
  take(info_, "cuMemGetInfo_v2");
  take(set_current_, "cuCtxSetCurrent");
  take(create_stream_, "cuStreamCreateWithPriority");
  take(create_event_, "cuEventCreate");
  take(record_, "cuEventRecord");
  take(query_, "cuEventQuery");
  take(pin_, "cuMemHostRegister_v2");
  take(unpin_, "cuMemHostUnregister");
  take(out_, "cuMemcpyDtoHAsync_v2");
  take(in_, "cuMemcpyHtoDAsync_v2");
  take(priorities_, "cuCtxGetStreamPriorityRange");
}

live::MemoryDriver::Properties RealMemory::properties_of(const CUmemAllocationProp& properties) {
  static_assert(sizeof properties <= sizeof(Properties));
  Properties bytes{};
  std::memcpy(bytes.data(), &properties, sizeof properties);
  return bytes;
}

int RealMemory::create(std::uint64_t size, const Properties& bytes, bool shareable, std::uint64_t& handle) {
  CUmemAllocationProp properties{};
  std::memcpy(&properties, bytes.data(), sizeof properties);
  CUmemAllocationProp with_file = properties;
  with_file.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CUmemGenericAllocationHandle made = 0;
  CUresult result = create_(&made, size, shareable ? &with_file : &properties, 0);
  if (shareable && result != CUDA_SUCCESS && result != CUDA_ERROR_OUT_OF_MEMORY)
    result = create_(&made, size, &properties, 0);  // a device that has no such files
  handle = made;
  return result;
}

int RealMemory::share(std::uint64_t handle, int& file) {
  int made = -1;
  const CUresult result = export_(&made, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  if (result != CUDA_SUCCESS) return result;
  file = fcntl(made, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);  // no program that it starts has it
  close(made);
  return file >= 0 ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
}

int RealMemory::adopt(int file, std::uint64_t& handle) {
  CUmemGenericAllocationHandle made = 0;
  void* const named = reinterpret_cast<void*>(static_cast<std::uintptr_t>(file));
  const CUresult result = import_(&made, named, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  handle = made;
  return result;
}

int RealMemory::release(std::uint64_t handle) { return release_(handle); }

int RealMemory::reserve(std::uint64_t size, std::uint64_t& address) {
  CUdeviceptr reserved = 0;
  const CUresult result = reserve_(&reserved, size, kGranularity, 0, 0);
  address = reserved;
  return result;
}
int RealMemory::give_back(std::uint64_t address, std::uint64_t size) { return give_back_(address, size); }

int RealMemory::map(std::uint64_t address, std::uint64_t size, std::uint64_t offset, std::uint64_t handle) {
  return map_(address, size, offset, handle, 0);
}
int RealMemory::unmap(std::uint64_t address, std::uint64_t size) { return unmap_(address, size); }

int RealMemory::allow(std::uint64_t address, std::uint64_t size, const std::vector<Access>& all) {
  std::vector<CUmemAccessDesc> descriptions;
  for (const Access& access : all) {
    CUmemAccessDesc description{};
    description.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    description.location.id = access.device;
    description.flags = static_cast<CUmemAccess_flags>(access.flags);
    descriptions.push_back(description);
  }
  return allow_(address, size, descriptions.data(), descriptions.size());
}

int RealMemory::info(std::uint64_t& free, std::uint64_t& total) {
  std::size_t f = 0, t = 0;
  const CUresult result = info_(&f, &t);
  free = f;
  total = t;
  return result;
}

int RealMemory::open_lanes() {
  int least = 0, greatest = 0;
  if (const CUresult failed = priorities_(&least, &greatest)) return failed;
  for (int way = 0; way < 2; ++way) {
    if (const CUresult failed = create_stream_(&streams_[way], CU_STREAM_NON_BLOCKING, greatest))
      return failed;
    for (CUevent& event : events_[way])
      if (const CUresult failed = create_event_(&event, CU_EVENT_DISABLE_TIMING)) return failed;
  }
  return CUDA_SUCCESS;
}

int RealMemory::enter(std::uint64_t context) {
  const std::lock_guard lock(mutex_);
  if (context == 0) return CUDA_ERROR_INVALID_CONTEXT;
  if (context == context_) return CUDA_SUCCESS;
  int failed = set_current_(reinterpret_cast<CUcontext>(context));
  if (failed == CUDA_SUCCESS) failed = open_lanes();
  if (failed == CUDA_SUCCESS) context_ = context;
  return failed;
}

// Its streams and events went with it.
void RealMemory::forget(std::uint64_t context) {
  const std::lock_guard lock(mutex_);
  if (context == context_) context_ = 0;
}

int RealMemory::pin(void* host, std::uint64_t size) {
  live::touch_pages(static_cast<char*>(host), size, sysconf(_SC_NPROCESSORS_ONLN));
  return pin_(host, size, CU_MEMHOSTREGISTER_PORTABLE);
}
int RealMemory::unpin(void* host) { return unpin_(host); }

int RealMemory::copy(Way way, void* host, std::uint64_t device, std::uint64_t size, unsigned lane) {
  const int w = way == Way::out ? 0 : 1;
  const CUresult result =
      way == Way::out ? out_(host, device, size, streams_[w]) : in_(device, host, size, streams_[w]);
  return result == CUDA_SUCCESS ? record_(events_[w][lane], streams_[w]) : result;
}

int RealMemory::copied(Way way, unsigned lane) { return query_(events_[way == Way::out ? 0 : 1][lane]); }

}  // namespace gangway::intercept
