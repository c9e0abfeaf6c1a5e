// One random sequence of calls. A word that a lane touches after another lane's work is first ordered behind
// that by an event: if an event, a wait or the work comes in another order, the numbers differ.
#include <array>

#include "tests/differential_driver/world.hpp"

namespace gangway::differential {
namespace {

class Sequence {
 public:
  Sequence(World& world, std::uint64_t seed, bool aloud) : world_(world), random_(seed), told_(aloud) {
    for (CUevent& event : events_)
      told_.result("cuEventCreate", cuEventCreate(&event, CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC));
  }

  std::uint64_t run() {
    told_.result("cuMemsetD32", cuMemsetD32(world_.device, 1, words));
    told_.result("cuCtxSynchronize", cuCtxSynchronize());
    for (unsigned i = 0; i < slots; ++i) world_.pinned[i] = 0;
    const unsigned steps = 5 + below(random_, 30);
    for (unsigned i = 0; i < steps; ++i) step();
    told_.result("cuCtxSynchronize", cuCtxSynchronize());
    std::array<Word, words> read{};
    told_.result("cuMemcpyDtoH", cuMemcpyDtoH(read.data(), world_.device, sizeof read));
    for (const Word value : read) told_.value("word", value);
    for (unsigned i = 0; i < slots; ++i) told_.value("slot", world_.pinned[i]);
    for (const CUevent event : events_) told_.result("cuEventDestroy", cuEventDestroy(event));
    return told_.sum();
  }

 private:
  void step() {
    switch (below(random_, 14)) {
      case 0:
      case 1:
      case 2:
        return launch();
      case 3:
        return launch_otherwise();
      case 4:
        return set();
      case 5:
        return copy_to_device();
      case 6:
        return copy_back();
      case 7:
        return copy_within();
      case 8:
        return host_function();
      case 9:
        return value();
      case 10:
        return graph();
      case 11:
        return capture();
      case 12:
        return look();
      default:
        return mistake();
    }
  }

  CUstream stream(unsigned lane) { return world_.streams[lane]; }
  CUevent any_event() { return events_[below(random_, 4)]; }
  unsigned any_lane() { return below(random_, lanes); }

  // Makes the lane's next operation come after all that touched the thing before.
  void order(unsigned lane, int& last) {
    if (last >= 0 && last != static_cast<int>(lane)) {
      const CUevent event = any_event();
      told_.result("cuEventRecord", cuEventRecord(event, stream(static_cast<unsigned>(last))));
      told_.result("cuStreamWaitEvent", cuStreamWaitEvent(stream(lane), event, 0));
    }
    last = static_cast<int>(lane);
  }

  struct Mix {
    CUdeviceptr word;
    Word k;
    void* pointers[2] = {&word, &k};
    Mix(CUdeviceptr w, Word v) : word(w), k(v) {}
    Mix(const Mix&) = delete;
    Mix& operator=(const Mix&) = delete;
  };

  void launch() {
    const unsigned lane = any_lane(), word = below(random_, words);
    order(lane, word_last_[word]);
    Mix m(world_.word(word), below(random_, 1000));
    // NULL means lane 0 or 1, by the function's kind.
    const bool null = lane < 2 && below(random_, 2) == 0;
    using Launch = decltype(&cuLaunchKernel);
    const auto function = reinterpret_cast<Launch>(
        look_up(random_, "cuLaunchKernel", null && lane == 1 ? "cuLaunchKernel_ptsz" : "cuLaunchKernel"));
    told_.result("cuLaunchKernel", function(world_.mix, 1, 1, 1, 1, 1, 1, 0, null ? nullptr : stream(lane),
                                            m.pointers, nullptr));
  }

  void launch_otherwise() {
    const unsigned lane = any_lane(), word = below(random_, words);
    order(lane, word_last_[word]);
    Mix m(world_.word(word), below(random_, 1000));
    const unsigned way = below(random_, 3);
    if (way == 0) {
      CUlaunchConfig config{};
      config.gridDimX = config.gridDimY = config.gridDimZ = config.blockDimX = config.blockDimY =
          config.blockDimZ = 1;
      config.hStream = stream(lane);
      const auto function = reinterpret_cast<decltype(&cuLaunchKernelEx)>(
          look_up(random_, "cuLaunchKernelEx", "cuLaunchKernelEx"));
      told_.result("cuLaunchKernelEx", function(&config, world_.mix, m.pointers, nullptr));
    } else if (way == 1) {
      told_.result("cuLaunchCooperativeKernel",
                   cuLaunchCooperativeKernel(world_.mix, 1, 1, 1, 1, 1, 1, 0, stream(lane), m.pointers));
    } else {
      struct {
        CUdeviceptr word;
        Word k;
      } buffer{m.word, m.k};
      std::size_t size = sizeof buffer;
      void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                       CU_LAUNCH_PARAM_END};
      told_.result("cuLaunchKernel",
                   cuLaunchKernel(world_.mix, 1, 1, 1, 1, 1, 1, 0, stream(lane), nullptr, extra));
    }
  }

  void set() {
    const unsigned word = below(random_, words), value = below(random_, 1000);
    if (below(random_, 3) == 0) {
      order(0, word_last_[word]);
      told_.result("cuMemsetD32", cuMemsetD32(world_.word(word), value, 1));
      return;
    }
    const unsigned lane = any_lane();
    order(lane, word_last_[word]);
    told_.result("cuMemsetD32Async", cuMemsetD32Async(world_.word(word), value, 1, stream(lane)));
  }

  void copy_to_device() {
    const unsigned word = below(random_, words);
    Word source = below(random_, 100000);
    if (below(random_, 2) == 0) {
      order(0, word_last_[word]);
      told_.result("cuMemcpyHtoD", cuMemcpyHtoD(world_.word(word), &source, sizeof source));
    } else {
      const unsigned lane = any_lane();
      order(lane, word_last_[word]);
      told_.result("cuMemcpyHtoDAsync",
                   cuMemcpyHtoDAsync(world_.word(word), &source, sizeof source, stream(lane)));
      source = 0;  // what was there at the call counts
    }
  }

  void copy_back() {
    const unsigned word = below(random_, words), slot = below(random_, slots);
    if (below(random_, 2) == 0) {
      Word found = 0;
      order(0, word_last_[word]);
      told_.result("cuMemcpyDtoH", cuMemcpyDtoH(&found, world_.word(word), sizeof found));
      told_.value("copied", found);
      return;
    }
    const unsigned lane = any_lane();
    order(lane, word_last_[word]);
    order(lane, slot_last_[slot]);
    told_.result("cuMemcpyDtoHAsync",
                 cuMemcpyDtoHAsync(&world_.pinned[slot], world_.word(word), sizeof(Word), stream(lane)));
  }

  void copy_within() {
    const unsigned lane = any_lane(), from = below(random_, words),
                   to = (from + 1 + below(random_, words - 1)) % words;
    order(lane, word_last_[from]);
    order(lane, word_last_[to]);
    const bool unified = below(random_, 2) == 0;
    const CUresult result =
        unified ? cuMemcpyAsync(world_.word(to), world_.word(from), sizeof(Word), stream(lane))
                : cuMemcpyDtoDAsync(world_.word(to), world_.word(from), sizeof(Word), stream(lane));
    told_.result(unified ? "cuMemcpyAsync" : "cuMemcpyDtoDAsync", result);
  }

  void host_function() {
    const unsigned lane = any_lane(), slot = below(random_, slots);
    order(lane, slot_last_[slot]);
    const auto mixes = [](void* p) { *static_cast<Word*>(p) = *static_cast<Word*>(p) * 31 + 7; };
    told_.result("cuLaunchHostFunc", cuLaunchHostFunc(stream(lane), mixes, &world_.pinned[slot]));
  }

  void value() {
    const unsigned lane = any_lane(), word = below(random_, words), wanted = below(random_, 1000);
    order(lane, word_last_[word]);
    told_.result("cuStreamWriteValue32", cuStreamWriteValue32(stream(lane), world_.word(word), wanted, 0));
    told_.result("cuStreamWaitValue32",
                 cuStreamWaitValue32(stream(lane), world_.word(word), wanted, CU_STREAM_WAIT_VALUE_EQ));
  }

  void graph() {
    const unsigned lane = any_lane();
    order(lane, word_last_[0]);
    told_.result("cuGraphLaunch", cuGraphLaunch(world_.exec, stream(lane)));
  }

  void capture() {
    const unsigned lane = 2 + below(random_, lanes - 2), word = below(random_, words);
    const auto mode = static_cast<CUstreamCaptureMode>(below(random_, 3));
    order(lane, word_last_[word]);
    CUgraph made = nullptr;
    CUgraphExec exec = nullptr;
    told_.result("cuStreamBeginCapture", cuStreamBeginCapture(stream(lane), mode));
    const unsigned count = below(random_, 4);
    for (unsigned i = 0; i < count; ++i) {
      Mix m(world_.word(word), below(random_, 1000));
      told_.result("cuLaunchKernel",
                   cuLaunchKernel(world_.mix, 1, 1, 1, 1, 1, 1, 0, stream(lane), m.pointers, nullptr));
    }
    if (below(random_, 4) == 0)
      told_.result("cuStreamQuery", cuStreamQuery(stream(lane)));  // the capture's end
    told_.result("cuStreamEndCapture", cuStreamEndCapture(stream(lane), &made));
    if (made == nullptr) return;
    told_.result("cuGraphInstantiate", cuGraphInstantiate(&exec, made, 0));
    told_.result("cuGraphLaunch", cuGraphLaunch(exec, stream(lane)));
    told_.result("cuStreamSynchronize", cuStreamSynchronize(stream(lane)));
    told_.result("cuGraphExecDestroy", cuGraphExecDestroy(exec));
    told_.result("cuGraphDestroy", cuGraphDestroy(made));
  }

  void look() {
    const unsigned lane = any_lane();
    switch (below(random_, 6)) {
      case 0:
        return told_.ready_or_not("cuStreamQuery", cuStreamQuery(stream(lane)));
      case 1:
        return told_.result("cuStreamSynchronize", cuStreamSynchronize(stream(lane)));
      case 2:
        return told_.ready_or_not("cuEventQuery", cuEventQuery(any_event()));
      case 3:
        return told_.result("cuEventSynchronize", cuEventSynchronize(any_event()));
      case 4:
        return allocate();
      default:
        return told_.result("cuCtxSynchronize", cuCtxSynchronize());
    }
  }

  void allocate() {
    CUdeviceptr p = 0;
    Word found = 0;
    const CUstream in = stream(4 + below(random_, 2));
    told_.result("cuMemAllocAsync", cuMemAllocAsync(&p, 1 + below(random_, 5000), in));
    told_.result("cuMemsetD8Async", cuMemsetD8Async(p, 0x5a, 1, in));
    told_.result("cuMemcpyDtoHAsync", cuMemcpyDtoHAsync(&found, p, 1, in));
    told_.value("first byte", found);
    told_.result("cuMemFreeAsync", cuMemFreeAsync(p, in));
    told_.result("cuStreamSynchronize", cuStreamSynchronize(in));  // the next one gets the same address
  }

  void mistake() {
    Mix m(world_.word(0), 1);
    CUdeviceptr p = 0;
    CUgraph none = nullptr;
    const CUstream in = stream(any_lane());
    switch (below(random_, 8)) {
      case 0:
        return told_.result("launch of no block",
                            cuLaunchKernel(world_.mix, 0, 1, 1, 1, 1, 1, 0, in, m.pointers, nullptr));
      case 1:
        return told_.result("launch of too large a block",
                            cuLaunchKernel(world_.mix, 1, 1, 1, 2000, 1, 1, 0, in, m.pointers, nullptr));
      case 2:
        return told_.result("alloc of 0", cuMemAlloc(&p, 0));
      case 3:
        return told_.result("copy of no device memory", cuMemcpyDtoDAsync(8, 16, 4, in));
      case 4:
        return told_.result("end of no capture", cuStreamEndCapture(stream(3), &none));
      case 5:
        return told_.result("misaligned value", cuStreamWriteValue32(in, world_.word(0) + 1, 1, 0));
      case 6:
        return told_.result("free of what is not", cuMemFree(world_.word(1)));
      default:
        return told_.result("capture of the legacy stream",
                            cuStreamBeginCapture(CU_STREAM_LEGACY, CU_STREAM_CAPTURE_MODE_GLOBAL));
    }
  }

  World& world_;
  Random random_;
  Told told_;
  std::array<CUevent, 4> events_{};
  std::array<int, words> word_last_ = {-1, -1, -1, -1, -1, -1};
  std::array<int, slots> slot_last_ = {-1, -1, -1, -1, -1, -1, -1, -1};
};

}  // namespace

std::uint64_t run_sequence(World& world, std::uint64_t seed, bool aloud) {
  return Sequence(world, seed, aloud).run();
}

}  // namespace gangway::differential
