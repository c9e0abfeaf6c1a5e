// cuGetProcAddress in both versions.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <span>
#include <sstream>
#include <string>

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

// Functions of a driver newer than cuda.h. They do nothing.
template <int number>
CUresult newer_function() {
  static std::atomic<int> calls;  // so that no two are merged into one
  calls += number;
  return CUDA_SUCCESS;
}

// Those that STANDIN_NEWER names, in its order; null: it does not name this one.
void* newer(const char* name) {
  static constexpr CUresult (*kFunctions[])() = {newer_function<1>, newer_function<2>, newer_function<3>,
                                                 newer_function<4>, newer_function<5>, newer_function<6>};
  static const std::string names = environment_text("STANDIN_NEWER", "");
  std::istringstream all(names);
  std::string one;
  for (const auto function : kFunctions)
    if (std::getline(all, one, ',') && one == name) return reinterpret_cast<void*>(function);
  return nullptr;
}

}  // namespace

CUresult cuGetProcAddress_v2(const char* symbol, void** pfn, int cudaVersion, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* symbolStatus) {
  require(symbol != nullptr && pfn != nullptr);
  require((flags & ~std::uint64_t{3}) == 0 && flags != 3);
  require(cudaVersion <= static_cast<int>(environment_number("STANDIN_DRIVER_VERSION", 13000)));
  Answer answer = find(symbol, cudaVersion, flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
  if (void* const instead = newer(symbol); instead != nullptr) answer = {instead, true};
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
