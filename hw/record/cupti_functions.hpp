// CUPTI, loaded at run time.
#pragma once

#include <cupti.h>
#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "hw/record/spool.hpp"

namespace gangway::spool {

// The functions used here.
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

  // Loads from kCupti, or by the loader. Returns what is missing; empty if nothing.
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
#undef GANGWAY_EACH_CUPTI

}  // namespace gangway::spool
