// A client with long kernels for the experiments with evictions, compiled as programs usually are (nvcc
// -arch=sm_90 -std=c++17: machine code and PTX). long_kernels KIND SECONDS BLOCK_US KERNEL_MS [FILE]
//   spin: kernels of KERNEL_MS whose blocks take BLOCK_US each, until SECONDS are over or FILE is there.
//     Every word is checked
//   work: likewise, with blocks that compute instead of waiting for the clock
//   tiny: kernels of one block at random moments, BLOCK_US apart on average; prints how long each took, with
//     its launch and the wait for it
//   cost: one kernel of each sort again and again; prints the median time of a launch for each
#include <cuda_runtime.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#define OK(call)                                                                                 \
  do {                                                                                           \
    if (const cudaError_t e = (call); e != cudaSuccess) {                                        \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(e)); \
      std::exit(1);                                                                              \
    }                                                                                            \
  } while (false)

// Waits on the SM's own clock: while all blocks of a device read the global timer, a read takes microseconds.
__global__ void spin(unsigned* p, long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) {
  }
  if (threadIdx.x == 0) p[blockIdx.x] += 1;
}

// Arithmetic, which takes longer for each block the more there are, unlike what waits for the clock.
__global__ void work(unsigned* p, int steps) {
  float v = static_cast<float>(threadIdx.x);
  for (int k = 0; k < steps; ++k) v = fmaf(v, 0.999f, 0.5f);
  if (threadIdx.x == 0) p[blockIdx.x] += v < 0 ? 2 : 1;
}

__global__ void count_cycles(long long* cycles, long long ns) {
  const long long first = clock64();
  long long start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  while (now - start < ns);
  *cycles = clock64() - first;
}

__global__ void add(const float* a, const float* b, float* c, int n, int a_block) {
  const int first = blockIdx.x * a_block * blockDim.x + threadIdx.x;
  for (int k = 0; k < a_block; ++k)
    if (const int i = first + k * blockDim.x; i < n) c[i] = a[i] + b[i];
}

template <int W>
__global__ void product(const float* a, const float* b, float* c, int n) {
  __shared__ float x[W][W], y[W][W];
  const int row = blockIdx.y * W + threadIdx.y, column = blockIdx.x * W + threadIdx.x;
  float sum = 0;
  for (int t = 0; t < n; t += W) {
    x[threadIdx.y][threadIdx.x] = a[row * n + t + threadIdx.x];
    y[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + column];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < W; ++k) sum += x[threadIdx.y][k] * y[k][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

__global__ void count(const unsigned* p, unsigned* bins, int n) {
  __shared__ unsigned own[256];
  own[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * 8192 + threadIdx.x; i < n && i < (blockIdx.x + 1) * 8192; i += blockDim.x)
    atomicAdd(&own[p[i] & 255], 1u);
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

__global__ void smooth(const float* p, float* q, int n) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1) return;
  float v = p[y * n + x];
  for (int k = 0; k < 8; ++k)
    v = 0.2f * (v + p[y * n + x - 1] + p[y * n + x + 1] + p[(y - 1) * n + x] + p[(y + 1) * n + x]);
  q[y * n + x] = v;
}

static double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Of an SM behind a load, so that its clock is not an idle one's.
static double cycles_a_us() {
  unsigned* p;
  long long *count, cycles;
  OK(cudaMalloc(&p, 1056 * 4));
  OK(cudaMalloc(&count, 8));
  spin<<<1056, 256>>>(p, 100'000'000);
  count_cycles<<<1, 1>>>(count, 20'000'000);
  OK(cudaMemcpy(&cycles, count, 8, cudaMemcpyDeviceToHost));
  OK(cudaFree(p));
  OK(cudaFree(count));
  return static_cast<double>(cycles) / 20'000;
}

// With as many blocks as the GPU holds, each of these threads.
static double steps_a_us(unsigned resident) {
  unsigned* p;
  OK(cudaMalloc(&p, resident * 4));
  cudaEvent_t begin, end;
  OK(cudaEventCreate(&begin));
  OK(cudaEventCreate(&end));
  constexpr int kSteps = 1 << 22;  // long enough for the clock to rise
  float ms = 0;
  for (int time = 0; time < 4; ++time) {
    OK(cudaEventRecord(begin));
    work<<<resident, 256>>>(p, kSteps);
    OK(cudaEventRecord(end));
    OK(cudaEventSynchronize(end));
    OK(cudaEventElapsedTime(&ms, begin, end));
  }
  OK(cudaFree(p));
  return kSteps / (ms * 1e3);
}

static int long_kernels(const char* kind, double seconds, double block_us, double kernel_ms,
                        const char* file) {
  cudaDeviceProp facts;
  OK(cudaGetDeviceProperties(&facts, 0));
  const bool works = std::strcmp(kind, "work") == 0;
  const unsigned resident = static_cast<unsigned>(facts.multiProcessorCount) * 8;
  const auto cycles = works ? 0 : static_cast<long long>(block_us * cycles_a_us());
  const int steps = works ? static_cast<int>(block_us * steps_a_us(resident)) : 0;
  const auto blocks = static_cast<unsigned>(std::max(1.0, resident * kernel_ms * 1000 / block_us));
  unsigned* p;
  OK(cudaMalloc(&p, blocks * 4));
  OK(cudaMemset(p, 0, blocks * 4));
  cudaStream_t s;
  OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  unsigned launches = 0;
  const double begin = now();
  while (now() - begin < seconds && (file == nullptr || access(file, F_OK) != 0)) {
    if (works)
      work<<<blocks, 256, 0, s>>>(p, steps);
    else
      spin<<<blocks, 256, 0, s>>>(p, cycles);
    OK(cudaStreamSynchronize(s));
    ++launches;
  }
  const double took = now() - begin;
  std::vector<unsigned> out(blocks);
  OK(cudaMemcpy(out.data(), p, blocks * 4, cudaMemcpyDeviceToHost));
  unsigned wrong = 0;
  for (const unsigned each : out) wrong += each != launches;
  std::printf("%s: %u kernels of %u blocks, %u wrong words, %.3f ms each\n", kind, launches, blocks, wrong,
              took * 1000 / std::max(1u, launches));
  return wrong == 0 ? 0 : 1;
}

template <typename Launch>
static void cost(const char* name, double seconds, const Launch& launch) {
  cudaStream_t s;
  OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  std::vector<double> took;
  for (int k = 0; k < 8; ++k) launch(s);
  OK(cudaStreamSynchronize(s));
  // Ten at once, so that what stands behind a kernel counts and the thread's time does not.
  for (const double begin = now(); now() - begin < seconds || took.size() < 7;) {
    const double before = now();
    for (int k = 0; k < 10; ++k) launch(s);
    OK(cudaStreamSynchronize(s));
    took.push_back((now() - before) * 1e6 / 10);
  }
  std::sort(took.begin(), took.end());
  std::printf("cost %s %.3f us\n", name, took[took.size() / 2]);
}

static int costs(double seconds) {
  const int n = 4096, words = 1 << 26;
  float *a, *b, *c;
  unsigned* bins;
  OK(cudaMalloc(&a, words * 4));
  OK(cudaMalloc(&b, words * 4));
  OK(cudaMalloc(&c, words * 4));
  OK(cudaMalloc(&bins, 1024));
  OK(cudaMemset(a, 0, words * 4));
  OK(cudaMemset(b, 0, words * 4));
  for (const int a_block : {4, 16, 64})
    cost(a_block == 4    ? "add-4"
         : a_block == 16 ? "add-16"
                         : "add-64",
         seconds,
         [&](cudaStream_t s) { add<<<words / (256 * a_block), 256, 0, s>>>(a, b, c, words, a_block); });
  cost("product-16", seconds,
       [&](cudaStream_t s) { product<16><<<dim3(n / 32, n / 32), dim3(16, 16), 0, s>>>(a, b, c, n / 2); });
  cost("product-32", seconds,
       [&](cudaStream_t s) { product<32><<<dim3(n / 64, n / 64), dim3(32, 32), 0, s>>>(a, b, c, n / 2); });
  cost("count", seconds, [&](cudaStream_t s) {
    count<<<words / 8192, 256, 0, s>>>(reinterpret_cast<unsigned*>(a), bins, words);
  });
  cost("smooth", seconds,
       [&](cudaStream_t s) { smooth<<<dim3(8192 / 32, 8192 / 8), dim3(32, 8), 0, s>>>(a, c, 8192); });
  unsigned* p = reinterpret_cast<unsigned*>(c);
  const auto cycles = static_cast<long long>(20 * cycles_a_us());
  cost("spin-20us-2ms", seconds, [&](cudaStream_t s) { spin<<<132 * 8 * 100, 256, 0, s>>>(p, cycles); });
  const int steps = static_cast<int>(20 * steps_a_us(132 * 8));
  cost("work-20us-2ms", seconds, [&](cudaStream_t s) { work<<<132 * 8 * 100, 256, 0, s>>>(p, steps); });
  return 0;
}

static int tiny(double seconds, double gap_us) {
  unsigned* p;
  OK(cudaMalloc(&p, 4));
  cudaStream_t s;
  OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  std::vector<double> took;
  std::mt19937 random(11);
  std::exponential_distribution<double> wait(1 / gap_us);
  for (const double begin = now(); now() - begin < seconds;) {
    std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(wait(random)));
    const double before = now();
    spin<<<1, 32, 0, s>>>(p, 0);
    OK(cudaStreamSynchronize(s));
    took.push_back((now() - before) * 1e6);
  }
  std::sort(took.begin(), took.end());
  std::printf("tiny: %zu kernels, us: p50 %.1f p90 %.1f p99 %.1f most %.1f\n", took.size(),
              took[took.size() / 2], took[took.size() * 9 / 10], took[took.size() * 99 / 100], took.back());
  return 0;
}

int main(int argc, char** argv) {
  const char* kind = argc > 1 ? argv[1] : "spin";
  const double seconds = argc > 2 ? std::atof(argv[2]) : 2;
  if (std::strcmp(kind, "cost") == 0) return costs(seconds);
  if (std::strcmp(kind, "tiny") == 0) return tiny(seconds, argc > 3 ? std::atof(argv[3]) : 20'000);
  return long_kernels(kind, seconds, argc > 3 ? std::atof(argv[3]) : 10, argc > 4 ? std::atof(argv[4]) : 50,
                      argc > 5 ? argv[5] : nullptr);
}
