// A program to be recorded without a GPU: it loads the injected library as the driver does, and tells the
// tests' CUPTI what it "did". recorded WHAT
//
// A job is three kernels of 10 us on one stream and a call that waits for them.
#include <cuda.h>
#include <cupti.h>
#include <dlfcn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <thread>

namespace {

using Happened = void (*)(const void*, std::size_t);
Happened happened = nullptr;
using Called = void (*)(CUpti_CallbackDomain, CUpti_CallbackId, std::uint32_t, std::uint64_t, std::uint64_t*,
                        const std::uint32_t*);
Called called = nullptr;
constexpr CUpti_CallbackDomain kDriver = CUPTI_CB_DOMAIN_DRIVER_API, kRuntime = CUPTI_CB_DOMAIN_RUNTIME_API;
std::uint32_t correlation = 0;
std::uint64_t at = 0;

void* library(const char* variable) {
  const char* path = std::getenv(variable);
  return path != nullptr ? dlopen(path, RTLD_NOW) : nullptr;
}

// cuInit().
void initialise() {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  at = static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_nsec);
  void* injected = library("CUDA_INJECTION64_PATH");
  if (injected == nullptr) return;
  reinterpret_cast<int (*)()>(dlsym(injected, "InitializeInjection"))();
  if (void* cupti = library("GANGWAY_SPOOL_CUPTI")) {
    happened = reinterpret_cast<Happened>(dlsym(cupti, "tests_happened"));
    called = reinterpret_cast<Called>(dlsym(cupti, "tests_called"));
  }
  if (happened == nullptr) return;
  CUpti_ActivityDevice5 device{};
  device.kind = CUPTI_ACTIVITY_KIND_DEVICE;
  device.name = "A GPU of the tests'";
  device.numMultiprocessors = 4;
  happened(&device, sizeof device);
}

void call(CUpti_CallbackDomain domain, CUpti_CallbackId id, std::uint64_t length, std::uint32_t result = 0) {
  if (called == nullptr) return;
  std::uint64_t data = 0;
  called(domain, id, ++correlation, at, &data, nullptr);
  at += length;
  called(domain, id, correlation, at, &data, &result);
}

// The runtime launches by way of the driver, whose call has the same correlation as its own or the next.
void launch_within(bool same) {
  if (called == nullptr) return;
  const std::uint32_t runtime = ++correlation, driver = same ? runtime : ++correlation, success = 0;
  std::uint64_t data = 0, inner = 0;
  called(kRuntime, 1, runtime, at, &data, nullptr);
  called(kDriver, 2, driver, at + 500, &inner, nullptr);
  called(kDriver, 2, driver, at + 1'500, &inner, &success);
  at += 2'000;
  called(kRuntime, 1, runtime, at, &data, &success);
}

void kernel(std::uint64_t start, std::uint32_t graph = 0, std::uint64_t node = 0) {
  if (happened == nullptr) return;
  CUpti_ActivityKernel10 k{};
  k.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  k.start = start;
  k.end = start + 10'000;
  k.contextId = 1;
  k.streamId = 13;
  k.correlationId = correlation;
  k.gridX = k.gridY = k.gridZ = k.blockX = k.blockY = k.blockZ = 1;
  k.registersPerThread = 16;
  k.graphId = graph;
  k.graphNodeId = node;
  k.name = "_Z4stepPfi";
  happened(&k, sizeof k);
}

void marker(std::uint32_t id, bool ends) {
  if (happened == nullptr) return;
  CUpti_ActivityMarker2 m{};
  m.kind = CUPTI_ACTIVITY_KIND_MARKER;
  m.flags = ends ? CUPTI_ACTIVITY_FLAG_MARKER_END : CUPTI_ACTIVITY_FLAG_MARKER_START;
  m.timestamp = at;
  m.id = id;
  m.objectId.pt.processId = static_cast<std::uint32_t>(getpid());
  m.objectId.pt.threadId = static_cast<std::uint32_t>(syscall(SYS_gettid));
  m.name = ends ? nullptr : "step";
  happened(&m, sizeof m);
}

void synchronise() {
  call(kRuntime, 2, 40'000);
  if (happened == nullptr) return;
  CUpti_ActivitySynchronization2 s{};
  s.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  s.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE;
  s.correlationId = correlation;
  s.contextId = 1;
  s.streamId = 13;
  happened(&s, sizeof s);
}

void jobs(int count) {
  static std::uint32_t range = 0;
  for (int j = 0; j < count; ++j) {
    marker(++range, false);
    const std::uint64_t begin = at;
    for (std::uint64_t k = 0; k < 3; ++k) {
      call(kRuntime, 1, 2'000);
      kernel(begin + 5'000 + 10'000 * k);
      call(kDriver, 3, 100, CUDA_ERROR_NOT_READY);  // is not kept
    }
    synchronise();
    marker(range, true);
    at += 10'000;
  }
}

// The host takes its time for each launch.
void slow_launches(int count) {
  for (int k = 0; k < count; ++k) {
    at += 30'000;
    call(kRuntime, 1, 2'000);
    kernel(at + 1'000);
  }
  synchronise();
}

void launches_within_calls() {
  for (std::uint64_t k = 0; k < 4; ++k) {
    launch_within(k % 2 == 0);
    kernel(at + 10'000 * k);
  }
  synchronise();
}

// Each by a thread that is gone before the next one comes.
void threads(int count) {
  for (int t = 0; t < count; ++t) std::thread([] { jobs(1); }).join();
}

void graphs(int count) {
  const char* mode = std::getenv("GANGWAY_SPOOL_EXTENT");
  const bool nodes = mode != nullptr && std::string(mode) == "graph nodes";
  for (int g = 0; g < count; ++g) {
    const std::uint64_t begin = at + 5'000;
    call(kRuntime, 3, 4'000);
    if (nodes) {
      kernel(begin, 3, 100);
      kernel(begin + 12'000, 3, 101);
    } else if (happened != nullptr) {
      CUpti_ActivityGraphTrace2 trace{};
      trace.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
      trace.correlationId = correlation;
      trace.start = begin;
      trace.end = begin + 22'000;
      trace.graphId = 2;
      trace.contextId = 1;
      trace.streamId = 13;
      happened(&trace, sizeof trace);
    }
    synchronise();
  }
}

// Until what was done so far was handed over: the library asks for it from time to time.
void pause_for_a_flush() { usleep(400'000); }

// To the driver that the loader finds, if there is one.
template <typename... A>
int driver_call(const char* name, A... arguments) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  void* const symbol = driver != nullptr ? dlsym(driver, name) : nullptr;
  return symbol != nullptr ? reinterpret_cast<int (*)(A...)>(symbol)(arguments...) : -1;
}

// Jobs that a gate sees: a memset, and a call that waits for it. All take 4 ms, the first three (warm-up) 30
// ms.
void jobs_for_real(int count) {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CUdeviceptr words = 0;
  if (driver_call("cuInit", 0u) != 0) return;
  driver_call("cuDevicePrimaryCtxRetain", &context, 0);
  driver_call("cuCtxSetCurrent", context);
  driver_call("cuMemAlloc_v2", &words, std::size_t{1024});
  driver_call("cuStreamCreate", &stream, static_cast<unsigned>(CU_STREAM_NON_BLOCKING));
  for (int job = 0; job < count; ++job) {
    driver_call("cuMemsetD32Async", words, 1u, std::size_t{256}, stream);
    usleep(job < 3 ? 30'000 : 4'000);
    driver_call("cuStreamSynchronize", stream);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "jobs";
  std::puts("output of the program");
  std::fflush(stdout);
  if (what == "none") return 0;
  if (what == "fork-first" && fork() == 0) {
    initialise();
    jobs(2);
    return 0;
  }
  initialise();
  if (what == "nothing") return 0;
  if (what == "graphs") return graphs(5), 0;
  if (what == "threads") return threads(20), 0;
  if (what == "slow-host") return slow_launches(10), 0;
  if (what == "within") return launches_within_calls(), 0;
  jobs(5);
  if (what == "jobs-for-real") jobs_for_real(5);
  if (what == "fewer-for-real") jobs_for_real(4);
  if (what == "fail") return 3;
  if (what == "fork-first") {
    while (wait(nullptr) > 0) {
    }
  }
  if (what == "fork") {
    if (fork() == 0) std::exit(0);  // runs the exit handlers that it got from its parent
    if (fork() == 0) execl(argv[0], argv[0], "jobs", nullptr);
    while (wait(nullptr) > 0) {
    }
    jobs(1);
  }
  if (what == "crash") {
    pause_for_a_flush();
    std::abort();
  }
  if (what == "leave") {
    pause_for_a_flush();
    _exit(0);
  }
  if (what == "wait") {
    pause_for_a_flush();
    std::puts("ready");
    std::fflush(stdout);
    for (;;) pause();
  }
  return 0;
}
