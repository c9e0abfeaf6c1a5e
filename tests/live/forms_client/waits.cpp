// Kernels and streams that wait for something else than what stands before them.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tests/live/forms_client/modes.hpp"

namespace gangway::forms_client {
namespace {

// A kernel whose blocks wait for the last one of its grid (waiting_kernels.ptx).
int awaits(Gpu&, const char* argument) {
  const int count = std::atoi(argument);
  const std::string image = text_of_file(std::getenv("FORMS_WAITING_PTX"));
  CUmodule module = nullptr;
  CUfunction await_last = nullptr;
  NEED(cuModuleLoadData(&module, image.c_str()));
  NEED(cuModuleGetFunction(&await_last, module, "await_last"));
  const CUstream stream = new_stream();
  const std::uint32_t blocks = 48;
  std::uint32_t rounds = 4, all = 0;  // so that claims are a good part of it
  std::vector<std::uint32_t> out(blocks * kThreads);
  CUdeviceptr p = 0, words = 0;
  NEED(cuMemAlloc(&p, out.size() * 4));
  NEED(cuMemAlloc(&words, blocks * 4));
  for (std::uint32_t round = 0; round < static_cast<std::uint32_t>(count); ++round) {
    NEED(cuMemsetD32Async(p, 0, out.size(), stream));
    NEED(cuMemsetD32Async(words, 0, blocks, stream));
    launch(await_last, stream, blocks, {&p, &words, &round, &rounds});
    NEED(cuMemcpyDtoHAsync(out.data(), p, out.size() * 4, stream));
    NEED(cuStreamSynchronize(stream));
    const std::uint32_t last = worked((blocks - 1) * kThreads, round, rounds) | 0x80000001u;
    for (std::uint32_t i = 0; i < out.size(); ++i)
      if (out[i] != (worked(i, round, rounds) ^ last)) return std::printf("round %u: word %u\n", round, i), 1;
    all = all * 31 + sum(out);
  }
  std::printf("awaits %d %u\n", count, all);
  return 0;
}
const Mode awaits_mode("awaits", awaits);

// Kernels of several streams that wait for what another stream does.
int told(Gpu&, const char* argument) {
  const int count = std::atoi(argument);
  constexpr std::uint32_t kStreams = 3;
  const std::string image = text_of_file(std::getenv("FORMS_WAITING_PTX"));
  CUmodule module = nullptr;
  CUfunction await_told = nullptr;
  NEED(cuModuleLoadData(&module, image.c_str()));
  NEED(cuModuleGetFunction(&await_told, module, "await_told"));
  CUstream streams[kStreams];
  for (CUstream& each : streams) each = new_stream();
  const CUstream tells = new_stream();
  CUdeviceptr p = 0, words = 0;
  NEED(cuMemAlloc(&p, kStreams * 4));
  NEED(cuMemAlloc(&words, kStreams * 4));
  for (int round = 1; round <= count; ++round) {
    const std::uint32_t tell = 0x80000000u | static_cast<std::uint32_t>(round);
    NEED(cuMemsetD32Async(words, 0, kStreams, tells));  // cuMemsetD32 could come after what is told
    NEED(cuStreamSynchronize(tells));
    for (std::uint32_t s = 0; s < kStreams; ++s) {
      CUdeviceptr found = p + s * 4, word = words + s * 4;
      launch(await_told, streams[s], 1, {&found, &word});
    }
    NEED(cuMemsetD32Async(words, tell, kStreams, tells));
    NEED(cuCtxSynchronize());
    std::uint32_t out[kStreams];
    NEED(cuMemcpyDtoH(out, p, sizeof out));
    for (const std::uint32_t found : out)
      if (found != tell) return std::printf("round %d: %u\n", round, found), 1;
  }
  std::printf("told %d\n", count);
  return 0;
}
const Mode told_mode("told", told);

// Work behind a wait that the program ends itself: so much that the keeper would rather wait, and calls for
// which it would like to be alone.
int releases(Gpu& gpu, const char* argument) {
  const int count = std::atoi(argument);
  const std::uint32_t blocks = 16;
  std::vector<std::uint32_t> out(blocks * kThreads);
  std::uint32_t *go = nullptr, *pinned = nullptr;
  NEED(cuMemHostAlloc(reinterpret_cast<void**>(&pinned), out.size() * 4, 0));
  CUdeviceptr p = 0, go_on_device = 0;
  NEED(cuMemHostAlloc(reinterpret_cast<void**>(&go), 4, CU_MEMHOSTALLOC_DEVICEMAP));
  NEED(cuMemHostGetDevicePointer(&go_on_device, go, 0));
  NEED(cuMemAlloc(&p, out.size() * 4));
  std::uint32_t all = 0;
  for (int round = 0; round < count; ++round) {
    std::uint32_t number = static_cast<std::uint32_t>(round), rounds = 20;
    const CUstream stream = new_stream();
    std::atomic_ref<std::uint32_t>(*go).store(0);
    NEED(cuStreamWaitValue32(stream, go_on_device, 1, CU_STREAM_WAIT_VALUE_EQ));
    for (int k = 0; k < 300; ++k) launch(gpu.work, stream, blocks, {&p, &number, &rounds});
    launch(gpu.tally, stream, blocks, {&p});
    NEED(cuMemcpyDtoHAsync(pinned, p, out.size() * 4, stream));
    CUgraph graph = nullptr;
    CUgraphExec executable = nullptr;
    int registers = 0;
    NEED(cuGraphCreate(&graph, 0));
    NEED(cuGraphInstantiate(&executable, graph, 0));
    if (gpu.library == nullptr) NEED(cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, gpu.plane));
    const CUstream beside = new_stream();
    std::atomic_ref<std::uint32_t>(*go).store(1);
    NEED(cuStreamSynchronize(stream));
    std::copy(pinned, pinned + out.size(), out.begin());
    all = all * 31 + sum(out);
    NEED(cuGraphExecDestroy(executable));
    NEED(cuGraphDestroy(graph));
    NEED(cuStreamDestroy(beside));
    NEED(cuStreamDestroy(stream));
  }
  std::printf("releases %d %u\n", count, all);
  return 0;
}
const Mode releases_mode("releases", releases);

}  // namespace
}  // namespace gangway::forms_client
