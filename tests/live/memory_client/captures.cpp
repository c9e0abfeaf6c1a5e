// Addresses that the driver looks up before anything runs there: what captures and graphs take up.
#include "tests/live/memory_client/modes.hpp"
#include "tests/live/memory_client/waits.hpp"

namespace gangway::memory_client {
namespace {

constexpr std::size_t kCaptured = kMiB;

CUDA_MEMCPY3D copy_node(CUdeviceptr to, CUdeviceptr from) {
  CUDA_MEMCPY3D copy{};
  copy.dstMemoryType = copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = to;
  copy.srcDevice = from;
  copy.WidthInBytes = kCaptured;
  copy.Height = copy.Depth = 1;
  return copy;
}

CUDA_MEMSET_NODE_PARAMS set_node(CUdeviceptr to) {
  CUDA_MEMSET_NODE_PARAMS set{};
  set.dst = to;
  set.value = 3;
  set.elementSize = 1;
  set.width = kCaptured;
  set.height = 1;
  return set;
}

// A state, then a graph of one node: a captured copy, memset or write of a word, or a copy or memset that is
// added to it, as `way` says. The node is made once there is a file.
int captures(Program& program, int way, std::size_t most, const char* file) {
  if (!program.allocate(most - 2 * kMiB, Block::plain)) return 6;
  CUdeviceptr to = 0;
  NEED(cuMemAlloc(&to, 2 * kMiB));
  NEED(cuMemsetD8(to, 1, 2 * kMiB));
  NEED(cuMemsetD8(to + kCaptured, 3, kCaptured));
  NEED(cuCtxSynchronize());
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec ready = nullptr;
  CUcontext context = nullptr;
  NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  NEED(cuCtxGetCurrent(&context));
  std::printf("holds %zu\n", most / kMiB);
  std::fflush(stdout);
  wait_for_file(file);
  if (way < 3) {
    NEED(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    if (way == 0) NEED(cuMemcpyAsync(to, to + kCaptured, kCaptured, stream));
    if (way == 1) NEED(cuMemsetD8Async(to, 3, kCaptured, stream));
    if (way == 2) NEED(cuStreamWriteValue32(stream, to, 0x03030303, 0));
    NEED(cuStreamEndCapture(stream, &graph));
  } else {
    const CUDA_MEMCPY3D copy = copy_node(to, to + kCaptured);
    const CUDA_MEMSET_NODE_PARAMS set = set_node(to);
    NEED(cuGraphCreate(&graph, 0));
    if (way == 3) NEED(cuGraphAddMemcpyNode(&node, graph, nullptr, 0, &copy, context));
    if (way == 4) NEED(cuGraphAddMemsetNode(&node, graph, nullptr, 0, &set, context));
  }
  NEED(cuGraphInstantiate(&ready, graph, 0));
  NEED(cuGraphLaunch(ready, stream));
  NEED(cuStreamSynchronize(stream));
  std::uint32_t found = 0;
  NEED(cuMemcpyDtoH(&found, to, sizeof found));
  program.check_all();
  std::printf("captured %x\n", found);
  return 0;
}

// A state, then a kernel in the default stream once there is a file. No stream of its own is used before.
int in_default_stream(Program& program, std::size_t most, const char* file) {
  if (!program.allocate(most - 2 * kMiB, Block::plain)) return 6;
  CUdeviceptr at = 0;
  NEED(cuMemAlloc(&at, 2 * kMiB));
  NEED(cuMemsetD32(at, 1, 1));
  program.wait();
  std::printf("holds %zu\n", most / kMiB);
  std::fflush(stdout);
  wait_for_file(file);
  program.mix(at, nullptr);
  std::uint32_t found = 0;
  NEED(cuMemcpyDtoH(&found, at, sizeof found));
  std::printf("default %x\n", found - 1);
  return 0;
}

const Mode default_mode("default", [](Program& program, const Arguments& given) {
  return given.file == nullptr ? 2 : in_default_stream(program, given.most, given.file);
});
const Mode captures_mode("captures", [](Program& program, const Arguments& given) {
  return given.file == nullptr ? 2 : captures(program, given.steps, given.most, given.file);
});

}  // namespace
}  // namespace gangway::memory_client
