// cuGetProcAddress in both versions.
#include <cstring>

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
  bool own_width = false;
  for (const Symbol& symbol : std::span(symbols, symbol_count)) {
    if (std::strcmp(symbol.base, name) != 0 || (symbol.per_thread && !per_thread)) continue;
    answer.known = true;
    if (symbol.since > version) continue;
    if (own_width && !symbol.per_thread) continue;
    if (symbol.since < newest && own_width == symbol.per_thread) continue;
    newest = symbol.since;
    own_width = symbol.per_thread;
    answer.address = symbol.address;
  }
  return answer;
}

}  // namespace

CUresult cuGetProcAddress_v2(const char* symbol, void** pfn, int cudaVersion, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* symbolStatus) {
  require(symbol != nullptr && pfn != nullptr && *symbol != '\0');
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
