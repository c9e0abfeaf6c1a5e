// From a module's PTX to a cubin with the forms of its kernels, through the cache.
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
  present,   // it had been made before
  prepared,  // it was made
  formless,  // no kernel takes a form, or the text is not understood
  rejected,  // the assembler does not accept the rewritten text
  failed,    // the assembler was not able to do its work
  interrupted,
};

struct ModuleWork {
  Outcome outcome = Outcome::failed;
  CacheEntry entry;
  bool before = false;  // it had been tried before
};

// `cache`: null: nothing is looked up or kept. `keep`: whether what is made is put into the cache.
ModuleWork work_on(const PtxImage& ptx, const std::string& origin, Architecture gpu,
                   const Assembler& assembler, SharedCache* cache, bool keep,
                   const std::atomic<bool>* interrupted);

}  // namespace gangway::transform
