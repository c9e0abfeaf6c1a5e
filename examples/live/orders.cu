// How soon a kernel leaves that looks at a flag between its block-tasks of 10 us, in a bare process: for each
// way to order it and to learn of it, us from the order until the call has returned, and from then until the
// host knows. Before that, the cost of looks at the host, for kernels that run to their end.
// nvcc -arch=sm_90 -std=c++20 -lcuda
#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <vector>

#define OK(call)                                                                                     \
  do {                                                                                               \
    if (const auto e = (call); e != 0) {                                                             \
      std::fprintf(stderr, "%s:%d: %s: error %d\n", __FILE__, __LINE__, #call, static_cast<int>(e)); \
      std::exit(1);                                                                                  \
    }                                                                                                \
  } while (false)

constexpr unsigned kBlocks = 1056;  // persistent ones: eight on each of 132 SMs
constexpr unsigned kWords = 3;

struct Host {  // written by one side, read by the other
  alignas(64) unsigned report, order, wanted;
};

// word[0]: block-tasks claimed; word[1]: the flag; word[2]: blocks that have left. The last of them reports
// if `to` is given. `most`: block-tasks. With `order`, who claims a multiple of `every` looks at that word.
__global__ void tasks(unsigned* word, long long cycles, unsigned most, volatile unsigned* to,
                      const volatile unsigned* order, unsigned number, unsigned every) {
  __shared__ bool goes_on;
  for (;;) {
    if (threadIdx.x == 0) {
      const unsigned claimed = atomicAdd(word, 1);
      if (order != nullptr && (claimed & (every - 1)) == 0 && static_cast<int>(*order - number) >= 0)
        *static_cast<volatile unsigned*>(word + 1) = 1;
      goes_on = claimed < most && *static_cast<volatile unsigned*>(word + 1) == 0;
    }
    __syncthreads();
    if (!goes_on) break;
    const long long start = clock64();
    while (clock64() - start < cycles) {
    }
    __syncthreads();
  }
  if (to == nullptr || threadIdx.x != 0) return;
  __threadfence();
  if (atomicAdd(word + 2, 1) == gridDim.x - 1) *to = *static_cast<volatile unsigned*>(word);
}

// Raises the flag once the host has written that number.
__global__ void watch(const volatile unsigned* order, unsigned number, volatile unsigned* flag) {
  while (static_cast<int>(*order - number) < 0) {
  }
  *flag = 1;
}

__global__ void report(const unsigned* word, volatile unsigned* to) {
  *to = *static_cast<const volatile unsigned*>(word);
}

static double now() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}
static void set(unsigned& word, unsigned value) {
  std::atomic_ref<unsigned>(word).store(value, std::memory_order_release);
}
static unsigned get(unsigned& word) {
  return std::atomic_ref<unsigned>(word).load(std::memory_order_acquire);
}
static double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

enum Order { written, waits_to_be_written, watched, looked_at, kOrders };
enum Learn { by_event, by_report_behind, by_report_then, by_report_that_waits, by_last_block, kLearns };
constexpr const char* kOrder[] = {"a write", "a write that waits on the device",
                                  "a block that watches the host",
                                  "claims of which one in 128 looks at the host"};
constexpr const char* kLearn[] = {"event", "report behind the kernel", "event, then a report",
                                  "event, then a report that waits on the device",
                                  "report of the last block"};
constexpr unsigned kEvery = 128;

// What looks at the host cost kernels that run to their end: the least of some times of each, in turns.
static void cost_of_looks(unsigned* word, const volatile unsigned* order, int khz) {
  cudaEvent_t begin, end;
  OK(cudaEventCreate(&begin));
  OK(cudaEventCreate(&end));
  for (const double us : {1.0, 3.0, 10.0, 30.0})
    for (const unsigned blocks : {kBlocks, kBlocks / 8}) {
      const unsigned most = static_cast<unsigned>(blocks * 3000 / us);
      constexpr unsigned kTried[] = {0, 4096, 1024, 512, 256, 128, 64, 32};
      constexpr std::size_t kTries = std::size(kTried);
      std::vector<double> least(kTries, 1e30);
      for (int round = 0; round < 12; ++round)
        for (std::size_t t = 0; t < kTries; ++t) {
          OK(cudaMemset(word, 0, kWords * sizeof(unsigned)));
          OK(cudaEventRecord(begin));
          tasks<<<blocks, 256>>>(word, static_cast<long long>(khz / 1000 * us), most, nullptr,
                                 kTried[t] == 0 ? nullptr : order, 1u << 30, kTried[t]);
          OK(cudaEventRecord(end));
          OK(cudaEventSynchronize(end));
          float ms = 0;
          OK(cudaEventElapsedTime(&ms, begin, end));
          least[t] = std::min(least[t], static_cast<double>(ms));
        }
      std::printf("%g us, %u blocks: %.3f ms without looks; times", us, blocks, least[0]);
      for (std::size_t t = 1; t < kTries; ++t) std::printf(" %.4f (1 in %u)", least[t] / least[0], kTried[t]);
      std::printf("\n");
    }
}

int main(int argc, char** argv) {
  const double wait_us = argc > 1 ? std::atof(argv[1]) : 5000;  // from the launch to the order
  constexpr int kTrials = 200;
  constexpr unsigned kNone = UINT32_MAX;
  int lowest, highest, khz;
  OK(cudaFree(nullptr));
  OK(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
  OK(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0));
  cudaStream_t work, own, ordering, reporting;
  for (cudaStream_t* each : {&work, &own, &ordering, &reporting})
    OK(cudaStreamCreateWithPriority(each, cudaStreamNonBlocking, highest));
  cudaEvent_t gone;
  OK(cudaEventCreateWithFlags(&gone, cudaEventDisableTiming));
  unsigned* word;
  Host *host, *of_device;
  OK(cudaMalloc(&word, kWords * sizeof(unsigned)));
  OK(cudaHostAlloc(reinterpret_cast<void**>(&host), sizeof(Host), cudaHostAllocMapped));
  OK(cudaHostGetDevicePointer(reinterpret_cast<void**>(&of_device), host, 0));
  *host = {};
  const auto flag = reinterpret_cast<CUdeviceptr>(word + 1);
  const auto address = [](unsigned* of) { return reinterpret_cast<CUdeviceptr>(of); };
  unsigned orders = 0, reports = 0;
  // A kernel is loaded at its first launch, which can wait for all that runs.
  report<<<1, 1, 0, reporting>>>(word, &of_device->report);
  OK(cudaDeviceSynchronize());
  cost_of_looks(word, &of_device->order, khz);

  for (int order = 0; order < kOrders; ++order)
    for (int learn = 0; learn < kLearns; ++learn) {
      std::vector<double> told, left;
      for (int trial = 0; trial < kTrials; ++trial) {
        OK(cudaMemsetAsync(word, 0, kWords * sizeof(unsigned), own));
        OK(cudaStreamSynchronize(own));
        set(host->report, kNone);
        if (order == watched) watch<<<1, 1, 0, ordering>>>(&of_device->order, ++orders, word + 1);
        if (order == looked_at) ++orders;
        tasks<<<kBlocks, 256, 0, work>>>(word, khz / 100, UINT32_MAX,
                                         learn == by_last_block ? &of_device->report : nullptr,
                                         order == looked_at ? &of_device->order : nullptr, orders, kEvery);
        if (learn == by_report_behind)
          report<<<1, 1, 0, work>>>(word, &of_device->report);
        else
          OK(cudaEventRecord(gone, work));
        if (order == waits_to_be_written) {
          OK(cuStreamWaitValue32(ordering, address(&of_device->order), ++orders, CU_STREAM_WAIT_VALUE_GEQ));
          OK(cuStreamWriteValue32(ordering, flag, 1, 0));
        }
        for (const double end = now() + wait_us + trial * 0.37; now() < end;) {
        }
        const double ordered = now();
        if (order == written)
          OK(cuStreamWriteValue32(own, flag, 1, 0));
        else
          set(host->order, orders);
        const double returned = now();
        if (learn == by_report_that_waits) {
          OK(cuStreamWaitValue32(reporting, address(&of_device->wanted), ++reports,
                                 CU_STREAM_WAIT_VALUE_GEQ));
          report<<<1, 1, 0, reporting>>>(word, &of_device->report);
        }
        while (learn != by_report_behind && learn != by_last_block &&
               cudaEventQuery(gone) == cudaErrorNotReady) {
        }
        if (learn == by_report_then) report<<<1, 1, 0, reporting>>>(word, &of_device->report);
        if (learn == by_report_that_waits) set(host->wanted, reports);
        while (learn != by_event && get(host->report) == kNone) {
        }
        told.push_back(returned - ordered);
        left.push_back(now() - returned);
        OK(cudaDeviceSynchronize());
      }
      std::printf("%s; %s: told %.1f (p99 %.1f), left %.1f (p99 %.1f) us\n", kOrder[order], kLearn[learn],
                  quantile(told, .5), quantile(told, .99), quantile(left, .5), quantile(left, .99));
    }
  return 0;
}
