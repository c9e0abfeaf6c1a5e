// Functions of the program that run in a stream's order.
#include "api.hpp"
#include "tests/standin/graphs/capture.hpp"
#include "tests/standin/streams/host_command.hpp"
#include "tests/standin/streams/submission.hpp"

namespace gangway::standin {
namespace {

// The older kind: told of a fault, and so called after one too.
struct CallbackCommand : Command {
  const char* name() const override { return "host"; }
  bool occupies_device() const override { return false; }
  bool takes_connection() const override { return false; }
  bool runs_after_fault() const override { return true; }
  void run() const override {
    Lock lock = lock_driver();
    const CUresult status = context->lost;
    lock.unlock();
    const InHostFunction inside;
    function(stream, status, user);
  }

  Context* context = nullptr;
  CUstream stream = nullptr;
  CUstreamCallback function = nullptr;
  void* user = nullptr;
};

}  // namespace

namespace api {

CUresult cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void* userData) {
  Lock lock = lock_driver();
  const auto into = stream(hStream);
  require(fn != nullptr);
  submit(lock, *into, CU_GRAPH_NODE_TYPE_HOST, std::make_shared<HostCommand>(fn, userData));
  return CUDA_SUCCESS;
}

CUresult cuStreamAddCallback(CUstream hStream, CUstreamCallback callback, void* userData, unsigned flags) {
  Lock lock = lock_driver();
  const auto into = stream(hStream);
  require(callback != nullptr && flags == 0);
  if (captures(*into)) invalidate(*into->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  const auto command = std::make_shared<CallbackCommand>();
  command->context = into->context;
  command->stream = hStream;
  command->function = callback;
  command->user = userData;
  enqueue(lock, *into, command);
  return CUDA_SUCCESS;
}

}  // namespace api
}  // namespace gangway::standin
