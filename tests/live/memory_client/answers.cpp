// What the driver answers to calls about memory: with managed memory the same as natively.
#include <sys/mman.h>
#include <unistd.h>

#include "tests/live/memory_client/modes.hpp"

namespace gangway::memory_client {
namespace {

CUmemAccessDesc access_of_device() {
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return access;
}

// Allocations are not what the program maps itself.
int maps_allocations(Program&, const Arguments&) {
  CUdeviceptr at = 0;
  CUmemGenericAllocationHandle handle = 0;
  const CUmemAccessDesc access = access_of_device();
  for (const std::size_t size : {kMiB / 4, 4 * kMiB}) {
    NEED(cuMemAlloc(&at, size));
    std::printf("retain %d, ", cuMemRetainAllocationHandle(&handle, reinterpret_cast<void*>(at)));
    std::printf("access %d, ", cuMemSetAccess(at, size, &access, 1));
    std::printf("unmap %d, ", cuMemUnmap(at, size));
    std::printf("free %d\n", cuMemFree(at));
  }
  // A description at the end of all that can be read.
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  auto* pages =
      static_cast<char*>(mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (pages == MAP_FAILED || mprotect(pages + page, page, PROT_NONE) != 0) return 2;
  auto* last = reinterpret_cast<CUmemAccessDesc*>(pages + page - sizeof access);
  *last = access;
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  NEED(cuMemAddressReserve(&at, 4 * kMiB, 0, 0, 0));
  NEED(cuMemCreate(&handle, 4 * kMiB, &properties, 0));
  NEED(cuMemMap(at, 4 * kMiB, 0, handle, 0));
  for (const std::size_t count : {std::size_t{1}, std::size_t{200}, std::size_t{1} << 40})
    std::printf("%zu descriptions %d\n", count, cuMemSetAccess(at, 4 * kMiB, last, count));
  NEED(cuMemsetD8(at, 1, 4 * kMiB));
  return 0;
}
const Mode maps_allocations_mode("maps-allocations", maps_allocations);

unsigned sync_memops(CUdeviceptr at) {
  unsigned value = 7;
  NEED(cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, at));
  return value;
}

unsigned long long number_of(CUdeviceptr at) {
  unsigned long long value = 0;
  NEED(cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_BUFFER_ID, at));
  return value;
}

int attributes(Program&, const Arguments&) {
  CUdeviceptr first = 0, second = 0;
  NEED(cuMemAlloc(&first, 1000));
  NEED(cuMemAlloc(&second, 1000));
  const unsigned one = 1;
  std::printf("before %u, ", sync_memops(first));
  std::printf("set %d, ", cuPointerSetAttribute(&one, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, first + 4));
  std::printf("after %u, other %u\n", sync_memops(first + 8), sync_memops(second));
  const unsigned long long before = number_of(first);
  std::printf("numbers differ: %d %d\n", before != number_of(second), before == number_of(first + 999));
  NEED(cuMemFree(first));
  NEED(cuMemAlloc(&first, 1000));
  std::printf("anew %u, %d\n", sync_memops(first), before != number_of(first));
  return 0;
}
const Mode attributes_mode("attributes", attributes);

// Allocations from pools of several kinds, of 1 and 128 MiB each.
int pools_of_all_kinds(Program&, const Arguments&) {
  CUstream stream = nullptr;
  CUdeviceptr at = 0;
  NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  std::printf("none %d\n", cuMemAllocFromPoolAsync(&at, kMiB, nullptr, stream));
  struct Kind {
    const char* name;
    CUmemAllocationType type;
    CUmemLocationType location;
    std::size_t most;
  };
  for (const Kind& kind : {Kind{"plain", CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_LOCATION_TYPE_DEVICE, 0},
                           {"limited", CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_LOCATION_TYPE_DEVICE, 64 * kMiB},
                           {"managed", CU_MEM_ALLOCATION_TYPE_MANAGED, CU_MEM_LOCATION_TYPE_DEVICE, 0},
                           {"host", CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_LOCATION_TYPE_HOST, 0}}) {
    CUmemPoolProps properties{};
    properties.allocType = kind.type;
    properties.location.type = kind.location;
    properties.maxSize = kind.most;
    CUmemoryPool pool = nullptr;
    NEED(cuMemPoolCreate(&pool, &properties));
    for (const std::size_t size : {kMiB, 70 * kMiB}) {
      const CUresult result = cuMemAllocFromPoolAsync(&at, size, pool, stream);
      std::printf("%s %d\n", kind.name, result);
      if (result == CUDA_SUCCESS) NEED(cuMemFreeAsync(at, stream));
    }
    NEED(cuStreamSynchronize(stream));
    NEED(cuMemPoolDestroy(pool));
  }
  return 0;
}
const Mode pools_mode("pools", pools_of_all_kinds);

CUDA_ARRAY3D_DESCRIPTOR array_of(std::size_t width, std::size_t height, CUarray_format format,
                                 unsigned channels, unsigned flags = 0, std::size_t depth = 0) {
  CUDA_ARRAY3D_DESCRIPTOR array{};
  array.Width = width;
  array.Height = height;
  array.Depth = depth;
  array.Format = format;
  array.NumChannels = channels;
  array.Flags = flags;
  return array;
}

// Which arrays the driver is asked for, of a device of 160 MiB.
int arrays(Program&, const Arguments&) {
  CUarray array = nullptr;
  CUmipmappedArray mipmapped = nullptr;
  const CUDA_ARRAY3D_DESCRIPTOR sparse =
      array_of(8192, 8192, CU_AD_FORMAT_FLOAT, 4, CUDA_ARRAY3D_SPARSE, 256);
  const CUDA_ARRAY3D_DESCRIPTOR deferred =
      array_of(6000, 6000, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_DEFERRED_MAPPING);
  const CUDA_ARRAY3D_DESCRIPTOR endless =
      array_of(std::size_t{1} << 40, 1 << 20, CU_AD_FORMAT_FLOAT, 4, 0, 1 << 14);
  const CUDA_ARRAY3D_DESCRIPTOR compressed = array_of(4096, 2048, CU_AD_FORMAT_BC1_UNORM, 4);  // 4 MiB
  const CUDA_ARRAY3D_DESCRIPTOR levels = array_of(4096, 3840, CU_AD_FORMAT_FLOAT, 1);          // 80 MiB
  const CUDA_ARRAY3D_DESCRIPTOR too_large = array_of(8192, 4096, CU_AD_FORMAT_FLOAT, 1);       // 128 MiB
  std::printf("sparse %d\n", cuArray3DCreate(&array, &sparse));
  std::printf("deferred %d\n", cuArray3DCreate(&array, &deferred));
  std::printf("endless %d\n", cuArray3DCreate(&array, &endless));
  std::printf("compressed %d\n", cuArray3DCreate(&array, &compressed));
  std::printf("levels %d\n", cuMipmappedArrayCreate(&mipmapped, &levels, 13));
  std::printf("too large %d\n", cuArray3DCreate(&array, &too_large));
  return 0;
}
const Mode arrays_mode("arrays", arrays);

}  // namespace
}  // namespace gangway::memory_client
