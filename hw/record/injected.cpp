// The library that the driver loads into a recorded program (CUDA_INJECTION64_PATH): CUPTI's activity records
// of what GPUs did, and the calls that the program made, go to a spool as they come. It does nothing else
// there: what is drawn from them is worked out afterwards, by `gangway record`.
//
// Nothing here may end, hold up or be seen by the program. What cannot be recorded is said in the spool.
#include <cupti.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
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
#include <unordered_set>
#include <utility>
#include <vector>

#include "hw/record/call_log.hpp"
#include "hw/record/spool_writer.hpp"
#include "models/recording/call_kind.hpp"

#define GANGWAY_EXPORT extern "C" __attribute__((visibility("default")))

namespace gangway::spool {
namespace {

using recording::CallKind;

constexpr std::size_t kBuffer = 256u << 10;  // what a killed program loses at most of a thread's records
constexpr std::size_t kKeptBuffers = 64;
constexpr long kFlushPeriod = 50'000'000;  // ns

// Those of CUPTI's functions that are used here.
#define GANGWAY_EACH_CUPTI(use)                                                                       \
  use(cuptiGetVersion) use(cuptiGetResultString) use(cuptiGetTimestamp) use(cuptiSubscribe)           \
      use(cuptiEnableCallback) use(cuptiGetCallbackName) use(cuptiSetThreadIdType)                    \
          use(cuptiActivitySetAttribute) use(cuptiActivityRegisterCallbacks) use(cuptiActivityEnable) \
              use(cuptiActivityEnableAllSyncRecords) use(cuptiActivityFlushAll)                       \
                  use(cuptiActivityGetNextRecord) use(cuptiActivityGetNumDroppedRecords)

struct Cupti {
#define GANGWAY_CUPTI(name) decltype(&::name) name = nullptr;
  GANGWAY_EACH_CUPTI(GANGWAY_CUPTI)
#undef GANGWAY_CUPTI
  void* library = nullptr;

  // Empty, or what is missing.
  std::string load() {
    const char* path = std::getenv(kCupti);
    library = dlopen(path != nullptr ? path : "libcupti.so", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return std::string("CUPTI cannot be loaded: ") + dlerror();
#define GANGWAY_CUPTI(name)                                          \
  name = reinterpret_cast<decltype(&::name)>(dlsym(library, #name)); \
  if (name == nullptr) return "this CUPTI has no function " #name;
    GANGWAY_EACH_CUPTI(GANGWAY_CUPTI)
#undef GANGWAY_CUPTI
    return {};
  }
};

std::uint64_t now() {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_nsec);
}

// Never destroyed: CUPTI's thread and exit handlers outlive what the library's end would take away.
struct Recorder {
  std::mutex mutex;
  Spool spool;
  Cupti cupti;
  CUpti_SubscriberHandle subscriber{};
  std::unordered_set<std::uint32_t> queries;  // functions; not changed any more when calls are noted
  std::mutex buffers_mutex;
  std::vector<std::uint8_t*> buffers;
  std::uint64_t unfinished = 0;  // work without times
  std::atomic<bool> recording{false};
};
Recorder* recorder = nullptr;

template <typename Record>
const Record& as(const CUpti_Activity* record) {
  return *reinterpret_cast<const Record*>(record);
}

template <typename Record>
bool work(const Record& r, Work& out) {
  if (r.start == 0 || r.end == 0) {
    ++recorder->unfinished;
    return false;
  }
  out = {.correlation = r.correlationId,
         .device = r.deviceId,
         .context = r.contextId,
         .stream = r.streamId,
         .begin = r.start,
         .end = r.end,
         .node = 0,
         .graph = r.graphId};
  if constexpr (requires { r.graphNodeId; }) out.node = r.graphNodeId;
  return true;
}

// Both count their functions from 1.
std::uint32_t function_id(CUpti_CallbackDomain domain, std::uint32_t number) {
  return domain == CUPTI_CB_DOMAIN_DRIVER_API ? number : number | 1u << 16;
}

void keep(const CUpti_ActivityKernel10& r) {
  Kernel kernel;
  if (!work(r, kernel.work)) return;
  Spool& spool = recorder->spool;
  const auto u = [](auto n) { return static_cast<std::uint32_t>(n); };
  Shape shape;
  shape.name = spool.text(r.name);
  const std::uint32_t grid[] = {u(r.gridX), u(r.gridY), u(r.gridZ)};
  const std::uint32_t block[] = {u(r.blockX), u(r.blockY), u(r.blockZ)};
  const std::uint32_t cluster[] = {r.clusterX, r.clusterY, r.clusterZ};
  std::memcpy(shape.grid, grid, sizeof grid);
  std::memcpy(shape.block, block, sizeof block);
  std::memcpy(shape.cluster, cluster, sizeof cluster);
  shape.registers = r.registersPerThread;
  shape.static_shared = u(r.staticSharedMemory);
  shape.dynamic_shared = u(r.dynamicSharedMemory);
  shape.local = r.localMemoryPerThread;
  shape.launch_type = r.launchType;
  kernel.shape = spool.shape(shape);
  spool.put(kernel);
}

template <typename Record>
void keep_copy(const Record& r) {
  Copy copy;
  if (!work(r, copy.work)) return;
  copy.bytes = r.bytes;
  copy.kind = r.copyKind;
  copy.from = r.srcKind;
  copy.to = r.dstKind;
  copy.asynchronous = (r.flags & CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC) != 0;
  if constexpr (requires { r.dstDeviceId; })
    copy.to_device = r.dstDeviceId;
  else
    copy.to_device = r.deviceId;
  recorder->spool.put(copy);
}

void keep(const CUpti_ActivityMemset4& r) {
  Memset memset;
  if (!work(r, memset.work)) return;
  memset.bytes = r.bytes;
  memset.memory = r.memoryKind;
  recorder->spool.put(memset);
}

void keep(const CUpti_ActivityGraphTrace2& r) {
  Graph graph;
  if (work(r, graph.work)) recorder->spool.put(graph);
}

void keep(const CUpti_ActivitySynchronization2& r) {
  if (r.returnValue != CUDA_SUCCESS) return;
  recorder->spool.put(Sync{.correlation = r.correlationId,
                           .kind = r.type,
                           .context = r.contextId,
                           .stream = r.streamId,
                           .event = r.cudaEventSyncId});
}

void keep(const CUpti_ActivityCudaEvent2& r) {
  recorder->spool.put(Event{.correlation = r.correlationId,
                            .context = r.contextId,
                            .stream = r.streamId,
                            .event = r.cudaEventSyncId});
}

void keep(const CUpti_ActivityMemory4& r) {
  recorder->spool.put(
      Memory{.correlation = r.correlationId,
             .device = r.deviceId,
             .kind = static_cast<std::uint32_t>(r.memoryKind),
             .released = r.memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE,
             .address = r.address,
             .bytes = r.bytes,
             .time = r.timestamp});
}

void keep(const CUpti_ActivityMarker2& r) {
  if ((r.flags & (CUPTI_ACTIVITY_FLAG_MARKER_START | CUPTI_ACTIVITY_FLAG_MARKER_END)) == 0) return;
  Spool& spool = recorder->spool;
  const std::uint32_t name = spool.text(r.name), domain = spool.text(r.domain);
  spool.thread(r.objectId.pt.threadId);
  spool.put(Marker{.id = r.id,
                   .thread = r.objectId.pt.threadId,
                   .ends = (r.flags & CUPTI_ACTIVITY_FLAG_MARKER_END) != 0,
                   .name = name,
                   .domain = domain,
                   .time = r.timestamp});
}

void keep(const CUpti_ActivityDevice5& r) {
  Spool& spool = recorder->spool;
  const std::uint32_t name = spool.text(r.name);
  spool.put(Device{.id = r.id,
                   .name = name,
                   .sms = r.numMultiprocessors,
                   .major = r.computeCapabilityMajor,
                   .minor = r.computeCapabilityMinor,
                   .clock_khz = r.coreClockRate,
                   .l2 = r.l2CacheSize,
                   .copy_engines = r.numMemcpyEngines,
                   .memory = r.globalMemorySize,
                   .bandwidth_kb = r.globalMemoryBandwidth});
}

void keep(const CUpti_Activity* record) {
  Spool& spool = recorder->spool;
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return keep(as<CUpti_ActivityKernel10>(record));
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return keep_copy(as<CUpti_ActivityMemcpy6>(record));
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return keep_copy(as<CUpti_ActivityMemcpyPtoP4>(record));
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return keep(as<CUpti_ActivityMemset4>(record));
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
      return keep(as<CUpti_ActivityGraphTrace2>(record));
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return keep(as<CUpti_ActivitySynchronization2>(record));
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
      return keep(as<CUpti_ActivityCudaEvent2>(record));
    case CUPTI_ACTIVITY_KIND_MEMORY2:
      return keep(as<CUpti_ActivityMemory4>(record));
    case CUPTI_ACTIVITY_KIND_MARKER:
      return keep(as<CUpti_ActivityMarker2>(record));
    case CUPTI_ACTIVITY_KIND_STREAM: {
      const auto& r = as<CUpti_ActivityStream>(record);
      return spool.put(Stream{.context = r.contextId,
                              .id = r.streamId,
                              .flag = static_cast<std::uint32_t>(r.flag),
                              .priority = static_cast<std::int32_t>(r.priority)});
    }
    case CUPTI_ACTIVITY_KIND_CONTEXT: {
      const auto& r = as<CUpti_ActivityContext3>(record);
      return spool.put(Context{.id = r.contextId, .device = r.deviceId, .null_stream = r.nullStreamId});
    }
    case CUPTI_ACTIVITY_KIND_DEVICE:
      return keep(as<CUpti_ActivityDevice5>(record));
    default:
      return;
  }
}

// Comes at the beginning and at the end of each function that was asked for. CUPTI's own records of calls
// would say the same, but cost the program 3 us each (README.md).
void CUPTIAPI called(void*, CUpti_CallbackDomain domain, CUpti_CallbackId number, const void* data) {
  if (!recorder->recording) return;
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  const bool runtime = domain == CUPTI_CB_DOMAIN_RUNTIME_API;
  CallLog& log = CallLog::mine();
  if (call.callbackSite == CUPTI_API_ENTER) {
    // What the runtime asks of the driver is known as the runtime's call, where both have one correlation.
    if (!runtime && log.depth > 0 && call.correlationId == log.outermost) {
      *call.correlationData = 0;
      return;
    }
    if (runtime && log.depth++ == 0) log.outermost = call.correlationId;
    recorder->cupti.cuptiGetTimestamp(call.correlationData);
    return;
  }
  if (runtime && log.depth > 0) --log.depth;
  const auto result = *static_cast<const std::uint32_t*>(call.functionReturnValue);
  const std::uint32_t function = function_id(domain, number);
  // A query that was answered with no says nothing, and there may be any number of them.
  if (*call.correlationData == 0 || (result != 0 && recorder->queries.contains(function))) return;
  std::uint64_t end = 0;
  recorder->cupti.cuptiGetTimestamp(&end);
  log.put({.function = function,
           .correlation = call.correlationId,
           .thread = log.thread,
           .result = result,
           .begin = *call.correlationData,
           .end = end});
}

// The recorder's lock is held.
void take_calls() {
  CallLog::take_all([](const Call& call) {
    recorder->spool.thread(call.thread);
    recorder->spool.put(call);
  });
}

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *buffer = nullptr;
  *size = *most_records = 0;
  {
    const std::lock_guard lock(recorder->buffers_mutex);
    if (!recorder->buffers.empty()) {
      *buffer = recorder->buffers.back();
      recorder->buffers.pop_back();
    }
  }
  if (*buffer == nullptr) *buffer = static_cast<std::uint8_t*>(std::calloc(1, kBuffer));
  if (*buffer != nullptr) *size = kBuffer;
}

void CUPTIAPI take_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t,
                          std::size_t valid) {
  if (recorder->recording) {
    const std::lock_guard lock(recorder->mutex);
    CUpti_Activity* record = nullptr;
    while (recorder->cupti.cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) keep(record);
    std::size_t dropped = 0;
    recorder->cupti.cuptiActivityGetNumDroppedRecords(context, stream, &dropped);
    const std::uint64_t lost = dropped + std::exchange(recorder->unfinished, 0);
    if (lost > 0) recorder->spool.put(Lost{.records = lost});
    recorder->spool.write();
  }
  std::memset(buffer, 0, valid);  // CUPTI was told that it gets zeros
  const std::lock_guard lock(recorder->buffers_mutex);
  if (recorder->buffers.size() < kKeptBuffers)
    recorder->buffers.push_back(buffer);
  else
    std::free(buffer);
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

// Only those that a recording tells apart: to note every call would cost more than all the rest.
void note_calls_of(CUpti_CallbackDomain domain, std::uint32_t end) {
  std::vector<std::uint32_t> noted;
  for (std::uint32_t number = 1; number < end; ++number) {
    const char* name = nullptr;
    if (recorder->cupti.cuptiGetCallbackName(domain, number, &name) != CUPTI_SUCCESS || name == nullptr)
      continue;
    const auto kind = recording::call_kind(name);
    if (!kind) continue;
    const std::uint32_t id = function_id(domain, number);
    noted.push_back(number);
    if (*kind == CallKind::query) recorder->queries.insert(id);
    const std::lock_guard lock(recorder->mutex);
    const std::uint32_t text = recorder->spool.text(name);
    recorder->spool.put(Function{.id = id, .kind = static_cast<std::uint32_t>(*kind), .name = text});
  }
  for (const std::uint32_t number : noted)
    recorder->cupti.cuptiEnableCallback(1, recorder->subscriber, domain, number);
}

// Empty, or why nothing is recorded. `version`: of the CUPTI that is there.
std::string begin_recording(std::uint32_t version) {
  Cupti& cupti = recorder->cupti;
  if (version / 10'000 != CUPTI_API_VERSION / 10'000)
    return "CUPTI is of version " + std::to_string(version) +
           ", and its records are known here as of version " + std::to_string(CUPTI_API_VERSION);
  const CUptiResult subscribed = cupti.cuptiSubscribe(&recorder->subscriber, called, nullptr);
  if (subscribed == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
    return "another profiler is active in the program, and there can be one only";
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
    if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && extent == kCallsOnly) break;
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
