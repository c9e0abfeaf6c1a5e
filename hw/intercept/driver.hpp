// The real driver behind the look-alike: its functions by symbol, and the gate's queries.
#pragma once

#define __CUDA_API_VERSION_INTERNAL  // every version of every function, under its own name
#include <cuda.h>
#include <cudaProfiler.h>

#include "hw/live/registration.hpp"

namespace gangway::intercept {

enum Index : int {
#define SUBMISSION(symbol, kind) i_##symbol,
#define SYNCHRONISATION(symbol, what) i_##symbol,
#define OBSERVED(symbol, what) i_##symbol,
#define SERVED(symbol) i_##symbol,
#define PASSED(symbol)
#include "hw/intercept/functions.def"
#undef SUBMISSION
#undef SYNCHRONISATION
#undef OBSERVED
#undef PASSED
#undef SERVED
  kIntercepted
};

struct Intercepted {
  const char* symbol;
  void* real;  // null: this driver lacks it
  void* ours;
};
extern Intercepted intercepted[kIntercepted];

// Finds the real library, under its other name, and its functions.
void find_driver();
// The driver's function with that symbol; null: this driver has none.
void* real_function(const char* symbol);

class RealDriver : public live::Driver, public live::Helped {
 public:
  void find(void* library);
  bool capturing(const live::StreamName& stream) override;
  std::uint64_t context(const live::StreamName& stream) override;
  bool idle(const live::StreamName& stream) override;
  bool record(const live::StreamName& stream, Event& event) override;
  bool reached(Event event, bool captures) override;
  void destroy(Event event) override;
  void helper_begins() override;
  std::uint64_t current_context();
  // The device's primary context, if active.
  std::uint64_t primary_context(CUdevice device);
  // Makes another context the thread's current one; 0: none.
  class InContext {
   public:
    explicit InContext(std::uint64_t context);
    ~InContext();
    InContext(const InContext&) = delete;
    InContext& operator=(const InContext&) = delete;
    CUresult failed() const { return failed_; }

   private:
    CUresult failed_;
  };

 private:
  decltype(::cuStreamIsCapturing)* is_capturing_ = nullptr;
  decltype(::cuStreamQuery)* query_ = nullptr;
  decltype(::cuStreamGetCtx)* get_context_ = nullptr;
  decltype(::cuCtxGetCurrent)* get_current_ = nullptr;
  decltype(::cuCtxPushCurrent_v2)* push_ = nullptr;
  decltype(::cuCtxPopCurrent_v2)* pop_ = nullptr;
  decltype(::cuThreadExchangeStreamCaptureMode)* exchange_mode_ = nullptr;
  decltype(::cuEventCreate)* create_event_ = nullptr;
  decltype(::cuEventDestroy_v2)* destroy_event_ = nullptr;
  decltype(::cuEventRecord)* record_ = nullptr;
  decltype(::cuEventQuery)* reached_ = nullptr;
  decltype(::cuDevicePrimaryCtxGetState)* primary_state_ = nullptr;
  decltype(::cuDevicePrimaryCtxRetain)* primary_retain_ = nullptr;
  decltype(::cuDevicePrimaryCtxRelease_v2)* primary_release_ = nullptr;
};

extern RealDriver driver;

// The stream that a call means; `thread`: its default stream is the thread's own.
[[gnu::always_inline]] inline live::StreamName name_of(CUstream stream, bool thread) {
  if (stream == CU_STREAM_PER_THREAD || (stream == nullptr && thread))
    return live::StreamName::of_this_thread(driver.current_context());
  if (stream == nullptr || stream == CU_STREAM_LEGACY)
    return {live::StreamName::kLegacy, driver.current_context()};
  return {reinterpret_cast<std::uint64_t>(stream), 0};
}

}  // namespace gangway::intercept
