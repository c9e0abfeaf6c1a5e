// The FRS paper's commands (III-B): the flag is copied to device memory, and the count of block-tasks done is
// copied back, each on a stream of its own.
#include "hw/mechanisms/real_mechanism.hpp"
#ifdef __CUDACC__
#include "hw/cuda/preemptible.cuh"
#endif

namespace gangway {
namespace {

#ifdef __CUDACC__

using preemptible::check;

class FlagCopy : public CudaMechanism {
 public:
  FlagCopy() {
    int least = 0, greatest = 0;
    check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
    check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, greatest),
          "cudaStreamCreateWithPriority");
    check(cudaEventCreateWithFlags(&copied_, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    check(cudaHostAlloc(&done_, sizeof *done_, cudaHostAllocDefault), "cudaHostAlloc");
  }
  ~FlagCopy() override {
    cudaFreeHost(done_);
    cudaEventDestroy(copied_);
    cudaStreamDestroy(stream_);
  }
  FlagCopy(const FlagCopy&) = delete;
  FlagCopy& operator=(const FlagCopy&) = delete;

  void evict(preemptible::Session& session) override { session.evict(); }

  void ask_pending_work(const preemptible::Session& session) override {
    check(cudaMemcpyAsync(done_, session.done_word(), sizeof *done_, cudaMemcpyDeviceToHost, stream_),
          "cudaMemcpyAsync of the count");
    check(cudaEventRecord(copied_, stream_), "cudaEventRecord");
  }
  std::optional<std::uint32_t> pending_work(const preemptible::Session&) override {
    const cudaError_t code = cudaEventQuery(copied_);
    if (code == cudaErrorNotReady) return std::nullopt;
    check(code, "cudaEventQuery");
    return *done_;
  }

 private:
  cudaStream_t stream_ = nullptr;
  cudaEvent_t copied_ = nullptr;
  std::uint32_t* done_ = nullptr;  // pinned
};

#else

class FlagCopy;

#endif

const RealMechanismRegistration<HostMechanism, FlagCopy> registered{{"flag-copy", {}, {"useful"}}};

}  // namespace
}  // namespace gangway
