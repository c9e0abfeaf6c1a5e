// Holds what the driver reports of a program against what passed the gate: every record of work on the GPU
// must belong to a driver call that was made inside a gated one, and every gated call must have records, or
// be of a kind that leaves none. CUPTI loads this library into a program that runs behind the look-alike:
//
//   CUDA_INJECTION64_PATH=./libgangway-count.so gangway exec -- PROGRAM...
//   g++ -O2 -shared -fPIC count.cpp -I$CUDA/include -L$CUDA/lib64 -lcupti -ldl -o libgangway-count.so
#include <cuda.h>
#include <cupti.h>
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>

namespace {

struct Call {
  const char* name;
  bool gated;
  std::uint64_t records;
};

std::mutex mutex;
std::unordered_map<std::uint32_t, Call>* calls =
    new std::unordered_map<std::uint32_t, Call>;  // by correlation
std::uint64_t (*submission)() = nullptr;
std::map<std::string, std::uint64_t> records, strays, orphans;

void CUPTIAPI on_call(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void* data) {
  const auto* call = static_cast<const CUpti_CallbackData*>(data);
  if (call->callbackSite != CUPTI_API_ENTER) return;
  const std::lock_guard lock(mutex);
  calls->try_emplace(call->correlationId, Call{call->functionName, submission() != 0, 0});
}

void CUPTIAPI give_room(std::uint8_t** buffer, std::size_t* size, std::size_t* most) {
  *size = 8 << 20;
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, *size));
  *most = 0;
}

void note(const char* kind, std::uint32_t correlation) {
  ++records[kind];
  const auto found = calls->find(correlation);
  if (found != calls->end() && found->second.gated)
    ++found->second.records;
  else
    ++strays[std::string(kind) + " by " + (found == calls->end() ? "no known call" : found->second.name)];
}

void CUPTIAPI take_records(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  const std::lock_guard lock(mutex);
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
    switch (record->kind) {
      case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        note("kernel", reinterpret_cast<CUpti_ActivityKernel9*>(record)->correlationId);
        break;
      case CUPTI_ACTIVITY_KIND_MEMCPY:
        note("copy", reinterpret_cast<CUpti_ActivityMemcpy6*>(record)->correlationId);
        break;
      case CUPTI_ACTIVITY_KIND_MEMCPY2:
        note("peer copy", reinterpret_cast<CUpti_ActivityMemcpyPtoP4*>(record)->correlationId);
        break;
      case CUPTI_ACTIVITY_KIND_MEMSET:
        note("memset", reinterpret_cast<CUpti_ActivityMemset4*>(record)->correlationId);
        break;
      default:
        break;
    }
  }
  std::free(buffer);
}

void print(FILE* out, const char* what, const std::map<std::string, std::uint64_t>& counts) {
  std::uint64_t sum = 0;
  for (const auto& [name, n] : counts) sum += n;
  std::fprintf(out, "  %s: %llu", what, static_cast<unsigned long long>(sum));
  for (const auto& [name, n] : counts)
    std::fprintf(out, "; %s %llu", name.c_str(), static_cast<unsigned long long>(n));
  std::fprintf(out, "\n");
}

void report() {
  cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  const std::lock_guard lock(mutex);
  std::map<std::string, std::uint64_t> gated;
  for (const auto& [id, call] : *calls)
    if (call.gated) {
      ++gated[call.name];
      if (call.records == 0) ++orphans[call.name];
    }
  const char* path = std::getenv("GANGWAY_COUNTS");
  FILE* out = path != nullptr ? std::fopen(path, "a") : stderr;
  if (out == nullptr) return;
  print(out, "records", records);
  print(out, "calls inside the gate", gated);
  print(out, "records of no gated call", strays);
  print(out, "gated calls without a record", orphans);
  if (out != stderr) std::fclose(out);
}

}  // namespace

extern "C" int InitializeInjection() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (library != nullptr)
    submission = reinterpret_cast<std::uint64_t (*)()>(dlsym(library, "gangway_submission"));
  if (submission == nullptr) {
    std::fprintf(stderr, "count: the program does not run behind the look-alike\n");
    return 1;
  }
  CUpti_SubscriberHandle subscriber = nullptr;
  if (cuptiSubscribe(&subscriber, on_call, nullptr) != CUPTI_SUCCESS ||
      cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API) != CUPTI_SUCCESS ||
      cuptiActivityRegisterCallbacks(give_room, take_records) != CUPTI_SUCCESS) {
    std::fprintf(stderr, "count: CUPTI does not work here\n");
    return 1;
  }
  for (const auto kind : {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                          CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET})
    cuptiActivityEnable(kind);
  std::atexit(report);
  return 1;
}
