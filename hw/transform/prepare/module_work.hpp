// Turns a module's PTX into a cubin with forms, using the cache.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "hw/transform/cache/kernel_cache.hpp"
#include "hw/transform/images/image.hpp"
#include "hw/transform/ptxas/assembler.hpp"

namespace gangway::transform {

// The cache, for several threads.
struct SharedCache {
  KernelCache cache;
  std::mutex mutex;
};

enum class Outcome : std::uint8_t {
  present,   // found in the cache
  prepared,  // compiled now
  formless,  // no kernel has a form, or the text was not understood
  rejected,  // the assembler refused the rewritten text
  failed,    // the assembler could not run
  interrupted,
};

struct ModuleWork {
  Outcome outcome = Outcome::failed;
  CacheEntry entry;
  bool before = false;  // had been tried before
};

// `cache`: null for none. `keep`: whether to store the result.
ModuleWork work_on(const PtxImage& ptx, const std::string& origin, Architecture gpu,
                   const Assembler& assembler, SharedCache* cache, bool keep,
                   const std::atomic<bool>* interrupted);

}  // namespace gangway::transform
