// The library that the driver loads into a recorded program (CUDA_INJECTION64_PATH): CUPTI's activity records
// of what GPUs did, and the calls that the program made, go to a spool as they come. It does nothing else
// there: what is drawn from them is worked out afterwards, by `gangway record`.
//
// Nothing here may end, hold up or be seen by the program. What cannot be recorded is said in the spool.
#include <cupti.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <string>
#include <string_view>

#include "hw/record/activity_records.hpp"
#include "hw/record/noted_calls.hpp"
#include "hw/record/recorder.hpp"

#define GANGWAY_EXPORT extern "C" __attribute__((visibility("default")))

namespace gangway::spool {

// Never destroyed: CUPTI's thread and exit handlers outlive what the library's end would take away.
Recorder* recorder = nullptr;

namespace {

constexpr long kFlushPeriod = 50'000'000;  // ns

std::uint64_t now() {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_nsec);
}

void* flush_from_time_to_time(void*) {
  pthread_setname_np(pthread_self(), "gangway-record");
  while (recorder->recording) {
    const timespec period{0, kFlushPeriod};
    nanosleep(&period, nullptr);
    if (!recorder->recording) break;
    {
      const std::lock_guard lock(recorder->mutex);
      take_calls();
      recorder->spool.write();
    }
    recorder->cupti.cuptiActivityFlushAll(0);
  }
  return nullptr;
}

// Processes that a program of many workers leaves by _exit() lose what was not flushed before.
void finish() {
  if (!recorder->spool.ours() || !recorder->recording) return;
  recorder->cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  recorder->recording = false;
  const std::lock_guard lock(recorder->mutex);
  take_calls();
  recorder->spool.put(End{.time = now()});
  recorder->spool.write();
}

// A child that did not execute another program has neither the parent's CUPTI threads nor a usable context.
void in_child() {
  recorder->recording = false;
  recorder->spool.forget();
}

std::string failed(const char* what, CUptiResult code) {
  const char* why = nullptr;
  recorder->cupti.cuptiGetResultString(code, &why);
  return std::string(what) + ": " + (why != nullptr ? why : "unknown error");
}

std::string start_flushing() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are the program's
  pthread_t thread{};
  const int code = pthread_create(&thread, nullptr, flush_from_time_to_time, nullptr);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (code != 0) return std::string("a thread: ") + std::strerror(code);
  pthread_detach(thread);
  return {};
}

// Empty, or why nothing is recorded. `version`: of the CUPTI that is there.
std::string begin_recording(std::uint32_t version) {
  Cupti& cupti = recorder->cupti;
  if (version / 10'000 != CUPTI_API_VERSION / 10'000)
    return "CUPTI is of version " + std::to_string(version) +
           ", and its records are known here as of version " + std::to_string(CUPTI_API_VERSION);
  const CUptiResult subscribed = cupti.cuptiSubscribe(&recorder->subscriber, called, nullptr);
  if (subscribed == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
    return "another profiler is active in the program, and only one is possible";
  if (subscribed != CUPTI_SUCCESS) return failed("CUPTI cannot be used", subscribed);

  cupti.cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
  std::uint8_t zeros = 1;
  std::size_t size = sizeof zeros;
  cupti.cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size, &zeros);
  if (const auto code = cupti.cuptiActivityRegisterCallbacks(give_buffer, take_buffer); code != CUPTI_SUCCESS)
    return failed("CUPTI takes no buffers", code);
  recorder->recording = true;
  const char* set = std::getenv(kExtent);
  const std::string_view extent = set != nullptr ? set : "";
  for (const CUpti_ActivityKind kind :
       {CUPTI_ACTIVITY_KIND_DEVICE, CUPTI_ACTIVITY_KIND_CONTEXT, CUPTI_ACTIVITY_KIND_STREAM,
        CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, CUPTI_ACTIVITY_KIND_CUDA_EVENT, CUPTI_ACTIVITY_KIND_MEMORY2,
        CUPTI_ACTIVITY_KIND_MARKER, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
        CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_GRAPH_TRACE}) {
    if (kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE && extent == kGraphNodes) break;
    if (const auto code = cupti.cuptiActivityEnable(kind); code != CUPTI_SUCCESS) {
      recorder->recording = false;
      return failed(("CUPTI does not record activities of kind " + std::to_string(kind)).c_str(), code);
    }
  }
  note_calls_of(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_SIZE);
  note_calls_of(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_SIZE);
  cupti.cuptiActivityEnableAllSyncRecords(0);
  if (const std::string problem = start_flushing(); !problem.empty()) return problem;
  std::atexit(finish);
  return {};
}

std::string command_line() {
  std::string words;
  if (const int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC); file >= 0) {
    std::array<char, 4096> part;
    for (ssize_t n = 0; words.size() < Spool::kLongestText && (n = read(file, part.data(), part.size())) > 0;)
      words.append(part.data(), static_cast<std::size_t>(n));
    close(file);
  }
  return words;
}

void start() {
  static std::atomic<bool> started{false};
  const char* folder = std::getenv(kFolder);
  if (folder == nullptr || started.exchange(true)) return;
  recorder = new Recorder;
  if (!recorder->spool.open(folder)) {
    std::fprintf(stderr, "gangway: nothing is recorded: %s: %s\n", folder, std::strerror(errno));
    return;
  }
  pthread_atfork(nullptr, nullptr, in_child);
  std::string trouble = recorder->cupti.load();
  std::uint32_t version = 0;
  if (trouble.empty()) recorder->cupti.cuptiGetVersion(&version);
  recorder->spool.put(Begin{.version = kVersion,
                            .cupti = version,
                            .pid = static_cast<std::uint32_t>(getpid()),
                            .parent = static_cast<std::uint32_t>(getppid()),
                            .time = now()},
                      command_line());
  if (trouble.empty()) trouble = begin_recording(version);
  const std::lock_guard lock(recorder->mutex);
  if (!trouble.empty())
    recorder->spool.put(Trouble{.length = static_cast<std::uint32_t>(trouble.size())}, trouble);
  recorder->spool.write();
}

}  // namespace
}  // namespace gangway::spool

// What the driver calls when it is initialised.
GANGWAY_EXPORT int InitializeInjection() {
  gangway::spool::start();
  return 1;
}

// What the first NVTX call looks for (NVTX_INJECTION64_PATH). CUPTI answers it; we only come first, so that
// ranges from before the first use of the GPU are recorded, too.
GANGWAY_EXPORT int InitializeInjectionNvtx2(void* get_export_table) {
  using gangway::spool::recorder;
  gangway::spool::start();
  if (recorder == nullptr || recorder->cupti.library == nullptr) return 0;
  const auto initialize =
      reinterpret_cast<int (*)(void*)>(dlsym(recorder->cupti.library, "InitializeInjectionNvtx2"));
  return initialize != nullptr ? initialize(get_export_table) : 0;
}
