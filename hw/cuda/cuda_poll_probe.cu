#include "hw/cuda/cuda_poll_probe.hpp"

#ifdef __CUDACC__

#include <algorithm>
#include <new>

#include "hw/cuda/device_array.cuh"

namespace gangway {
namespace {

constexpr unsigned kThreads = 256;    // of a block that works
constexpr long long kPiece = 10'000;  // SM cycles of a piece of work, 5 us at 2 GHz: claims do not pile up

struct Stamps {
  unsigned long long begun, ended;  // %globaltimer
};

// `word` and `arrived` are 0 at first, and the word stays so, which only the host knows: each read's address
// comes from the one before. All blocks are on the device together, so that they can wait for each other.
__global__ void read_word(const std::uint32_t* word, std::uint32_t reads, std::uint32_t* arrived,
                          Stamps* stamps) {
  using preemptible::device::clock_ns;
  using preemptible::device::get;
  std::uint32_t value = get(*word);  // the first one may have to find the page
  atomicAdd(arrived + value, 1u);
  while (get(*arrived) < gridDim.x) continue;
  const unsigned long long begun = clock_ns();
  for (std::uint32_t i = 0; i < reads; ++i) value = get(word[value]);
  // A branch on the last value, as the clock would not wait for it.
  if (value == 0) stamps[blockIdx.x] = {begun, clock_ns()};
}

// Pieces are counted in cycles, as %globaltimer's steps of 32 ns would hide or add what is looked for.
GANGWAY_KERNEL(work_pieces, std::uint32_t pieces) {
  if (threadIdx.x != 0) return;
  for (std::uint32_t i = 0; i < pieces; ++i)
    for (const long long begun = clock64(); clock64() - begun < kPiece;) continue;
}

struct FreeHost {
  void operator()(void* p) const { cudaFreeHost(p); }
};

class CudaPollProbe : public PollProbe {
 public:
  CudaPollProbe() : kernel_(dim3(kMostBlockTasks - 1), dim3(kThreads)), arrived_(1) {
    void* place = nullptr;
    cuda_check(cudaHostAlloc(&place, sizeof(std::uint32_t), cudaHostAllocMapped), "cudaHostAlloc");
    word_.reset(new (place) std::uint32_t{0});
    cuda_check(cudaHostGetDevicePointer(&place, word_.get(), 0), "cudaHostGetDevicePointer");
    word_there_ = static_cast<const std::uint32_t*>(place);
  }

  Duration read_host(std::int64_t blocks, std::int64_t reads) override {
    DeviceArray<Stamps> there(static_cast<std::uint64_t>(blocks));
    there.fill_bytes(0);
    arrived_.fill_bytes(0);
    const std::uint32_t* word = word_there_;
    auto count = static_cast<std::uint32_t>(reads);
    std::uint32_t* arrived = arrived_.data();
    Stamps* stamps = there.data();
    void* arguments[] = {&word, &count, &arrived, &stamps};
    // Cooperative: refused where not all blocks are on the device at once.
    cuda_check(
        cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(&read_word),
                                    dim3(static_cast<unsigned>(blocks)), dim3(1), arguments, 0, stream()),
        "cudaLaunchCooperativeKernel");
    finish();
    return span_of(there);
  }

  Duration work(std::int64_t pieces, Between between) override {
    const bool looks = between == Between::look, one_by_one = between != Between::nothing;
    const PollingForm form = looks ? PollingForm::proxy : PollingForm::claim;
    const std::uint32_t blocks = kernel_.room(form) - (looks ? 1 : 0),
                        each = static_cast<std::uint32_t>(pieces);
    session_.persist({form});
    carried_out(
        [&] { kernel_.launch(session_, 0, blocks * (one_by_one ? each : 1), one_by_one ? 1 : each); });
    finish();
    return {static_cast<std::int64_t>(session_.device_ns())};
  }

 private:
  cudaStream_t stream() const { return session_.kernels(); }
  void finish() const { cuda_check(cudaStreamSynchronize(stream()), "cudaStreamSynchronize"); }

  static Duration span_of(const DeviceArray<Stamps>& there) {
    std::vector<Stamps> stamps(there.size());
    cuda_check(cudaMemcpy(stamps.data(), there.data(), there.bytes(), cudaMemcpyDeviceToHost),
               "cudaMemcpy of stamps");
    Stamps all = stamps.at(0);
    for (const Stamps& of_block : stamps) {
      if (of_block.ended == 0) throw RunError("a block read a flag that nobody wrote");
      all = {std::min(all.begun, of_block.begun), std::max(all.ended, of_block.ended)};
    }
    return {static_cast<std::int64_t>(all.ended - all.begun)};
  }

  preemptible::Session session_;
  preemptible::Kernel<&work_pieces> kernel_;
  DeviceArray<std::uint32_t> arrived_;
  std::unique_ptr<std::uint32_t, FreeHost> word_;
  const std::uint32_t* word_there_ = nullptr;  // as the device addresses it
};

}  // namespace

std::unique_ptr<PollProbe> make_cuda_poll_probe() {
  cuda_check(cudaSetDevice(0), "cudaSetDevice");
  return carried_out([] { return std::make_unique<CudaPollProbe>(); });
}

}  // namespace gangway

#else

#include "hw/cuda/without_cuda.hpp"
#include "models/error.hpp"

namespace gangway {

std::unique_ptr<PollProbe> make_cuda_poll_probe() { throw RunError(kBuiltWithoutCuda); }

}  // namespace gangway

#endif
