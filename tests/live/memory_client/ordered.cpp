// Memory that is allocated and freed in a stream's order, and pools.
#include <unistd.h>

#include <string>

#include "tests/live/memory_client/modes.hpp"
#include "tests/live/memory_client/waits.hpp"

namespace gangway::memory_client {
namespace {

CUdeviceptr allocate_in(CUstream stream, std::size_t size, std::uint32_t value) {
  CUdeviceptr at = 0;
  NEED(cuMemAllocAsync(&at, size, stream));
  NEED(cuMemsetD32Async(at, value, size / 4, stream));
  return at;
}

cuuint64_t told(CUmemoryPool pool, CUmemPool_attribute attribute) {
  cuuint64_t value = 0;
  NEED(cuMemPoolGetAttribute(pool, attribute, &value));
  return value;
}

void check_words(CUdeviceptr at, std::size_t size, std::uint32_t value) {
  std::vector<std::uint32_t> words(size / 4);
  NEED(cuMemcpyDtoH(words.data(), at, size));
  if (std::any_of(words.begin(), words.end(), [&](std::uint32_t word) { return word != value; }))
    Program::fail("memory freed in a stream's order");
}

// Memory freed in a stream's order, while its last use is still to come: who may have it, and when.
int ordered(Program& program, const std::string& file) {
  constexpr std::size_t kSize = 3 * kMiB;
  CUstream one = nullptr, other = nullptr;
  NEED(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
  NEED(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));

  const CUdeviceptr first = allocate_in(one, kSize, 1);
  program.mix_late(first, one);
  NEED(cuMemFreeAsync(first, one));
  const CUdeviceptr second = allocate_in(one, kSize - 512, 2);  // of the same size class
  CUdeviceptr base = 0;
  std::size_t size = 0;
  NEED(cuMemGetAddressRange(&base, &size, second + 100));
  std::printf("in the same stream: %s, %zu\n", second == first ? "at once" : "elsewhere", size);
  program.mix_late(second, one);
  NEED(cuMemFreeAsync(second, one));
  const CUdeviceptr third = allocate_in(other, kSize, 3);
  std::printf("in another: %s\n", third == second ? "at once" : "elsewhere");
  NEED(cuStreamSynchronize(one));
  check_words(third, kSize, 3);

  // A stream with the destroyed one's handle does not wait for its work.
  program.mix_late(third, other);
  NEED(cuMemFreeAsync(third, other));
  NEED(cuStreamDestroy(other));
  NEED(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  const CUdeviceptr fourth = allocate_in(other, kSize, 4);
  std::printf("in a new one: %s\n", fourth == third ? "at once" : "elsewhere");
  NEED(cuStreamSynchronize(other));
  usleep(100'000);
  check_words(fourth, kSize, 4);

  program.work(30'000, other);
  NEED(cuMemFreeAsync(fourth, other));
  if (cuMemFreeAsync(fourth, other) != CUDA_ERROR_INVALID_VALUE) Program::fail("a double free");
  if (cuMemFree(fourth) != CUDA_ERROR_INVALID_VALUE) Program::fail("a double free");

  // What a pool counts, and what it keeps.
  CUmemoryPool pool = nullptr;
  CUdevice device = 0;
  NEED(cuDeviceGet(&device, 0));
  NEED(cuDeviceGetDefaultMemPool(&pool, device));
  CUdeviceptr some = 0;
  NEED(cuMemAlloc(&some, kMiB));
  NEED(cuMemFree(some));  // it waits, and looks at what was freed before
  cuuint64_t zero = 0;
  NEED(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero));
  NEED(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &zero));
  const CUdeviceptr counted = allocate_in(one, 3 * kMiB + 4, 0);
  program.work(30'000, one);
  NEED(cuMemFreeAsync(counted, one));
  const CUdeviceptr other_size = allocate_in(one, kMiB, 0);
  const auto print_counts = [&] {
    std::printf("used %llu, most %llu; held %llu, most %llu\n",
                static_cast<unsigned long long>(told(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT)),
                static_cast<unsigned long long>(told(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH)),
                static_cast<unsigned long long>(told(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)),
                static_cast<unsigned long long>(told(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH)));
  };
  print_counts();
  NEED(cuMemFree(other_size));
  print_counts();
  for (const cuuint64_t kept : {cuuint64_t{0}, ~cuuint64_t{0}}) {
    cuuint64_t threshold = kept;
    NEED(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
    const CUdeviceptr large = allocate_in(one, 100 * kMiB, 5);
    const CUdeviceptr behind = allocate_in(one, 4 * kMiB, 5);
    NEED(cuMemFreeAsync(large, one));
    NEED(cuStreamSynchronize(one));
    if (kept == 0) NEED(cuMemFree(behind));
    std::printf("keeps %s\n", kept == 0 ? "nothing" : "all");
    std::fflush(stdout);
    wait_for_file(file + (kept == 0 ? ".1" : ".2"));
  }
  CUdeviceptr all = 0;  // there is no room for it beside what the pool keeps
  NEED(cuMemAlloc(&all, 120 * kMiB));
  NEED(cuMemFree(all));
  NEED(cuMemFreeAsync(allocate_in(one, 100 * kMiB, 6), one));
  NEED(cuStreamSynchronize(one));
  NEED(cuMemPoolTrimTo(pool, 0));
  std::printf("trimmed\n");
  std::fflush(stdout);
  wait_for_file(file + ".3");

  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemoryPool own = nullptr;
  NEED(cuMemPoolCreate(&own, &properties));
  cuuint64_t all_of_it = ~cuuint64_t{0};
  NEED(cuMemPoolSetAttribute(own, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all_of_it));
  zero = 0;
  NEED(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &zero));
  CUdeviceptr of_own = 0;
  NEED(cuMemAllocFromPoolAsync(&of_own, 100 * kMiB, own, one));
  NEED(cuMemFreeAsync(of_own, one));
  NEED(cuStreamSynchronize(one));
  NEED(cuMemPoolDestroy(own));
  std::printf("destroyed\n");
  std::fflush(stdout);
  wait_for_file(file + ".4");

  // A threshold bounds all that the pool has, so what is used counts.
  cuuint64_t bound = 100 * kMiB;
  NEED(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &bound));
  const CUdeviceptr used = allocate_in(one, 70 * kMiB, 7);
  NEED(cuMemFreeAsync(allocate_in(one, 70 * kMiB, 8), one));
  NEED(cuStreamSynchronize(one));
  NEED(cuMemAlloc(&some, kMiB));
  NEED(cuMemFree(some));
  std::printf("bounded\n");
  std::fflush(stdout);
  wait_for_file(file + ".5");
  check_words(used, 70 * kMiB, 7);
  return 0;
}

const Mode ordered_mode("ordered", [](Program& program, const Arguments& given) {
  return given.file == nullptr ? 2 : ordered(program, given.file);
});

}  // namespace
}  // namespace gangway::memory_client
