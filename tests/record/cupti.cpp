// A CUPTI of the tests': what it hands over is what the program under test says that it did.
#include <cupti.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

std::mutex mutex;
CUpti_BuffersCallbackRequestFunc request = nullptr;
CUpti_BuffersCallbackCompleteFunc complete = nullptr;
std::uint8_t* buffer = nullptr;
std::size_t size = 0, used = 0;
std::size_t sizes[CUPTI_ACTIVITY_KIND_COUNT] = {};

const std::map<std::uint32_t, const char*> kDriver{
    {1, "cuInit"}, {2, "cuLaunchKernelEx"}, {3, "cuEventQuery"}};
const std::map<std::uint32_t, const char*> kRuntime{{1, "cudaLaunchKernel_v7000"},
                                                    {2, "cudaStreamSynchronize_v3020"},
                                                    {3, "cudaGraphLaunch_v10000"},
                                                    {4, "cudaGetDevice_v3020"}};

bool is(const char* variable, const char* value) {
  const char* set = std::getenv(variable);
  return set != nullptr && std::string(set) == value;
}

void hand_over() {
  if (buffer == nullptr) return;
  std::uint8_t* full = buffer;
  const std::size_t valid = used, whole = size;
  buffer = nullptr;
  complete(nullptr, 0, full, whole, valid);
}

// A clock that stands at what the program under test said last.
std::uint64_t time_now = 0;
CUpti_CallbackFunc callback = nullptr;
void* callback_data = nullptr;
std::set<std::pair<CUpti_CallbackDomain, CUpti_CallbackId>> noted;

}  // namespace

// What the program did.
EXPORT void tests_happened(const void* record, std::size_t bytes) {
  const std::lock_guard lock(mutex);
  if (buffer != nullptr && size - used < bytes) hand_over();
  if (buffer == nullptr) {
    std::size_t most = 0;
    request(&buffer, &size, &most);
    used = 0;
    if (buffer == nullptr) return;
  }
  CUpti_ActivityKind kind{};
  std::memcpy(&kind, record, sizeof kind);
  sizes[kind] = bytes;
  std::memcpy(buffer + used, record, bytes);
  used += bytes;
}

// The program begins (result: none) or ends a call. `data` is kept by the program in between.
EXPORT void tests_called(CUpti_CallbackDomain domain, CUpti_CallbackId id, std::uint32_t correlation,
                         std::uint64_t at, std::uint64_t* data, const std::uint32_t* result) {
  if (noted.count({domain, id}) == 0) return;
  time_now = at;
  CUpti_CallbackData call{};
  call.callbackSite = result == nullptr ? CUPTI_API_ENTER : CUPTI_API_EXIT;
  call.correlationId = correlation;
  call.correlationData = data;
  call.functionReturnValue = const_cast<std::uint32_t*>(result);
  callback(callback_data, domain, id, &call);
}

EXPORT CUptiResult cuptiGetTimestamp(std::uint64_t* time) {
  *time = time_now;
  return CUPTI_SUCCESS;
}
EXPORT CUptiResult cuptiGetVersion(std::uint32_t* version) {
  *version = is("TESTS_CUPTI", "old") ? 120'000 : CUPTI_API_VERSION;
  return CUPTI_SUCCESS;
}
EXPORT CUptiResult cuptiGetResultString(CUptiResult, const char** text) {
  *text = "an error of the tests'";
  return CUPTI_SUCCESS;
}
EXPORT CUptiResult cuptiSubscribe(CUpti_SubscriberHandle*, CUpti_CallbackFunc function, void* data) {
  if (is("TESTS_CUPTI", "taken")) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  callback = function;
  callback_data = data;
  return CUPTI_SUCCESS;
}
EXPORT CUptiResult cuptiEnableCallback(std::uint32_t enable, CUpti_SubscriberHandle,
                                       CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  if (enable != 0) noted.insert({domain, id});
  return CUPTI_SUCCESS;
}
EXPORT CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, std::uint32_t id, const char** name) {
  const auto& names = domain == CUPTI_CB_DOMAIN_DRIVER_API ? kDriver : kRuntime;
  const auto found = names.find(id);
  if (found == names.end()) return CUPTI_ERROR_INVALID_PARAMETER;
  *name = found->second;
  return CUPTI_SUCCESS;
}
EXPORT CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType) { return CUPTI_SUCCESS; }
EXPORT CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute, std::size_t*, void*) {
  return CUPTI_SUCCESS;
}
EXPORT CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc ask,
                                                  CUpti_BuffersCallbackCompleteFunc done) {
  request = ask;
  complete = done;
  return CUPTI_SUCCESS;
}
EXPORT CUptiResult cuptiActivityEnable(CUpti_ActivityKind) {
  return is("TESTS_CUPTI", "unable") ? CUPTI_ERROR_NOT_COMPATIBLE : CUPTI_SUCCESS;
}
EXPORT CUptiResult cuptiActivityEnableAllSyncRecords(std::uint8_t) { return CUPTI_SUCCESS; }
EXPORT CUptiResult cuptiActivityFlushAll(std::uint32_t) {
  const std::lock_guard lock(mutex);
  hand_over();
  return CUPTI_SUCCESS;
}
EXPORT CUptiResult cuptiActivityGetNextRecord(std::uint8_t* from, std::size_t valid,
                                              CUpti_Activity** record) {
  auto* at = reinterpret_cast<std::uint8_t*>(*record);
  if (at == nullptr)
    at = from;
  else
    at += sizes[(*record)->kind];
  if (at >= from + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(at);
  return CUPTI_SUCCESS;
}
EXPORT CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, std::uint32_t, std::size_t* dropped) {
  *dropped = 0;
  return CUPTI_SUCCESS;
}
EXPORT int InitializeInjectionNvtx2(void*) { return 1; }
