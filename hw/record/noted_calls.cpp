#include "hw/record/noted_calls.hpp"

#include <vector>

#include "hw/record/call_log.hpp"
#include "hw/record/recorder.hpp"
#include "models/recording/call_kind.hpp"

namespace gangway::spool {
namespace {

// Both count their functions from 1.
std::uint32_t function_id(CUpti_CallbackDomain domain, std::uint32_t number) {
  return domain == CUPTI_CB_DOMAIN_DRIVER_API ? number : number | 1u << 16;
}

}  // namespace

// CUPTI's own records of calls would say the same, but cost the program 3 us each (README.md).
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
    if (*kind == recording::CallKind::query) recorder->queries.insert(id);
    const std::lock_guard lock(recorder->mutex);
    const std::uint32_t text = recorder->spool.text(name);
    recorder->spool.put(Function{.id = id, .kind = static_cast<std::uint32_t>(*kind), .name = text});
  }
  for (const std::uint32_t number : noted)
    recorder->cupti.cuptiEnableCallback(1, recorder->subscriber, domain, number);
}

void take_calls() {
  CallLog::take_all([](const Call& call) {
    recorder->spool.thread(call.thread);
    recorder->spool.put(call);
  });
}

}  // namespace gangway::spool
