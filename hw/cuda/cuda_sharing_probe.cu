#include "hw/cuda/cuda_sharing_probe.hpp"

#ifdef __CUDACC__

#include <algorithm>
#include <atomic>
#include <string>

#include "hw/clock.hpp"
#include "hw/cuda/device_array.cuh"

namespace gangway {
namespace {

constexpr unsigned long long kGone =
    20'000;  // ns in which the clock was not looked at: it was not on the device
constexpr std::uint32_t kMostStays = 4096;  // of one kernel

struct Stamps {
  unsigned long long begun, ended;
};

constexpr int kWideBlock = 1024;
constexpr int kWideRegisters = 32;  // of a thread, so that two such blocks have all of an SM's

// The first thread keeps the time; others, if there are any, hold some registers until it has done so.
__global__ void __launch_bounds__(kWideBlock, 2)
    keep_time(unsigned long long length, Stamps* stays, std::uint32_t most, std::uint32_t* count,
              std::uint32_t* ended, std::uint32_t number, std::uint32_t* over) {
  using preemptible::device::clock_ns;
  if (blockIdx.x != 0 || threadIdx.x != 0) {
    constexpr int kHeld = 22;
    float held[kHeld];
    for (int i = 0; i < kHeld; ++i) held[i] = static_cast<float>(threadIdx.x) + i;
    while (preemptible::device::get(*over) != number) {
      for (int i = 0; i < kHeld; ++i) held[i] = fmaf(held[i], held[i], held[i]);
      __nanosleep(200);
    }
    float sum = 0;  // stored if it is what it never is, as the assembler drops values that nobody uses
    for (int i = 0; i < kHeld; ++i) sum += held[i];
    if (sum < 0) stays[most - 1] = {};
    return;
  }
  unsigned long long begun = clock_ns(), last = begun, done = 0;
  std::uint32_t stay = 0;
  while (done < length) {
    const unsigned long long now = clock_ns();
    if (now - last > kGone) {
      if (stay + 1 < most) stays[stay++] = {begun, last};
      begun = now;
    } else {
      done += now - last;
    }
    last = now;
  }
  stays[stay++] = {begun, last};
  *count = stay;
  preemptible::device::put(*over, number);
  __threadfence_system();
  preemptible::device::put(*ended, number);
}

struct FreeHost {
  void operator()(void* p) const { cudaFreeHost(p); }
};

class CudaSharingProbe : public SharingProbe {
 public:
  CudaSharingProbe() {
    void* place = nullptr;
    cuda_check(cudaHostAlloc(&place, sizeof(std::uint32_t), cudaHostAllocMapped), "cudaHostAlloc");
    ended_.reset(new (place) std::uint32_t{0});
    cuda_check(cudaHostGetDevicePointer(&place, ended_.get(), 0), "cudaHostGetDevicePointer");
    ended_there_ = static_cast<std::uint32_t*>(place);
    cuda_check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    int sms = 0;
    cuda_check(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0), "cudaDeviceGetAttribute");
    sms_ = static_cast<unsigned>(sms);
    cudaFuncAttributes attributes;
    cuda_check(cudaFuncGetAttributes(&attributes, keep_time), "cudaFuncGetAttributes");
    if (attributes.numRegs <= kWideRegisters - 8)  // they are given in eights
      throw RunError("the probe's kernel has " + std::to_string(attributes.numRegs) +
                     " registers: too few to fill the GPU's");
    run({1, Duration{10'000}});  // its code is loaded
  }
  ~CudaSharingProbe() override { cudaStreamDestroy(stream_); }

  std::vector<ProbeStay> run(const ProbeWork& work) override {
    const auto kernels = static_cast<std::uint32_t>(work.kernels);
    const std::uint32_t most = std::max<std::uint32_t>(16, kMostStays / kernels);
    DeviceArray<Stamps> stays(std::uint64_t{kernels} * most);
    DeviceArray<std::uint32_t> counts(kernels), over(1);
    over.fill_bytes(0);
    const unsigned blocks = work.full ? 2 * sms_ : 1, threads = work.full ? kWideBlock : 1;
    std::atomic_ref<std::uint32_t>(*ended_).store(0);
    auto due = HostClock::now();
    for (std::uint32_t k = 0; k < kernels; ++k) {
      keep_time<<<blocks, threads, 0, stream_>>>(static_cast<unsigned long long>(work.length.ns),
                                                 stays.data() + std::size_t{k} * most, most,
                                                 counts.data() + k, ended_there_, k + 1, over.data());
      cuda_check(cudaGetLastError(), "a kernel's launch");
      if (work.pace == ProbeWork::Pace::queued) continue;
      if (work.pace == ProbeWork::Pace::requests) {
        await(k + 1);
        due = HostClock::now();
      }
      due = due + work.pause;
      while (HostClock::now() < due) continue;
    }
    cuda_check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
    return read(stays, counts, most);
  }

 private:
  void await(std::uint32_t number) const {
    const auto began = HostClock::now();
    while (std::atomic_ref<std::uint32_t>(*ended_).load(std::memory_order_acquire) != number)
      if (HostClock::now() - began > Duration{10'000'000'000})
        throw RunError("a kernel did not end within 10 s");
  }

  static std::vector<ProbeStay> read(const DeviceArray<Stamps>& stays,
                                     const DeviceArray<std::uint32_t>& counts, std::uint32_t most) {
    std::vector<Stamps> stamps(stays.size());
    std::vector<std::uint32_t> of_kernel(counts.size());
    cuda_check(cudaMemcpy(stamps.data(), stays.data(), stays.bytes(), cudaMemcpyDeviceToHost), "cudaMemcpy");
    cuda_check(cudaMemcpy(of_kernel.data(), counts.data(), counts.bytes(), cudaMemcpyDeviceToHost),
               "cudaMemcpy");
    std::vector<ProbeStay> out;
    for (std::size_t k = 0; k < of_kernel.size(); ++k)
      for (std::uint32_t s = 0; s < of_kernel[k]; ++s) {
        const Stamps& stamp = stamps[k * most + s];
        out.push_back({static_cast<std::int64_t>(k), Time{static_cast<std::int64_t>(stamp.begun)},
                       Time{static_cast<std::int64_t>(stamp.ended)}, s == 0, s + 1 == of_kernel[k]});
      }
    return out;
  }

  std::unique_ptr<std::uint32_t, FreeHost> ended_;
  std::uint32_t* ended_there_ = nullptr;  // as the device addresses it
  cudaStream_t stream_ = nullptr;
  unsigned sms_ = 0;
};

}  // namespace

std::unique_ptr<SharingProbe> make_cuda_sharing_probe() {
  cuda_check(cudaSetDevice(0), "cudaSetDevice");
  return std::make_unique<CudaSharingProbe>();
}

}  // namespace gangway

#else

#include "hw/cuda/without_cuda.hpp"
#include "models/error.hpp"

namespace gangway {

std::unique_ptr<SharingProbe> make_cuda_sharing_probe() { throw RunError(kBuiltWithoutCuda); }

}  // namespace gangway

#endif
