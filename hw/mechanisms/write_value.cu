// The flag is written by a stream memory operation, which needs no copy engine, and the count of block-tasks
// done is read from mapped memory, where the last block has put it already.
#include "hw/mechanisms/real_mechanism.hpp"
#ifdef __CUDACC__
#include <cuda.h>

#include "hw/cuda/preemptible.cuh"
#endif

namespace gangway {
namespace {

#ifdef __CUDACC__

using preemptible::check;

class WriteValue : public CudaMechanism {
 public:
  // The driver is asked for the function, so that the program starts where there is no driver.
  WriteValue() {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
    check(
        cudaGetDriverEntryPointByVersion("cuStreamWriteValue32", &function, 12000, cudaEnableDefault, &found),
        "cudaGetDriverEntryPointByVersion");
#else
    check(cudaGetDriverEntryPoint("cuStreamWriteValue32", &function, cudaEnableDefault, &found),
          "cudaGetDriverEntryPoint");
#endif
    if (found != cudaDriverEntryPointSuccess || function == nullptr)
      check(cudaErrorNotSupported, "cuStreamWriteValue32");
    write_ = reinterpret_cast<decltype(write_)>(function);
  }

  void evict(preemptible::Session& session) override {
    if (session.gone() || evicted_ == session.launch_number()) return;
    evicted_ = session.launch_number();
    const CUresult code =
        write_(session.commands(), reinterpret_cast<CUdeviceptr>(session.flag()), evicted_, 0);
    if (code != CUDA_SUCCESS)
      throw preemptible::Error(cudaErrorUnknown, "cuStreamWriteValue32 (code " + std::to_string(code) + ")");
  }

  void ask_pending_work(const preemptible::Session&) override {}
  std::optional<std::uint32_t> pending_work(const preemptible::Session& session) override {
    return session.done();
  }

 private:
  CUresult(CUDAAPI* write_)(CUstream, CUdeviceptr, cuuint32_t, unsigned) = nullptr;
  std::uint32_t evicted_ = 0;
};

#else

class WriteValue;

#endif

const RealMechanismRegistration<HostMechanism, WriteValue> registered{{"write-value", {}, {"useful"}}};

}  // namespace
}  // namespace gangway
