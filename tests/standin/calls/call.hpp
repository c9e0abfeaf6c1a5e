// Around every driver call: counts it, logs it, turns what the implementation throws into a result.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#define STANDIN_EXPORT __attribute__((visibility("default")))

namespace gangway::standin {

struct Symbol {
  const char* name;  // as exported
  const char* base;  // without version and kind of default stream
  int since;         // the CUDA version that brought it, as 12030
  bool per_thread;   // its NULL stream is the thread's own
  void* address;
};
extern const Symbol symbols[];
extern const std::size_t symbol_count;

// Kind: 'h' handle, 'd' device address, 'p' pointer, 's' text, 'i' signed, 'u' unsigned, 'f' float, 'e'
// enumeration, 'o' a structure by value.
struct Argument {
  char kind;
  std::uint64_t value;
};

inline std::uint64_t address(const volatile void* p) { return reinterpret_cast<std::uintptr_t>(p); }
template <class T>
std::uint64_t address(T function) {
  return reinterpret_cast<std::uintptr_t>(function);
}
inline std::uint64_t bits(std::uint64_t value) { return value; }
template <class T>
requires std::is_pointer_v<T> std::uint64_t bits(T pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

class Call {
 public:
  // `per_thread`: NULL streams in this call are the thread's. `early`: allowed before cuInit.
  Call(std::size_t symbol, bool per_thread, bool early, std::span<const Argument> arguments);
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call();

  bool refused() const;
  CUresult planted() const;  // the error that a test wants of this call, if any
  CUresult done(CUresult result);
  CUresult unimplemented();

 private:
  std::size_t symbol_;
  bool outer_per_thread_;
  bool early_;
  std::string logged_;  // the call as it came in: its handles may be gone when it ends
  std::vector<std::pair<std::size_t, const void* const*>>
      made_;  // where in it the handles belong that it makes
};

// The result of the exception being handled: a Failure's own, or out of memory.
CUresult caught();

void mark_initialized();
bool per_thread_default_stream();

}  // namespace gangway::standin
