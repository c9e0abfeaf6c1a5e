#include "hw/intercept/driver.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <optional>

#include "hw/intercept/forms/real_calls.hpp"
#include "hw/intercept/memory/real_memory.hpp"

namespace gangway::intercept {
namespace {

// The look-alike needs the real library by this name, which `gangway exec` gives it: what the look-alike
// lacks, functions of newer drivers too, the loader so finds in the real one.
constexpr const char* kRealLibrary = "libgangway-real-cuda.so.1";

CUstream handle(const live::StreamName& stream) {
  if (stream.per_thread()) return CU_STREAM_PER_THREAD;
  return reinterpret_cast<CUstream>(stream.handle);
}

}  // namespace

constinit RealDriver driver;

namespace {
void* real_library = nullptr;
}

void* real_function(const char* symbol) { return dlsym(real_library, symbol); }

void find_driver() {
  void* library = real_library = dlopen(kRealLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "gangway: no CUDA driver behind the look-alike: %s\n", dlerror());
    std::exit(1);
  }
  for (Intercepted& function : intercepted) function.real = dlsym(library, function.symbol);
  driver.find(library);
  find_real_calls(library);
  real_memory.find(library);
}

void RealDriver::find(void* library) {
  const auto take = [&](auto*& function, const char* symbol) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, symbol));
  };
  take(is_capturing_, "cuStreamIsCapturing");
  take(query_, "cuStreamQuery");
  take(get_context_, "cuStreamGetCtx");
  take(get_current_, "cuCtxGetCurrent");
  take(push_, "cuCtxPushCurrent_v2");
  take(pop_, "cuCtxPopCurrent_v2");
  take(exchange_mode_, "cuThreadExchangeStreamCaptureMode");
  take(create_event_, "cuEventCreate");
  take(destroy_event_, "cuEventDestroy_v2");
  take(record_, "cuEventRecord");
  take(reached_, "cuEventQuery");
  take(primary_state_, "cuDevicePrimaryCtxGetState");
  take(primary_retain_, "cuDevicePrimaryCtxRetain");
  take(primary_release_, "cuDevicePrimaryCtxRelease_v2");
}

namespace {

// Calls that a capture in another thread forbids are allowed to a thread in this mode.
class Relaxed {
 public:
  explicit Relaxed(decltype(::cuThreadExchangeStreamCaptureMode)* exchange) : exchange_(exchange) {
    exchange_(&mode_);
  }
  ~Relaxed() { exchange_(&mode_); }

 private:
  decltype(::cuThreadExchangeStreamCaptureMode)* exchange_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

// Other errors than these: the context is broken, and nothing of it runs.
bool over(CUresult result) {
  return result != CUDA_ERROR_NOT_READY &&
         (result < CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED || result > CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
}

}  // namespace

std::uint64_t RealDriver::current_context() {
  CUcontext context = nullptr;
  return get_current_(&context) == CUDA_SUCCESS ? reinterpret_cast<std::uint64_t>(context) : 0;
}

std::uint64_t RealDriver::primary_context(CUdevice device) {
  unsigned flags = 0;
  int active = 0;
  CUcontext context = nullptr;
  if (primary_state_(device, &flags, &active) != CUDA_SUCCESS || active == 0) return 0;
  if (primary_retain_(&context, device) != CUDA_SUCCESS) return 0;
  primary_release_(device);
  return reinterpret_cast<std::uint64_t>(context);
}

RealDriver::InContext::InContext(std::uint64_t context)
    : failed_(context != 0 ? driver.push_(reinterpret_cast<CUcontext>(context))
                           : CUDA_ERROR_INVALID_CONTEXT) {}
RealDriver::InContext::~InContext() {
  CUcontext popped = nullptr;
  if (failed_ == CUDA_SUCCESS) driver.pop_(&popped);
}

bool RealDriver::capturing(const live::StreamName& stream) {
  if (stream.legacy()) return false;  // it cannot be
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return is_capturing_(handle(stream), &status) == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE;
}

std::uint64_t RealDriver::context(const live::StreamName& stream) {
  CUcontext context = nullptr;
  return get_context_(handle(stream), &context) == CUDA_SUCCESS ? reinterpret_cast<std::uint64_t>(context)
                                                                : 0;
}

bool RealDriver::idle(const live::StreamName& stream) {
  const Relaxed relaxed(exchange_mode_);
  std::optional<InContext> elsewhere;
  if (stream.context != 0 && stream.context != current_context()) elsewhere.emplace(stream.context);
  if (elsewhere && elsewhere->failed() != CUDA_SUCCESS) return false;
  return over(query_(handle(stream)));
}

bool RealDriver::record(const live::StreamName& stream, Event& event) {
  auto e = static_cast<CUevent>(event);
  if (e != nullptr && record_(e, handle(stream)) == CUDA_SUCCESS) return true;
  if (e != nullptr) destroy_event_(e);  // it may be of another context
  e = nullptr;
  if (create_event_(&e, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) e = nullptr;
  event = e;
  return e != nullptr && record_(e, handle(stream)) == CUDA_SUCCESS;
}

bool RealDriver::reached(Event event, bool captures) {
  std::optional<Relaxed> relaxed;
  if (captures) relaxed.emplace(exchange_mode_);
  return over(reached_(static_cast<CUevent>(event)));
}

void RealDriver::destroy(Event event) { destroy_event_(static_cast<CUevent>(event)); }

void RealDriver::helper_begins() {
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  exchange_mode_(&mode);
}

}  // namespace gangway::intercept
