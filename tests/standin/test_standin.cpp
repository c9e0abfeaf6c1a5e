// What the stand-in has beyond a driver: its variables, counters and observer. Each case is a process of its
// own, since the variables are read once.
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/standin/kernels/kernels.hpp"
#include "tests/standin/standin.h"

namespace {

using Word = std::uint32_t;

void check(bool holds, const char* what, int line) {
  if (holds) return;
  std::fprintf(stderr, "test_standin.cpp:%d: %s\n", line, what);
  _exit(1);
}
#define CHECK(condition) check(condition, #condition, __LINE__)
#define OK(call) check((call) == CUDA_SUCCESS, #call, __LINE__)

constexpr char own_image[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry alone(.param .u64 page) { ret; }
)";

struct Gpu {
  CUfunction mix = nullptr, hold = nullptr, spin = nullptr;
  CUstream stream = nullptr;
  Word* pinned = nullptr;

  Gpu() {
    CUcontext context = nullptr;
    CUmodule module = nullptr;
    void* page = nullptr;
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    OK(cuModuleLoadData(&module, gangway::standin::kernel_image));
    OK(cuModuleGetFunction(&mix, module, "mix"));
    OK(cuModuleGetFunction(&hold, module, "hold"));
    OK(cuModuleGetFunction(&spin, module, "spin"));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemHostAlloc(&page, 4096, 0));
    pinned = static_cast<Word*>(page);
    std::memset(page, 0, 4096);
  }

  void launch_mix(CUstream in, unsigned at, Word k) const {
    auto word = reinterpret_cast<CUdeviceptr>(pinned + at);
    void* parameters[] = {&word, &k};
    OK(cuLaunchKernel(mix, 1, 1, 1, 1, 1, 1, 0, in, parameters, nullptr));
  }
  void launch_hold(CUstream in, unsigned at) const {
    auto word = reinterpret_cast<CUdeviceptr>(pinned + at);
    Word one = 1;
    void* parameters[] = {&word, &one};
    OK(cuLaunchKernel(hold, 1, 1, 1, 1, 1, 1, 0, in, parameters, nullptr));
  }
  void let_go(unsigned at) const { std::atomic_ref<Word>(pinned[at]).store(1, std::memory_order_release); }
};

struct Seen {
  std::thread::id submitter;
  std::vector<std::pair<StandinMoment, std::string>> moments;
};

void observer() {
  const Gpu gpu;
  Seen seen;
  const auto observe = [](void* user, StandinMoment moment, const StandinOperation* operation) {
    auto* s = static_cast<Seen*>(user);
    if (moment == STANDIN_SUBMITTED) s->submitter = std::this_thread::get_id();
    s->moments.emplace_back(moment, operation->name);
  };
  standin_observe(observe, &seen);
  gpu.launch_mix(gpu.stream, 0, 1);
  OK(cuStreamSynchronize(gpu.stream));
  OK(cuMemsetD32Async(reinterpret_cast<CUdeviceptr>(gpu.pinned), 0, 1, gpu.stream));
  OK(cuStreamSynchronize(gpu.stream));
  standin_observe(nullptr, nullptr);
  gpu.launch_mix(gpu.stream, 0, 1);
  OK(cuStreamSynchronize(gpu.stream));
  const std::vector<std::pair<StandinMoment, std::string>> expected = {
      {STANDIN_SUBMITTED, "mix"}, {STANDIN_STARTED, "mix"}, {STANDIN_FINISHED, "mix"},
      {STANDIN_SUBMITTED, "set"}, {STANDIN_STARTED, "set"}, {STANDIN_FINISHED, "set"}};
  CHECK(seen.moments == expected);
  CHECK(seen.submitter == std::this_thread::get_id());
}

void counters() {
  const Gpu gpu;
  const std::uint64_t before = standin_calls("cuLaunchKernel"), all = standin_calls(nullptr),
                      submitted = standin_submitted();
  gpu.launch_hold(gpu.stream, 0);
  gpu.launch_mix(gpu.stream, 1, 1);
  CHECK(standin_calls("cuLaunchKernel") == before + 2);
  CHECK(standin_calls(nullptr) == all + 2);
  CHECK(standin_submitted() == submitted + 2);
  CHECK(standin_in_flight() == 2);
  gpu.let_go(0);
  OK(cuStreamSynchronize(gpu.stream));
  CHECK(standin_in_flight() == 0);
  CHECK(standin_started() == standin_finished());
  CHECK(standin_most_in_flight() >= 2);
  CHECK(standin_unimplemented() == 0);
  CUarray array = nullptr;
  const CUDA_ARRAY_DESCRIPTOR descriptor{};
  CHECK(cuArrayCreate(&array, &descriptor) == CUDA_ERROR_NOT_SUPPORTED);
  CHECK(standin_unimplemented() == 1);
}

void queue_depth() {
  setenv("STANDIN_QUEUE_DEPTH", "4", 1);
  const Gpu gpu;
  gpu.launch_hold(gpu.stream, 0);
  for (Word k = 1; k < 4; ++k) gpu.launch_mix(gpu.stream, 1, k);
  std::atomic<bool> returned = false;
  std::thread fifth([&] {
    CUcontext context = nullptr;
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    gpu.launch_mix(gpu.stream, 1, 4);
    returned = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK(!returned);
  CHECK(standin_in_flight() == 4);
  gpu.let_go(0);
  fifth.join();
  OK(cuStreamSynchronize(gpu.stream));
  CHECK(gpu.pinned[1] == ((1 * 31 + 2) * 31 + 3) * 31 + 4);
}

void concurrency_and_priority() {
  setenv("STANDIN_CONCURRENT", "1", 1);
  const Gpu gpu;
  CUstream low = nullptr, high = nullptr;
  OK(cuStreamCreateWithPriority(&low, CU_STREAM_NON_BLOCKING, 0));
  OK(cuStreamCreateWithPriority(&high, CU_STREAM_NON_BLOCKING, -5));
  gpu.launch_hold(gpu.stream, 0);
  while (standin_started() < 1) std::this_thread::yield();
  gpu.launch_mix(low, 1, 1);
  gpu.launch_mix(high, 1, 2);  // first, of the two that wait
  CHECK(standin_started() == 1);
  gpu.let_go(0);
  OK(cuCtxSynchronize());
  CHECK(gpu.pinned[1] == 2 * 31 + 1);
}

void clock() {
  char path[] = "/tmp/standin-clock-XXXXXX";
  const int file = mkstemp(path);
  CHECK(file >= 0 && ftruncate(file, 8) == 0);
  setenv("STANDIN_CLOCK", path, 1);
  auto* now =
      static_cast<std::atomic<std::uint64_t>*>(mmap(nullptr, 8, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  *now = 1000;
  const Gpu gpu;
  CUevent start = nullptr, end = nullptr;
  OK(cuEventCreate(&start, 0));
  OK(cuEventCreate(&end, 0));
  std::uint64_t hour = 3600000000000;
  void* parameters[] = {&hour};
  OK(cuEventRecord(start, gpu.stream));
  OK(cuLaunchKernel(gpu.spin, 1, 1, 1, 1, 1, 1, 0, gpu.stream, parameters, nullptr));
  OK(cuEventRecord(end, gpu.stream));
  while (standin_started() < 1) std::this_thread::yield();
  *now = 1000 + hour - 1;
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(cuEventQuery(end) == CUDA_ERROR_NOT_READY);
  while (cuEventQuery(end) !=
         CUDA_SUCCESS) {  // the hour counts from when the kernel looked, which may be late
    *now += hour;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  float milliseconds = 0;
  OK(cuEventElapsedTime(&milliseconds, start, end));
  CHECK(milliseconds >= 3600000.0F);
  unlink(path);
}

// Two processes, of which one has the device at a time.
void device_lock() {
  char path[] = "/tmp/standin-lock-XXXXXX";
  CHECK(mkstemp(path) >= 0);
  setenv("STANDIN_DEVICE_LOCK", path, 1);
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  const auto run = [page] {
    const Gpu gpu;
    CUmodule module = nullptr;
    CUfunction alone = nullptr;
    OK(cuModuleLoadData(&module, own_image));
    OK(cuModuleGetFunction(&alone, module, "alone"));
    auto address = reinterpret_cast<std::uint64_t>(page);
    void* parameters[] = {&address};
    for (int i = 0; i < 100; ++i)
      OK(cuLaunchKernel(alone, 1, 1, 1, 1, 1, 1, 0, gpu.stream, parameters, nullptr));
    OK(cuStreamSynchronize(gpu.stream));
    _exit(0);
  };
  const pid_t first = fork();
  if (first == 0) run();
  const pid_t second = fork();
  if (second == 0) run();
  int status = 0;
  CHECK(waitpid(first, &status, 0) == first && status == 0);
  CHECK(waitpid(second, &status, 0) == second && status == 0);
  const auto* words = static_cast<const std::atomic<Word>*>(page);
  CHECK(words[0] == 0 && words[1] == 0 && words[2] == 200);
  unlink(path);
}

void log_of_calls() {
  char path[] = "/tmp/standin-log-XXXXXX";
  CHECK(mkstemp(path) >= 0);
  setenv("STANDIN_LOG", path, 1);
  const Gpu gpu;
  OK(cuMemsetD8Async(reinterpret_cast<CUdeviceptr>(gpu.pinned), 3, 16, gpu.stream));
  CHECK(cuMemAlloc(nullptr, 16) == CUDA_ERROR_INVALID_VALUE);
  OK(cuStreamDestroy(gpu.stream));
  std::ifstream file(path);
  std::string line;
  std::vector<std::string> last;
  while (std::getline(file, line)) last.push_back(line);
  unlink(path);
  CHECK(last.size() >= 3);
  CHECK(last.front() == "1 cuInit(0) -> 0");
  CHECK(last[last.size() - 5] == "1 cuStreamCreate(stream#2, 1) -> 0");
  CHECK(last[last.size() - 3] == "1 cuMemsetD8Async(host, 3, 16, stream#2) -> 0");
  CHECK(last[last.size() - 2] == "1 cuMemAlloc_v2(0, 16) -> 1");
  CHECK(last[last.size() - 1] == "1 cuStreamDestroy_v2(stream#2) -> 0");
}

// A twin in the library that the environment names; one that is nowhere.
void twins_elsewhere() {
  const Gpu gpu;
  CUmodule module = nullptr;
  CUfunction elsewhere = nullptr;
  const std::string head = ".version 7.0\n.target sm_70\n.address_size 64\n";
  OK(cuModuleLoadData(&module, (head + ".visible .entry elsewhere(.param .u64 p) { ret; }").c_str()));
  OK(cuModuleGetFunction(&elsewhere, module, "elsewhere"));
  auto word = reinterpret_cast<CUdeviceptr>(gpu.pinned);
  void* parameters[] = {&word};
  OK(cuLaunchKernel(elsewhere, 1, 1, 1, 1, 1, 1, 0, gpu.stream, parameters, nullptr));
  OK(cuStreamSynchronize(gpu.stream));
  CHECK(gpu.pinned[0] == 77);
  const std::string nowhere = head + ".visible .entry nowhere(.param .u64 p) { ret; }";
  CHECK(cuModuleLoadData(&module, nowhere.c_str()) == CUDA_ERROR_NO_BINARY_FOR_GPU);
}

void facts() {
  setenv("STANDIN_DEVICES", "2", 1);
  setenv("STANDIN_DEVICE_NAME", "Thing 1", 1);
  setenv("STANDIN_DRIVER_VERSION", "12080", 1);
  setenv("STANDIN_MEMORY", "1048576", 1);
  setenv("STANDIN_SPEED", "1000000", 1);
  const Gpu gpu;
  int count = 0, version = 0;
  char name[32] = "";
  std::size_t total = 0;
  CUdeviceptr p = 0;
  OK(cuDeviceGetCount(&count));
  OK(cuDriverGetVersion(&version));
  OK(cuDeviceGetName(name, sizeof name, 1));
  OK(cuDeviceTotalMem(&total, 0));
  CHECK(count == 2 && version == 12080 && std::strcmp(name, "Thing 1") == 0 && total == 1048576);
  CHECK(cuMemAlloc(&p, 2097152) == CUDA_ERROR_OUT_OF_MEMORY);
  OK(cuMemAlloc(&p, 1000000));
  std::uint64_t hour = 3600000000000;
  void* parameters[] = {&hour};
  OK(cuLaunchKernel(gpu.spin, 1, 1, 1, 1, 1, 1, 0, gpu.stream, parameters, nullptr));
  OK(cuStreamSynchronize(gpu.stream));  // in 4 ms of real time; an hour would be cut off
}

// What a process sees whose memory is elsewhere. Another process orders the two, of which ThreadSanitizer
// knows nothing.
__attribute__((no_sanitize("thread"), noinline)) Word word_while_away(CUdeviceptr address) {
  return *reinterpret_cast<const volatile Word*>(address);
}

// A process under another's hands: what it holds is elsewhere until it is restored, and its calls wait until
// it is unlocked.
void checkpoints() {
  int ready[2], go[2], told[2];
  CHECK(pipe(ready) == 0 && pipe(go) == 0 && pipe(told) == 0);
  const int process = fork();
  if (process == 0) {
    const Gpu gpu;
    CUdeviceptr plain = 0, mapped = 0;
    CUmemGenericAllocationHandle handle = 0;
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, {0}}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    OK(cuMemAlloc(&plain, 4096));
    OK(cuMemAddressReserve(&mapped, 2097152, 0, 0, 0));
    OK(cuMemCreate(&handle, 2097152, &properties, 0));
    OK(cuMemMap(mapped, 2097152, 0, handle, 0));
    OK(cuMemSetAccess(mapped, 2097152, &access, 1));
    OK(cuMemsetD32(plain, 7, 1024));
    OK(cuMemsetD32(mapped, 9, 1024));
    const auto tell = [&](char what) { CHECK(write(ready[1], &what, 1) == 1); };
    char byte = 0;
    tell('r');
    CHECK(read(go[0], &byte, 1) == 1);
    const Word seen[2] = {word_while_away(plain), word_while_away(mapped)};
    CHECK(seen[0] != 7 && seen[1] != 9);
    tell('a');
    Word words[2] = {};
    OK(cuMemcpyDtoH(&words[0], plain, 4));
    OK(cuMemcpyDtoH(&words[1], mapped, 4));
    CHECK(write(told[1], words, sizeof words) == sizeof words);
    CHECK(read(go[0], &byte, 1) == 1);
    _exit(0);
  }
  const auto heard = [&](char what) {
    char byte = 0;
    return read(ready[0], &byte, 1) == 1 && byte == what;
  };
  const auto told_within = [&](int ms) {
    pollfd watched{told[0], POLLIN, 0};
    return poll(&watched, 1, ms) == 1;
  };
  OK(cuInit(0));
  CUprocessState state = CU_PROCESS_STATE_FAILED;
  CHECK(cuCheckpointProcessGetState(getpid() + 1'000'000, &state) == CUDA_ERROR_INVALID_VALUE);
  CHECK(heard('r'));
  OK(cuCheckpointProcessGetState(process, &state));
  CHECK(state == CU_PROCESS_STATE_RUNNING);
  CHECK(cuCheckpointProcessCheckpoint(process, nullptr) == CUDA_ERROR_ILLEGAL_STATE);
  CHECK(cuCheckpointProcessRestore(process, nullptr) == CUDA_ERROR_ILLEGAL_STATE);
  CHECK(cuCheckpointProcessUnlock(process, nullptr) == CUDA_ERROR_ILLEGAL_STATE);
  OK(cuCheckpointProcessLock(process, nullptr));
  CHECK(cuCheckpointProcessLock(process, nullptr) == CUDA_ERROR_ILLEGAL_STATE);
  OK(cuCheckpointProcessCheckpoint(process, nullptr));
  CHECK(cuCheckpointProcessUnlock(process, nullptr) == CUDA_ERROR_ILLEGAL_STATE);
  OK(cuCheckpointProcessGetState(process, &state));
  CHECK(state == CU_PROCESS_STATE_CHECKPOINTED);
  CHECK(write(go[1], "g", 1) == 1 && heard('a'));
  CHECK(!told_within(100));
  OK(cuCheckpointProcessRestore(process, nullptr));
  CHECK(!told_within(100));
  OK(cuCheckpointProcessUnlock(process, nullptr));
  Word words[2] = {};
  CHECK(told_within(10000) && read(told[0], words, sizeof words) == sizeof words);
  CHECK(words[0] == 7 && words[1] == 9);
  CHECK(write(go[1], "e", 1) == 1);
  int status = 1;
  waitpid(process, &status, 0);
  CHECK(status == 0);
}

// A device that processes share has room as soon as one of them ends, though its parent has not waited for
// it.
void memory_of_the_dead() {
  char ledger[] = "/tmp/standin-ledger-XXXXXX";
  close(mkstemp(ledger));
  setenv("STANDIN_LEDGER", ledger, 1);
  setenv("STANDIN_MEMORY", "1048576", 1);
  int lives[2];
  CHECK(pipe(lives) == 0);
  const auto takes_most = [] {
    const Gpu gpu;
    CUdeviceptr p = 0;
    OK(cuMemAlloc(&p, 900000));
    _exit(0);
  };
  const int first = fork();
  if (first == 0) takes_most();
  close(lives[1]);
  char byte = 0;
  CHECK(read(lives[0], &byte, 1) == 0);  // its descriptors are closed
  const int second = fork();
  if (second == 0) takes_most();
  int status = 1;
  waitpid(second, &status, 0);
  CHECK(status == 0);
  waitpid(first, &status, 0);
  CHECK(status == 0);
  unlink(ledger);
}

}  // namespace

// Nobody else is in here: words are those inside, times somebody was, and launches.
extern "C" void standin_kernel_alone(const StandinLaunch* launch) {
  auto* words = reinterpret_cast<std::atomic<Word>*>(*static_cast<std::uint64_t*>(launch->params[0]));
  if (words[0]++ != 0) ++words[1];
  std::this_thread::sleep_for(std::chrono::microseconds(50));
  --words[0];
  ++words[2];
}

int main() {
  int failed = 0;
  const std::pair<const char*, void (*)()> cases[] = {{"observer", observer},
                                                      {"counters", counters},
                                                      {"queue depth", queue_depth},
                                                      {"concurrency and priority", concurrency_and_priority},
                                                      {"clock", clock},
                                                      {"device lock", device_lock},
                                                      {"log of calls", log_of_calls},
                                                      {"twins elsewhere", twins_elsewhere},
                                                      {"checkpoints", checkpoints},
                                                      {"memory of the dead", memory_of_the_dead},
                                                      {"facts", facts}};
  for (const auto& [name, run] : cases) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      run();
      _exit(0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    if (status != 0) std::fprintf(stderr, "%s: failed\n", name);
    failed += status != 0;
  }
  return failed == 0 ? 0 : 1;
}
