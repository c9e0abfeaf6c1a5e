#include <cstdlib>
#include <numeric>

#include "tests/conformance_driver/gpu.hpp"
#include "tests/conformance_driver/topics.hpp"

namespace gangway::conformance {
namespace {

void allocations() {
  CUdeviceptr p = 0, base = 0;
  std::size_t size = 0, pitch = 0;
  Line("alloc 0, too much") << cuMemAlloc(&p, 0) << cuMemAlloc(&p, std::size_t{1} << 50);
  Line("free 0") << cuMemFree(0);
  need(cuMemAlloc(&p, 1000), "cuMemAlloc");
  Line("range") << cuMemGetAddressRange(&base, &size, p + 10) << (base == p) << size;
  Line("free within") << cuMemFree(p + 4);
  Line("free, free") << cuMemFree(p) << cuMemFree(p);
  Line("range of nothing") << cuMemGetAddressRange(&base, &size, p);
  Line("pitch") << cuMemAllocPitch(&p, &pitch, 100, 5, 4) << (pitch >= 100 && pitch % 64 == 0)
                << cuMemFree(p);
  Line("pitch, wrong element") << cuMemAllocPitch(&p, &pitch, 100, 5, 3);
  Line("async 0") << cuMemAllocAsync(&p, 0, nullptr);
  const CUstream s = new_stream();
  CUdeviceptr q = 0;
  Line("async") << cuMemAllocAsync(&q, 64, s) << cuMemsetD32Async(q, 9, 16, s) << cuStreamSynchronize(s);
  Line("async contents, free") << value_of(q) << cuMemFreeAsync(q, s) << cuStreamSynchronize(s);
  std::size_t free = 0, total = 0;
  Line("info") << cuMemGetInfo(&free, &total) << (free > 0 && free <= total);
}

void host() {
  void *p = nullptr, *q = std::aligned_alloc(4096, 8192);
  CUdeviceptr address = 0;
  unsigned flags = 99, type = 0;
  Line("host alloc 0, wrong flags") << cuMemHostAlloc(&p, 0, 0) << cuMemHostAlloc(&p, 64, 1000);
  need(cuMemHostAlloc(&p, 4096, CU_MEMHOSTALLOC_DEVICEMAP), "cuMemHostAlloc");
  Line("device address") << cuMemHostGetDevicePointer(&address, p, 0)
                         << (address == reinterpret_cast<CUdeviceptr>(p));
  Line("flags") << cuMemHostGetFlags(&flags, p) << flags;
  Line("type") << cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) << type;
  Line("type of pageable") << cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                                    reinterpret_cast<CUdeviceptr>(q));
  const CUdeviceptr device = new_words();
  Line("type of device") << cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device) << type;
  Line("register, again") << cuMemHostRegister(q, 8192, 0) << cuMemHostRegister(q, 8192, 0)
                          << cuMemHostRegister(p, 64, 0);
  Line("type of registered") << cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                                      reinterpret_cast<CUdeviceptr>(q))
                             << type;
  Line("free registered as allocated") << cuMemFreeHost(q);
  Line("unregister, again") << cuMemHostUnregister(q) << cuMemHostUnregister(q) << cuMemHostUnregister(p);
  Line("free, again") << cuMemFreeHost(p) << cuMemFreeHost(p);
  std::free(q);
}

void copies() {
  const CUdeviceptr a = new_words(64), b = new_words(64);
  std::vector<Word> source(64);
  std::iota(source.begin(), source.end(), 100U);
  Line("to and fro") << cuMemcpyHtoD(a, source.data(), 256) << cuMemcpyDtoD(b, a + 16, 16) << read(b, 5);
  std::vector<Word> back(4);
  Line("unified") << cuMemcpy(reinterpret_cast<CUdeviceptr>(back.data()), a, 16) << back;
  Line("host to host") << cuMemcpy(reinterpret_cast<CUdeviceptr>(back.data()),
                                   reinterpret_cast<CUdeviceptr>(source.data() + 9), 16)
                       << back;
  Line("no bytes") << cuMemcpyHtoD(a, source.data(), 0) << cuMemcpyDtoDAsync(a, b, 0, nullptr)
                   << cuMemsetD8(a, 1, 0);
  Line("device address that is none")
      << cuMemcpyHtoD(8, source.data(), 4) << cuMemcpyDtoH(back.data(), 8, 4) << cuMemsetD8(8, 0, 4);
  Line("null") << cuMemcpyHtoD(0, source.data(), 4) << cuMemcpyDtoH(back.data(), 0, 4);
  Line("pageable as device") << cuMemcpyDtoD(reinterpret_cast<CUdeviceptr>(back.data()), a, 4);
  CUDA_MEMCPY2D c{};
  c.srcMemoryType = CU_MEMORYTYPE_HOST, c.srcHost = source.data(), c.srcPitch = 32, c.srcXInBytes = 4,
  c.srcY = 1;
  c.dstMemoryType = CU_MEMORYTYPE_DEVICE, c.dstDevice = b, c.dstPitch = 16, c.WidthInBytes = 12, c.Height = 3;
  Line("in two dimensions") << cuMemsetD32(b, 1, 64) << cuMemcpy2D(&c) << read(b, 12);
  c.dstPitch = 8;
  Line("pitch below width") << cuMemcpy2D(&c);
  Line("asynchronous") << cuMemcpyHtoDAsync(a, source.data() + 5, 8, nullptr)
                       << cuMemcpyDtoDAsync(b, a, 8, nullptr) << read(b, 3);
  const CUstream s = new_stream();
  Hold hold(s);
  std::vector<Word> small{1, 2};
  const CUresult result = cuMemcpyHtoDAsync(b, small.data(), 8, s);
  small = {3, 4};
  hold.release();
  Line("what pageable memory holds at the call is copied") << result << read(b, 2);
}

void sets() {
  const CUdeviceptr a = new_words(16);
  Line("bytes") << cuMemsetD8(a, 0xab, 5) << read(a, 2);
  Line("halves") << cuMemsetD16(a + 2, 0x1234, 3) << read(a, 3);
  Line("words") << cuMemsetD32(a + 4, 7, 2) << read(a, 4);
  Line("misaligned") << cuMemsetD16(a + 1, 1, 1) << cuMemsetD32(a + 2, 1, 1);
  Line("rows") << cuMemsetD2D32(a, 16, 9, 2, 3) << read(a, 12);
  Line("rows of bytes") << cuMemsetD2D8(a, 8, 1, 3, 2) << read(a, 4);
  Line("asynchronous") << cuMemsetD8Async(a, 2, 4, nullptr) << cuMemsetD16Async(a + 4, 3, 2, nullptr)
                       << cuMemsetD32Async(a + 8, 4, 1, nullptr)
                       << cuMemsetD2D16Async(a + 16, 8, 5, 2, 2, nullptr) << read(a, 8);
  Line("too far") << cuMemsetD8(a, 0, std::size_t{1} << 40);
}

}  // namespace

void memory() {
  kernels();
  allocations();
  host();
  copies();
  sets();
}

}  // namespace gangway::conformance
