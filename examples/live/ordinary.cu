// An ordinary program with many sorts of kernels, whose output tells whether each of them did all its work
// once: barriers, early returns, shared memory of both kinds, grids of three dimensions, atomics, a variable,
// a graph, events between streams, several streams at once. nvcc -arch=sm_90 -std=c++17. ordinary ROUNDS
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define OK(call)                                                                                 \
  do {                                                                                           \
    if (const cudaError_t e = (call); e != cudaSuccess) {                                        \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(e)); \
      std::exit(1);                                                                              \
    }                                                                                            \
  } while (false)

constexpr int kN = 1 << 20;
__device__ unsigned long long total;

__device__ unsigned scrambled(unsigned v, int rounds) {
  for (int k = 0; k < rounds; ++k) v = v * 1664525u + 1013904223u;
  return v;
}

__global__ void fill(unsigned* p, unsigned seed, int rounds) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kN) return;
  p[i] = scrambled(i ^ seed, rounds);
}

// A block's sum by a tree; every third block leaves early.
__global__ void sum(const unsigned* p, unsigned* q, int rounds) {
  __shared__ unsigned own[256];
  if (blockIdx.x % 3 == 2) {
    if (threadIdx.x == 0) q[blockIdx.x] = blockIdx.x;
    return;
  }
  own[threadIdx.x] = scrambled(p[blockIdx.x * blockDim.x + threadIdx.x], rounds);
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) own[threadIdx.x] += own[threadIdx.x + half];
  }
  if (threadIdx.x == 0) q[blockIdx.x] += own[0];
}

__global__ void turn(const unsigned* p, unsigned* q, int width, int rounds) {
  extern __shared__ unsigned tile[];
  const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y, z = blockIdx.z;
  const unsigned* const from = p + z * width * width;
  tile[threadIdx.y * 17 + threadIdx.x] = scrambled(from[y * width + x], rounds);
  __syncthreads();
  q[z * width * width + (blockIdx.x * 16 + threadIdx.y) * width + blockIdx.y * 16 + threadIdx.x] +=
      tile[threadIdx.x * 17 + threadIdx.y];
}

__global__ void bins(const unsigned* p, unsigned* counts, int rounds) {
  __shared__ unsigned own[64];
  if (threadIdx.x < 64) own[threadIdx.x] = 0;
  __syncthreads();
  const unsigned v = scrambled(p[blockIdx.x * blockDim.x + threadIdx.x], rounds);
  atomicAdd(&own[v >> 26], 1u);
  __syncthreads();
  if (threadIdx.x < 64) atomicAdd(&counts[threadIdx.x], own[threadIdx.x]);
  if (threadIdx.x == 0) atomicAdd(&total, 1ULL);
}

__global__ void add(unsigned* p, unsigned k) { p[blockIdx.x * blockDim.x + threadIdx.x] += k; }

static unsigned hash(const unsigned* device, int n) {
  std::vector<unsigned> host(n);
  OK(cudaMemcpy(host.data(), device, n * 4, cudaMemcpyDeviceToHost));
  unsigned h = 2166136261u;
  for (const unsigned each : host) h = (h ^ each) * 16777619u;
  return h;
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 5;
  unsigned *p, *q, *r, *counts;
  OK(cudaMalloc(&p, kN * 4));
  OK(cudaMalloc(&q, kN * 4));
  OK(cudaMalloc(&r, kN * 4));
  OK(cudaMalloc(&counts, 256));
  cudaStream_t a, b, blocking;
  OK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
  OK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
  OK(cudaStreamCreate(&blocking));
  cudaEvent_t done, back;
  OK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  OK(cudaEventCreate(&back));
  OK(cudaFuncSetAttribute(turn, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024));
  cudaFuncAttributes facts;
  OK(cudaFuncGetAttributes(&facts, sum));
  int resident = 0;
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, sum, 256, 0));
  std::printf("sum: %zu bytes of shared memory, %d threads, %d blocks at once\n", facts.sharedSizeBytes,
              facts.maxThreadsPerBlock, resident);
  for (int round = 0; round < rounds; ++round) {
    OK(cudaMemset(q, 0, kN * 4));
    OK(cudaMemset(r, 0, kN * 4));
    OK(cudaMemset(counts, 0, 256));
    fill<<<kN / 256 + 3, 256, 0, a>>>(p, round, 20'000);
    OK(cudaEventRecord(done, a));
    OK(cudaStreamWaitEvent(b, done, 0));
    turn<<<dim3(16, 16, 16), dim3(16, 16), (round % 2 == 0 ? 17 * 16 * 4 : 60 * 1024), b>>>(p, r, 256,
                                                                                            20'000);
    sum<<<kN / 256, 256, 0, a>>>(p, q, 20'000);
    OK(cudaEventRecord(back, b));
    OK(cudaStreamWaitEvent(a, back, 0));
    bins<<<kN / 256, 256, 0, a>>>(r, counts, 20'000);
    OK(cudaStreamSynchronize(a));
    // Default and blocking streams wait for each other.
    bins<<<kN / 256, 256>>>(p, counts, 10'000);
    add<<<1, 64, 0, blocking>>>(counts, round);
    add<<<1, 64>>>(counts, 1);
    OK(cudaDeviceSynchronize());
    cudaGraph_t graph;
    cudaGraphExec_t again;
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    bins<<<kN / 256, 256, 0, a>>>(q, counts, 5'000);
    add<<<1, 64, 0, a>>>(counts, 3);
    OK(cudaStreamEndCapture(a, &graph));
    OK(cudaGraphInstantiate(&again, graph, 0));
    for (int k = 0; k < 3; ++k) OK(cudaGraphLaunch(again, a));
    unsigned* later;
    OK(cudaMallocAsync(&later, kN * 4, a));
    fill<<<kN / 256, 256, 0, a>>>(later, 77, 20'000);
    OK(cudaFreeAsync(later, a));
    OK(cudaStreamSynchronize(a));
    OK(cudaGraphExecDestroy(again));
    OK(cudaGraphDestroy(graph));
    std::printf("round %d: %08x %08x %08x %08x\n", round, hash(p, kN), hash(q, kN), hash(r, kN),
                hash(counts, 64));
  }
  unsigned long long blocks = 0;
  OK(cudaMemcpyFromSymbol(&blocks, total, sizeof blocks));
  std::printf("blocks of bins: %llu\n", blocks);
  return 0;
}
