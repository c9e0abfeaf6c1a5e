// What the language has beside plain kernels: constants and variables that change between launches, function
// pointers, templates, dynamic shared memory, warps' votes and shuffles, atomics, early returns, three
// dimensions, streams with events, graphs.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define NEED(call)                                                                      \
  do {                                                                                  \
    if (const cudaError_t error = (call); error != cudaSuccess)                         \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error)), std::exit(1); \
  } while (false)

using Word = std::uint32_t;
constexpr int kThreads = 64;

__constant__ Word factors[4];
__device__ Word finished;
__device__ Word table[256];

__device__ Word plus(Word a, Word b) { return a + b; }
__device__ Word mixed(Word a, Word b) { return (a ^ b) * 2654435761u; }
using Operation = Word (*)(Word, Word);
__device__ Operation operations[] = {plus, mixed};

template <int kRounds>
__global__ void rounds(Word* out, std::size_t n, int which) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;  // whole blocks too
  Word v = out[i];
  for (int r = 0; r < kRounds; ++r) v = operations[which](v, factors[r % 4]);
  out[i] = v;
}

__global__ void sums(const Word* in, Word* out, std::size_t n) {
  extern __shared__ Word shared[];
  Word v = 0;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n;
       i += std::size_t{gridDim.x} * blockDim.x)
    v += in[i];
  for (int lanes = 16; lanes > 0; lanes /= 2) v += __shfl_down_sync(~0U, v, lanes);
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x != 0) return;
  Word all = 0;
  for (unsigned warp = 0; warp < blockDim.x / 32; ++warp) all += shared[warp];
  atomicAdd(out, all);
  // The last block to end says so, as sums over a whole grid do it.
  __threadfence();
  if (atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1) out[1] = out[0] * factors[0];
}

__global__ void places(Word* out, unsigned width, unsigned height) {
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  const unsigned among = __popc(__ballot_sync(~0U, (x + y + blockIdx.z) % 3 == 0));
  if (x >= width || y >= height) return;
  out[(std::size_t{blockIdx.z} * height + y) * width + x] = x + 1000 * y + 1000000 * blockIdx.z;
  if (threadIdx.x == 0 && threadIdx.y == 0)
    atomicAdd(&table[(blockIdx.x + blockIdx.y) % 256], among == 0 ? 1 : 1 + gridDim.z);
}

namespace {

Word hash_of(const std::vector<Word>& words, Word so_far) {
  for (const Word word : words) so_far = (so_far ^ word) * 16777619u;
  return so_far;
}

}  // namespace

int main(int argc, char** argv) {
  const int passes = argc > 1 ? std::atoi(argv[1]) : 10;
  const std::size_t n = 64 * 40 + 17;
  const unsigned width = 37, height = 11, depth = 6;
  Word *a = nullptr, *b = nullptr, *sum = nullptr;
  NEED(cudaMalloc(&a, n * sizeof(Word)));
  NEED(cudaMalloc(&b, std::size_t{width} * height * depth * sizeof(Word)));
  NEED(cudaMalloc(&sum, 2 * sizeof(Word)));
  NEED(cudaMemset(a, 1, n * sizeof(Word)));
  cudaStream_t one = nullptr, two = nullptr;
  NEED(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
  NEED(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
  cudaEvent_t ready = nullptr;
  NEED(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
  NEED(cudaDeviceSynchronize());

  cudaGraph_t graph = nullptr;
  cudaGraphExec_t repeated = nullptr;
  NEED(cudaStreamBeginCapture(one, cudaStreamCaptureModeThreadLocal));
  rounds<3><<<64, kThreads, 0, one>>>(a, n, 1);
  NEED(cudaStreamEndCapture(one, &graph));
  NEED(cudaGraphInstantiate(&repeated, graph, 0));

  std::vector<Word> back(n), positions(std::size_t{width} * height * depth);
  Word hash = 2166136261u;
  for (int pass = 0; pass < passes; ++pass) {
    const Word own[4] = {static_cast<Word>(pass) + 3, 5, 7, 11};
    NEED(cudaMemcpyToSymbol(factors, own, sizeof own));
    rounds<40><<<64, kThreads, 0, one>>>(a, n, pass % 2);
    NEED(cudaMemsetAsync(sum, 0, 2 * sizeof(Word), one));
    NEED(cudaEventRecord(ready, one));
    NEED(cudaStreamWaitEvent(two, ready, 0));
    sums<<<24, kThreads, 1024, two>>>(a, sum, n);
    places<<<dim3(5, 3, depth), dim3(8, 4), 0, one>>>(b, width, height);
    NEED(cudaStreamSynchronize(two));
    NEED(cudaGraphLaunch(repeated, one));
    Word found[2];
    NEED(cudaMemcpy(found, sum, sizeof found, cudaMemcpyDeviceToHost));
    NEED(cudaStreamSynchronize(one));
    NEED(cudaMemcpy(back.data(), a, n * sizeof(Word), cudaMemcpyDeviceToHost));
    NEED(cudaMemcpy(positions.data(), b, positions.size() * sizeof(Word), cudaMemcpyDeviceToHost));
    hash = hash_of(positions, hash_of(back, hash ^ found[0] ^ (found[1] << 1)));
    if (found[1] != found[0] * own[0])
      return std::printf("pass %d: the last block came too early\n", pass), 1;
  }
  std::vector<Word> counted(256);
  NEED(cudaMemcpyFromSymbol(counted.data(), table, 256 * sizeof(Word)));
  std::printf("language: %d passes, %08x\n", passes, hash_of(counted, hash));
}
