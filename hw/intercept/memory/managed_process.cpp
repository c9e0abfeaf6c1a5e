// Whether this process's memory is managed.
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "hw/intercept/memory/later_frees.hpp"
#include "hw/intercept/memory/real_memory.hpp"
#include "hw/intercept/memory/served.hpp"
#include "hw/live/memory/mover.hpp"

namespace gangway::intercept {
namespace {

struct ManagedProcess {
  live::Gate* gate = nullptr;
  live::Helped* helped = nullptr;
  std::atomic<live::ManagedMemory*> memory{nullptr};
  std::atomic<live::CountedMemory*> counted{nullptr};
  std::atomic<bool> refused{false};
  std::mutex first;
};
constinit ManagedProcess process;

// With one device only, and a driver that can.
const char* why_not(bool moves_pieces) {
  int devices = 0, supported = 0;
  CUdevice device = 0;
  const auto count = reinterpret_cast<decltype(&cuDeviceGetCount)>(real_function("cuDeviceGetCount"));
  const auto current = reinterpret_cast<decltype(&cuCtxGetDevice)>(real_function("cuCtxGetDevice"));
  const auto attribute =
      reinterpret_cast<decltype(&cuDeviceGetAttribute)>(real_function("cuDeviceGetAttribute"));
  if (count(&devices) != CUDA_SUCCESS || devices != 1)
    return "it sees several GPUs (gangway exec --gpu N shows it one)";
  if (!moves_pieces) return nullptr;
  if (current(&device) != CUDA_SUCCESS ||
      attribute(&supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device) !=
          CUDA_SUCCESS ||
      supported == 0)
    return "the driver has no virtual memory on this GPU";
  return nullptr;
}

// GANGWAY_READ_ONLY: sizes in bytes, with commas between them.
void declare_read_only(live::ManagedMemory& memory) {
  const char* const listed = std::getenv("GANGWAY_READ_ONLY");
  std::vector<std::uint64_t> sizes;
  for (const char* at = listed; at != nullptr && *at != '\0';) {
    char* end = nullptr;
    sizes.push_back(std::strtoull(at, &end, 10));
    if (end == at) break;
    at = *end == ',' ? end + 1 : end;
  }
  memory.declare_read_only(std::move(sizes), std::getenv("GANGWAY_CHECK_READ_ONLY") != nullptr);
}

bool refused_for(const char* why) {
  if (why == nullptr) return false;
  std::fprintf(stderr, "gangway: the memory of process %d does not move: %s\n", static_cast<int>(getpid()),
               why);
  process.refused.store(true);
  return true;
}

// That were made before there was managed memory.
std::vector<std::uint64_t>& early_contexts() {
  static auto* const all = new std::vector<std::uint64_t>;
  return *all;
}

}  // namespace

void memory_is_managed(live::Gate& gate, live::Helped& helped) {
  process.gate = &gate;
  process.helped = &helped;
}

void memory_is_counted(live::Gate& gate) {
  process.gate = &gate;
  memory_counts.store(true);
}

live::StreamName name_seen_to_wait(CUstream stream, bool thread) {
  const live::Gate::Arrival arrival(*process.gate);
  return name_of(stream, thread);
}

bool manages_memory() {
  return process.gate != nullptr && process.helped != nullptr &&
         !process.refused.load(std::memory_order_relaxed);
}

live::Gate& memory_gate() { return *process.gate; }

live::ManagedMemory* managed_memory(bool first) {
  live::ManagedMemory* memory = process.memory.load(std::memory_order_acquire);
  if (memory != nullptr || !first || !manages_memory() || driver.current_context() == 0) return memory;
  const std::lock_guard lock(process.first);
  if ((memory = process.memory.load()) != nullptr || !manages_memory()) return memory;
  if (refused_for(why_not(true))) return nullptr;
  // They live as long as the process: threads may use them at its end.
  memory = new live::ManagedMemory(real_memory, *process.gate);
  declare_read_only(*memory);
  for (const std::uint64_t context : early_contexts()) memory->contexts().add(context);
  (new live::Mover(*memory, *process.helped))->start();
  process.memory.store(memory, std::memory_order_release);
  return memory;
}

live::CountedMemory* counted_memory() {
  live::CountedMemory* counted = process.counted.load(std::memory_order_acquire);
  if (counted != nullptr || !memory_counts.load(std::memory_order_relaxed) || process.refused.load())
    return counted;
  const std::lock_guard lock(process.first);
  if ((counted = process.counted.load()) != nullptr || refused_for(why_not(false))) return counted;
  counted = new live::CountedMemory(real_memory, *process.gate);
  process.counted.store(counted, std::memory_order_release);
  return counted;
}

void memory_forked() {
  if (live::ManagedMemory* const memory = process.memory.load()) memory->passing().forked();
  process.memory.store(nullptr);
  process.counted.store(nullptr);
  new (&process.first) std::mutex;
  early_contexts().clear();  // a child cannot use them
}

void memory_written(CUdeviceptr address) {
  if (live::ManagedMemory* memory = managed_memory()) memory->written(address);
}

// A thread that is inside another call may hold the lock already.
AddressesLookedUp::AddressesLookedUp()
    : here_(managed_memory() != nullptr && !live::Gate::nested() ? managed_memory()->here()
                                                                 : live::ManagedMemory::Held()) {}

void memory_context_made(std::uint64_t context) {
  if (!manages_memory()) return;
  const std::lock_guard lock(process.first);
  if (live::ManagedMemory* memory = process.memory.load())
    memory->contexts().add(context);
  else
    early_contexts().push_back(context);
}

MemoryContextEnd::MemoryContextEnd(std::uint64_t context, bool sure) : context_(context) {
  live::ManagedMemory* memory = context != 0 && sure ? managed_memory() : nullptr;
  stays_ = memory != nullptr && memory->context_ends(context);
}

MemoryContextEnd::~MemoryContextEnd() {
  if (stays_) memory_context_made(context_);
}

void MemoryContextEnd::gone() {
  stays_ = false;
  fixed_memory_of_context_gone(context_);
  if (live::ManagedMemory* memory = managed_memory()) {
    later_frees().context_gone(*memory, context_);
    memory->context_gone(context_);
  } else if (manages_memory()) {
    const std::lock_guard lock(process.first);
    std::erase(early_contexts(), context_);
  }
}

void say_once(int& said, const char* what) {
  if (said++ == 0) std::fprintf(stderr, "gangway: process %d: %s\n", static_cast<int>(getpid()), what);
}

}  // namespace gangway::intercept
