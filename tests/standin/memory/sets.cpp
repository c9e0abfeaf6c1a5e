// The driver's functions that set memory. The synchronous ones wait only where the memory is the host's.
#include "api.hpp"
#include "tests/standin/graphs/capture.hpp"
#include "tests/standin/memory/arena.hpp"
#include "tests/standin/memory/transfer.hpp"
#include "tests/standin/streams/submission.hpp"

namespace gangway::standin::api {
namespace {

SetCommand set(CUdeviceptr to, std::size_t pitch, unsigned value, unsigned element, std::size_t width,
               std::size_t height) {
  SetCommand made;
  made.to = to;
  made.pitch = pitch;
  made.value = value;
  made.element = element;
  made.width = width;
  made.height = height;
  return made;
}

CUresult asynchronous(const SetCommand& command, CUstream handle) {
  Lock lock = lock_driver();
  const auto into = stream(handle);
  const bool nothing = command.width == 0 || command.height == 0;
  if (!nothing) check_transfer(command);
  if (nothing && !captures(*into)) return CUDA_SUCCESS;
  submit(lock, *into, CU_GRAPH_NODE_TYPE_MEMSET, std::make_shared<SetCommand>(command));
  return CUDA_SUCCESS;
}

CUresult synchronous(const SetCommand& command) {
  Lock lock = lock_driver();
  const auto into = stream(nullptr);
  const bool nothing = command.width == 0 || command.height == 0;
  if (!nothing) check_transfer(command);
  refuse_captured(*into);

  if (nothing) return CUDA_SUCCESS;
  const auto operation = enqueue(lock, *into, std::make_shared<SetCommand>(command));
  if (Arena::holds(command.to)) return CUDA_SUCCESS;
  const auto context = into->context->shared_from_this();
  Engine::get().wait(lock, [&] { return operation->done; });
  return context->lost;
}

}  // namespace

CUresult cuMemsetD8_v2(CUdeviceptr d, unsigned char uc, size_t N) {
  return synchronous(set(d, N, uc, 1, N, 1));
}
CUresult cuMemsetD16_v2(CUdeviceptr d, unsigned short us, size_t N) {
  return synchronous(set(d, 2 * N, us, 2, N, 1));
}
CUresult cuMemsetD32_v2(CUdeviceptr d, unsigned ui, size_t N) {
  return synchronous(set(d, 4 * N, ui, 4, N, 1));
}
CUresult cuMemsetD2D8_v2(CUdeviceptr d, size_t pitch, unsigned char uc, size_t Width, size_t Height) {
  return synchronous(set(d, pitch, uc, 1, Width, Height));
}
CUresult cuMemsetD2D16_v2(CUdeviceptr d, size_t pitch, unsigned short us, size_t Width, size_t Height) {
  return synchronous(set(d, pitch, us, 2, Width, Height));
}
CUresult cuMemsetD2D32_v2(CUdeviceptr d, size_t pitch, unsigned ui, size_t Width, size_t Height) {
  return synchronous(set(d, pitch, ui, 4, Width, Height));
}
CUresult cuMemsetD8Async(CUdeviceptr d, unsigned char uc, size_t N, CUstream s) {
  return asynchronous(set(d, N, uc, 1, N, 1), s);
}
CUresult cuMemsetD16Async(CUdeviceptr d, unsigned short us, size_t N, CUstream s) {
  return asynchronous(set(d, 2 * N, us, 2, N, 1), s);
}
CUresult cuMemsetD32Async(CUdeviceptr d, unsigned ui, size_t N, CUstream s) {
  return asynchronous(set(d, 4 * N, ui, 4, N, 1), s);
}
CUresult cuMemsetD2D8Async(CUdeviceptr d, size_t pitch, unsigned char uc, size_t Width, size_t Height,
                           CUstream s) {
  return asynchronous(set(d, pitch, uc, 1, Width, Height), s);
}
CUresult cuMemsetD2D16Async(CUdeviceptr d, size_t pitch, unsigned short us, size_t Width, size_t Height,
                            CUstream s) {
  return asynchronous(set(d, pitch, us, 2, Width, Height), s);
}
CUresult cuMemsetD2D32Async(CUdeviceptr d, size_t pitch, unsigned ui, size_t Width, size_t Height,
                            CUstream s) {
  return asynchronous(set(d, pitch, ui, 4, Width, Height), s);
}

}  // namespace gangway::standin::api
