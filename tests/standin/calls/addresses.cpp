// cuGetProcAddress in both versions.
#include <algorithm>
#include <cstring>
#include <span>

#include "api.hpp"
#include "tests/standin/calls/call.hpp"
#include "tests/standin/engine/environment.hpp"
#include "tests/standin/engine/failure.hpp"

namespace gangway::standin::api {
namespace {

struct Answer {
  void* address = nullptr;
  bool known = false;  // in some version
};

// The newest of a name that is not newer than the version asked for. A name with its version in it means that
// one.
Answer find(const char* name, int version, bool per_thread) {
  Answer answer;
  int newest = -1;
  const auto matches = [&](const Symbol& symbol, bool own) {
    return symbol.per_thread == own && std::strcmp(symbol.base, name) == 0;
  };
  const std::span all(symbols, symbol_count);
  // Where there is one for the thread's own stream, no other stands in for it.
  const bool own =
      per_thread && std::any_of(all.begin(), all.end(), [&](const Symbol& s) { return matches(s, true); });
  for (const Symbol& symbol : all) {
    if (!matches(symbol, own)) continue;
    answer.known = true;
    if (symbol.since > version || symbol.since < newest) continue;
    newest = symbol.since;
    answer.address = symbol.address;
  }
  return answer;
}

}  // namespace

CUresult cuGetProcAddress_v2(const char* symbol, void** pfn, int cudaVersion, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* symbolStatus) {
  require(symbol != nullptr && pfn != nullptr);
  require((flags & ~std::uint64_t{3}) == 0 && flags != 3);
  require(cudaVersion <= static_cast<int>(environment_number("STANDIN_DRIVER_VERSION", 13000)));
  const Answer answer = find(symbol, cudaVersion, flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
  *pfn = answer.address;
  if (symbolStatus != nullptr)
    *symbolStatus = answer.address != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS
                    : answer.known            ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                              : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return CUDA_SUCCESS;
}

CUresult cuGetProcAddress(const char* symbol, void** pfn, int cudaVersion, cuuint64_t flags) {
  api::cuGetProcAddress_v2(symbol, pfn, cudaVersion, flags, nullptr);
  return *pfn != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

}  // namespace gangway::standin::api
