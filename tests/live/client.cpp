// A program of the tests: uses the driver, knows nothing of Gangway. client WHAT [NUMBER]
#include <cuda.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "tests/standin/kernels/kernels.hpp"

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define HAS_RANGES
#endif

namespace {

void need(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::printf("%s: error %d\n", what, static_cast<int>(result));
  std::exit(3);
}
#define NEED(call) need(call, #call)

struct Gpu {
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction mix = nullptr, spin = nullptr, hold = nullptr;
  Gpu() {
    CUdevice device = 0;
    NEED(cuInit(0));
    NEED(cuDeviceGet(&device, 0));
    NEED(cuDevicePrimaryCtxRetain(&context, device));
    NEED(cuCtxSetCurrent(context));
    NEED(cuModuleLoadData(&module, gangway::standin::kernel_image));
    NEED(cuModuleGetFunction(&mix, module, "mix"));
    NEED(cuModuleGetFunction(&spin, module, "spin"));
    NEED(cuModuleGetFunction(&hold, module, "hold"));
  }
};

void launch(CUfunction function, CUstream stream, std::vector<void*> parameters) {
  NEED(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters.data(), nullptr));
}

CUstream new_stream() {
  CUstream stream = nullptr;
  NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  return stream;
}

// Jobs whose result says whether every kernel ran once and in order, each followed by a synchronisation.
int jobs(int count) {
  Gpu gpu;
  const CUstream stream = new_stream();
  CUdeviceptr word = 0;
  NEED(cuMemAlloc(&word, 4));
  std::uint32_t expected = 0, found = 0;
  for (int job = 0; job < count; ++job) {
    NEED(cuMemsetD32Async(word, 0, 1, stream));
    expected = 0;
    for (std::uint32_t k = 1; k <= 20; ++k) {
      std::uint64_t ns = 20'000;
      launch(gpu.spin, stream, {&ns});
      launch(gpu.mix, stream, {&word, &k});
      expected = expected * 31 + k;
    }
    NEED(cuMemcpyDtoHAsync(&found, word, 4, stream));
    NEED(cuStreamSynchronize(stream));
    if (found != expected) {
      std::printf("job %d: %u instead of %u\n", job, found, expected);
      return 1;
    }
  }
  std::printf("jobs %d %u\n", count, found);
  NEED(cuStreamDestroy(stream));
  return 0;
}

// So many jobs, and a kernel that does not end: `behind` it, so many others.
int endless(int count, int behind) {
  const int code = jobs(count);
  Gpu gpu;
  const CUstream stream = new_stream();
  std::uint64_t ns = 3'600'000'000'000, short_ns = 1'000;
  launch(gpu.spin, stream, {&ns});
  for (int k = 0; k < behind; ++k) launch(gpu.spin, stream, {&short_ns});
  NEED(cuStreamSynchronize(stream));
  return code;
}

// Captures in global mode, whose work must run as often as the graph is launched.
int captures(int count) {
  Gpu gpu;
  const CUstream stream = new_stream();
  CUdeviceptr word = 0;
  NEED(cuMemAlloc(&word, 4));
  for (int round = 0; round < count; ++round) {
    CUgraph graph = nullptr;
    CUgraphExec executable = nullptr;
    NEED(cuMemsetD32Async(word, 0, 1, stream));
    NEED(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    std::uint32_t expected = 0, found = 0;
    for (std::uint32_t k = 1; k <= 10; ++k) {
      launch(gpu.mix, stream, {&word, &k});
      std::this_thread::sleep_for(std::chrono::microseconds(200));  // so that captures are often interrupted
    }
    NEED(cuStreamEndCapture(stream, &graph));
    NEED(cuGraphInstantiate(&executable, graph, 0));
    for (int i = 0; i < 2; ++i) {
      NEED(cuGraphLaunch(executable, stream));
      for (std::uint32_t k = 1; k <= 10; ++k) expected = expected * 31 + k;
    }
    NEED(cuMemcpyDtoHAsync(&found, word, 4, stream));
    NEED(cuStreamSynchronize(stream));
    NEED(cuGraphExecDestroy(executable));
    NEED(cuGraphDestroy(graph));
    if (found != expected) {
      std::printf("round %d: %u instead of %u\n", round, found, expected);
      return 1;
    }
  }
  std::printf("captures %d\n", count);
  return 0;
}

// Captures that end with their stream, or the whole context, then jobs in the legacy stream.
int abandons(int count) {
  Gpu gpu;
  NEED(cuStreamBeginCapture(new_stream(), CU_STREAM_CAPTURE_MODE_RELAXED));
  NEED(cuDevicePrimaryCtxReset(0));
  Gpu again;
  const CUstream stream = new_stream();
  NEED(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  NEED(cuStreamDestroy(stream));
  CUdeviceptr word = 0;
  CUevent event = nullptr;
  NEED(cuMemAlloc(&word, 4));
  NEED(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  for (int job = 0; job < count; ++job) {
    NEED(cuMemsetD32Async(word, 0, 1, nullptr));
    NEED(cuEventRecord(event, nullptr));
    NEED(cuEventSynchronize(event));
  }
  std::printf("abandons %d\n", count);
  return 0;
}

// A host function that ends when a thread of the program has submitted something.
int callback(int count) {
  Gpu gpu;
  const CUstream stream = new_stream(), other = new_stream();
  for (int round = 0; round < count; ++round) {
    static std::atomic<bool> submitted;
    submitted = false;
    std::uint64_t ns = 1000;
    NEED(cuLaunchHostFunc(
        stream,
        [](void*) {
          while (!submitted) std::this_thread::yield();
        },
        nullptr));
    std::this_thread::sleep_for(std::chrono::milliseconds(30));  // time to be revoked
    launch(gpu.spin, other, {&ns});
    submitted = true;
    NEED(cuStreamSynchronize(stream));
    NEED(cuStreamSynchronize(other));
  }
  std::printf("callback %d\n", count);
  return 0;
}

// Short jobs with pauses until the file that is named exists.
int until(const char* file) {
  Gpu gpu;
  const CUstream stream = new_stream();
  int done = 0;
  for (; access(file, F_OK) != 0; ++done) {
    std::uint64_t ns = 50'000;
    launch(gpu.spin, stream, {&ns});
    NEED(cuStreamSynchronize(stream));
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
  }
  std::printf("until: %s\n", done > 0 ? "worked" : "nothing");
  return 0;
}

// Requests the functions that are named (NAME, or NAME@VERSION for that of an older CUDA), twice, and says
// which the driver has; then so many jobs.
int requests(int names, char** name, int count) {
  NEED(cuInit(0));
  for (int i = 0; i < 2 * names; ++i) {
    void* function = nullptr;
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    const std::string asked = name[i % names];
    const std::size_t at = asked.find('@');
    const int version = at == std::string::npos ? 13000 : std::atoi(asked.c_str() + at + 1);
    cuGetProcAddress(asked.substr(0, at).c_str(), &function, version, CU_GET_PROC_ADDRESS_DEFAULT, &status);
    if (i < names) std::printf("%s: %s\n", asked.c_str(), function != nullptr ? "found" : "not found");
  }
  std::fflush(stdout);
  return jobs(count);
}

// As many streams as it gets, up to `count`; some are destroyed and made again.
int hoards(int count) {
  Gpu gpu;
  std::vector<CUstream> streams;
  CUresult failed = CUDA_SUCCESS;
  while (static_cast<int>(streams.size()) < count) {
    CUstream stream = nullptr;
    failed = cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    if (failed != CUDA_SUCCESS) break;
    streams.push_back(stream);
  }
  std::uint64_t ns = 1000;
  for (const CUstream stream : streams) {
    launch(gpu.spin, stream, {&ns});
    NEED(cuStreamSynchronize(stream));
  }
  for (int again = 0; again < 100 && !streams.empty(); ++again) {
    NEED(cuStreamDestroy(streams.back()));
    NEED(cuStreamCreate(&streams.back(), CU_STREAM_DEFAULT));
  }
  std::printf("hoards %zu, then %d\n", streams.size(), static_cast<int>(failed));
  std::fflush(stdout);
  launch(gpu.spin, nullptr, {&ns});
  NEED(cuCtxSynchronize());
  if (count == 7) std::this_thread::sleep_for(std::chrono::seconds(2));  // it keeps them for a while
  return 0;
}

// Jobs of so many kernels of `us` each; `end`: how it ends after them.
int loop(int kernels, int us, int count, const char* end) {
  Gpu gpu;
  const CUstream stream = new_stream();
  for (int job = 0; job < count; ++job) {
    for (int k = 0; k < kernels; ++k) {
      std::uint64_t ns = static_cast<std::uint64_t>(us) * 1000;
      launch(gpu.spin, stream, {&ns});
    }
    NEED(cuStreamSynchronize(stream));
  }
  std::printf("loop %d\n", count);
  std::fflush(stdout);
  if (std::strcmp(end, "crash") == 0) std::abort();
  if (std::strcmp(end, "hang") == 0) {
    std::uint64_t ns = 1000;
    launch(gpu.spin, stream, {&ns});
    for (;;) pause();  // the job never ends
  }
  return 0;
}

#ifdef HAS_RANGES
// Much that is waited for at once, then jobs in NVTX ranges: two kernels of 300 us, with a wait between them.
int ranges(int count, const char* how) {
  Gpu gpu;
  const CUstream stream = new_stream();
  const auto work = [&](std::uint64_t ns) {
    launch(gpu.spin, stream, {&ns});
    NEED(cuStreamSynchronize(stream));
  };
  for (int load = 0; load < 50; ++load) work(10'000);
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("Service");
  const nvtxStringHandle_t name = nvtxDomainRegisterStringA(domain, "job");
  nvtxEventAttributes_t event{};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  event.message.registered = name;
  for (int job = 0; job < count; ++job) {
    nvtxRangeId_t id = 0;
    if (std::strcmp(how, "domain") == 0)
      nvtxDomainRangePushEx(domain, &event);
    else if (std::strcmp(how, "start") == 0)
      id = nvtxRangeStartW(L"job");
    else
      nvtxRangePushA("job");
    nvtxRangePushA("inner");
    work(300'000);
    nvtxRangePop();
    work(300'000);
    if (std::strcmp(how, "domain") == 0)
      nvtxDomainRangePop(domain);
    else if (std::strcmp(how, "start") == 0)
      nvtxRangeEnd(id);
    else
      nvtxRangePop();
    work(5'000);  // outside
  }
  std::printf("ranges %d\n", count);
  return 0;
}
#endif

// The gate in a child of a process that has one.
int forks() {
  const pid_t child = fork();
  if (child == 0) return jobs(2);
  return jobs(2);
}

}  // namespace

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "jobs";
  const int number = argc > 2 ? std::atoi(argv[2]) : 10;
  if (std::strcmp(what, "jobs") == 0) return jobs(number);
  if (std::strcmp(what, "endless") == 0) return endless(number, argc > 3 ? std::atoi(argv[3]) : 0);
  if (std::strcmp(what, "captures") == 0) return captures(number);
  if (std::strcmp(what, "abandons") == 0) return abandons(number);
  if (std::strcmp(what, "callback") == 0) return callback(number);
  if (std::strcmp(what, "until") == 0) return until(argv[2]);
  if (std::strcmp(what, "forks") == 0) return forks();
  if (std::strcmp(what, "hoards") == 0) return hoards(number);
  if (std::strcmp(what, "requests") == 0 && argc > 3) return requests(argc - 3, argv + 3, number);
  if (std::strcmp(what, "loop") == 0 && argc > 4)
    return loop(number, std::atoi(argv[3]), std::atoi(argv[4]), argc > 5 ? argv[5] : "");
#ifdef HAS_RANGES
  if (std::strcmp(what, "ranges") == 0) return ranges(number, argc > 3 ? argv[3] : "");
#endif
  return 2;
}
