// The driver's functions that copy. What is synchronous follows the page "API synchronization behavior" of
// the driver's reference.
#include <algorithm>

#include "api.hpp"
#include "tests/standin/engine/environment.hpp"
#include "tests/standin/graphs/capture.hpp"
#include "tests/standin/memory/arena.hpp"
#include "tests/standin/memory/host_memory.hpp"
#include "tests/standin/memory/transfer.hpp"
#include "tests/standin/streams/submission.hpp"

namespace gangway::standin::api {
namespace {

// Bytes of pageable memory that a copy takes along when it is submitted: an H100 took 1 MiB, not 64.
constexpr std::size_t most_staged = 1 << 20;

void stage(CopyCommand& copy) {
  copy.staged.resize(copy.width * copy.height);
  for (std::size_t row = 0; row < copy.height; ++row)
    std::copy_n(reinterpret_cast<const char*>(copy.from) + row * copy.from_pitch, copy.width,
                copy.staged.data() + row * copy.width);
}

// A GPU has few queues of copies; those of several streams may share one, and then stand behind each other.
bool one_queue() {
  static const bool set = environment_number("STANDIN_COPY_QUEUES", 1000) < 2;
  return set;
}
OperationPtr last_out;  // of such a queue of copies to the host

enum class Call { synchronous, asynchronous };

// Host memory on a side makes the caller wait: always if the call is synchronous, else for pageable memory.
CUresult transfer(CopyCommand copy, CUstream handle, Call call) {
  Lock lock = lock_driver();
  const auto into = stream(handle);
  const bool nothing = copy.width == 0 || copy.height == 0;
  if (!nothing) check_transfer(copy);
  if (captures(*into)) {
    if (call == Call::synchronous) refuse_captured(*into);
    submit(lock, *into, CU_GRAPH_NODE_TYPE_MEMCPY, std::make_shared<CopyCommand>(std::move(copy)));
    return CUDA_SUCCESS;
  }

  if (nothing) return CUDA_SUCCESS;
  const bool from_host = !Arena::holds(copy.from), to_host = !Arena::holds(copy.to);
  const bool from_pageable = is_pageable(copy.from), to_pageable = is_pageable(copy.to);
  bool waits = call == Call::synchronous ? from_host || to_host : to_pageable || (from_host && to_host);
  if (call == Call::asynchronous && from_pageable && !to_host) {
    if (copy.width * copy.height <= most_staged)
      stage(copy);
    else
      waits = true;
  }
  const bool leaves = !from_host && to_host;
  std::vector<OperationPtr> before;
  if (leaves && one_queue() && last_out != nullptr) before.push_back(last_out);
  const auto operation = enqueue(lock, *into, std::make_shared<CopyCommand>(std::move(copy)), before);
  if (leaves && one_queue()) last_out = operation;
  if (!waits) return CUDA_SUCCESS;
  const auto context = into->context->shared_from_this();
  Engine::get().wait(lock, [&] { return operation->done; });
  return context->lost;
}

CopyCommand flat(std::uint64_t to, std::uint64_t from, std::size_t bytes) {
  CopyCommand copy;
  copy.to = to;
  copy.from = from;
  copy.width = copy.to_pitch = copy.from_pitch = bytes;
  return copy;
}

// A side that the function's name calls the device may be pinned host memory, never pageable.
void require_device(CUdeviceptr address, std::size_t bytes) {
  const Lock lock = lock_driver();
  require(bytes == 0 || !is_pageable(address));
}

}  // namespace

CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount) {
  return transfer(flat(dst, src, ByteCount), nullptr, Call::synchronous);
}

CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream) {
  return transfer(flat(dst, src, ByteCount), hStream, Call::asynchronous);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount) {
  require_device(dstDevice, ByteCount);
  return transfer(flat(dstDevice, address_of(srcHost), ByteCount), nullptr, Call::synchronous);
}

CUresult cuMemcpyDtoH_v2(void* dstHost, CUdeviceptr srcDevice, size_t ByteCount) {
  require_device(srcDevice, ByteCount);
  return transfer(flat(address_of(dstHost), srcDevice, ByteCount), nullptr, Call::synchronous);
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount) {
  require_device(dstDevice, ByteCount);
  require_device(srcDevice, ByteCount);
  return transfer(flat(dstDevice, srcDevice, ByteCount), nullptr, Call::synchronous);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount,
                              CUstream hStream) {
  require_device(dstDevice, ByteCount);
  return transfer(flat(dstDevice, address_of(srcHost), ByteCount), hStream, Call::asynchronous);
}

CUresult cuMemcpyDtoHAsync_v2(void* dstHost, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream) {
  require_device(srcDevice, ByteCount);
  return transfer(flat(address_of(dstHost), srcDevice, ByteCount), hStream, Call::asynchronous);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount,
                              CUstream hStream) {
  require_device(dstDevice, ByteCount);
  require_device(srcDevice, ByteCount);
  return transfer(flat(dstDevice, srcDevice, ByteCount), hStream, Call::asynchronous);
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* pCopy) {
  require(pCopy != nullptr);
  return transfer(copy_of(*pCopy), nullptr, Call::synchronous);
}

CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* pCopy) { return api::cuMemcpy2D_v2(pCopy); }

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* pCopy, CUstream hStream) {
  require(pCopy != nullptr);
  return transfer(copy_of(*pCopy), hStream, Call::asynchronous);
}

CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* pCopy) {
  require(pCopy != nullptr);
  return transfer(copy_of(*pCopy), nullptr, Call::synchronous);
}

CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* pCopy, CUstream hStream) {
  require(pCopy != nullptr);
  return transfer(copy_of(*pCopy), hStream, Call::asynchronous);
}

}  // namespace gangway::standin::api
