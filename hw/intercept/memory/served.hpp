// The driver's functions about memory that functions.def lists under SERVED: answered from managed memory if
// the process has it, else by the driver.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "hw/intercept/driver.hpp"
#include "hw/intercept/forms/forms.hpp"
#include "hw/live/gate.hpp"
#include "hw/live/memory/counted_memory.hpp"
#include "hw/live/memory/managed_memory.hpp"
#include "hw/live/registration.hpp"

namespace gangway::intercept {

template <Index I>
struct Serves;
#define SUBMISSION(symbol, kind)
#define SYNCHRONISATION(symbol, what)
#define OBSERVED(symbol, what)
#define PASSED(symbol)
#define SERVED(symbol)                                                                            \
  template <>                                                                                     \
  struct Serves<i_##symbol> {                                                                     \
    using Function = decltype(::symbol);                                                          \
    static Function call;                                                                         \
    static Function* real() { return reinterpret_cast<Function*>(intercepted[i_##symbol].real); } \
  };
#include "hw/intercept/functions.def"
#undef SUBMISSION
#undef SYNCHRONISATION
#undef OBSERVED
#undef PASSED
#undef SERVED

// Whether the driver's function waits for the device.
template <Index I>
inline constexpr bool waits_for_device =
    I == i_cuArrayDestroy || I == i_cuMemFree_v2 || I == i_cuMemPoolTrimTo || I == i_cuMemUnmap ||
    I == i_cuMipmappedArrayDestroy;

// Calls the driver's function; an error if the driver lacks it.
template <Index I, typename... A>
CUresult natively(A... arguments) {
  const auto real = Serves<I>::real();
  if (real == nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  const live::LaunchKeeper::Alone alone(waits_for_device<I> ? keeper() : nullptr);
  return real(arguments...);
}

// `gangway exec` wants managed memory for this process. Call it before anything else.
void memory_is_managed(live::Gate& gate, live::Helped& helped);
bool manages_memory();
// Likewise counted memory: the driver has it, and may checkpoint the process. Null: it is not counted.
void memory_is_counted(live::Gate& gate);
inline constinit std::atomic<bool> memory_counts{false};  // it is counted, so the process may go as a whole
// As name_of(), for a submission. Where the process is away, the driver keeps the thread in the question for
// its context; the daemon sees it wait.
[[gnu::cold]] live::StreamName name_seen_to_wait(CUstream stream, bool thread);
[[gnu::always_inline]] inline live::StreamName name_at_gate(CUstream stream, bool thread) {
  if (memory_counts.load(std::memory_order_relaxed)) [[unlikely]]
    return name_seen_to_wait(stream, thread);
  return name_of(stream, thread);
}
live::CountedMemory* counted_memory();
// Makes the call, after claiming room for it if memory is counted. The call sets `made` to the address or
// handle for FixedMemoryGoes, unless `made` is null. `context`: whose end frees it; 0: none.
CUresult in_counted_room(std::uint64_t bytes, std::uint64_t context,
                         const std::function<CUresult(std::uint64_t* made)>& allocate);
// Null: memory is not managed, or not yet: that begins at a call with `first` and a current context.
live::ManagedMemory* managed_memory(bool first = false);
void memory_forked();
void memory_written(CUdeviceptr address);  // by a copy or memset; 0: at an unknown address
void memory_context_made(std::uint64_t context);
// Held around a call that may destroy a context (0: none). `sure`: unless it fails; then nobody uses the
// context meanwhile.
class MemoryContextEnd {
 public:
  MemoryContextEnd(std::uint64_t context, bool sure);
  MemoryContextEnd(const MemoryContextEnd&) = delete;
  MemoryContextEnd& operator=(const MemoryContextEnd&) = delete;
  ~MemoryContextEnd();
  void gone();  // without this, the context stays

 private:
  std::uint64_t context_;
  bool stays_ = false;  // then it is still known
};
// One line, once for each reason.
void say_once(int& said, const char* what);

live::Gate& memory_gate();

// Held around a call in which the driver looks up addresses of what runs later: a capture's, a graph's, a
// texture's. Waits until all of the state is on the device, where it stays meanwhile.
class AddressesLookedUp {
 public:
  AddressesLookedUp();

 private:
  live::ManagedMemory::Held here_;
  live::Gate::Nested nested_;
};

// What counts of memory that the driver is about to free. It is taken out of the books meanwhile, because
// another thread may get the same address or handle before the call returns.
class FixedMemoryGoes {
 public:
  struct Entry {
    std::uint64_t bytes = 0, context = 0;
  };
  explicit FixedMemoryGoes(std::uint64_t which);
  FixedMemoryGoes(const FixedMemoryGoes&) = delete;
  FixedMemoryGoes& operator=(const FixedMemoryGoes&) = delete;
  ~FixedMemoryGoes();  // unless it is gone, it is in the books again
  void gone();         // the driver has freed it

 private:
  std::uint64_t which_;
  std::optional<Entry> entry_;
};
void fixed_memory_of_context_gone(std::uint64_t context);

}  // namespace gangway::intercept
