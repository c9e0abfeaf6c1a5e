#include "tests/standin/calls/call.hpp"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <string>

#include "tests/standin/calls/registry.hpp"
#include "tests/standin/engine/environment.hpp"
#include "tests/standin/engine/failure.hpp"
#include "tests/standin/memory/arena.hpp"
#include "tests/standin/processes/checkpoint.hpp"
#include "tests/standin/standin.h"

namespace gangway::standin {
namespace {

constexpr std::size_t most_symbols = 2048;
std::atomic<std::uint64_t> counts[most_symbols];
std::atomic<std::uint64_t> all_calls, unimplemented_calls;
std::atomic<bool> initialized;
thread_local bool per_thread;

// The file that STANDIN_LOG names; null without one. "%p" in the name is the process's number.
std::FILE* open_log() {
  const char* value = std::getenv("STANDIN_LOG");
  if (value == nullptr || *value == '\0') return nullptr;
  std::string path = value;
  if (const auto at = path.find("%p"); at != std::string::npos) path.replace(at, 2, std::to_string(getpid()));
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) {
    std::fprintf(stderr, "stand-in: STANDIN_LOG: cannot write '%s': %s\n", path.c_str(),
                 std::strerror(errno));
    std::abort();
  }
  std::setvbuf(file, nullptr, _IOLBF, 1 << 16);
  return file;
}

std::FILE* log_file() {
  static std::FILE* const file = open_log();
  return file;
}

unsigned thread_number() {
  static std::atomic<unsigned> threads;
  thread_local const unsigned number = ++threads;
  return number;
}

std::string hexadecimal(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string described(const Argument& argument) {
  switch (argument.kind) {
    case 'h':
      return handle_name(reinterpret_cast<const void*>(argument.value));
    case 'i':
      return std::to_string(static_cast<std::int64_t>(argument.value));
    case 's':
      return argument.value == 0 ? "0" : reinterpret_cast<const char*>(argument.value);
    case 'o':
      return "{}";
    case 'd':
    case 'p':
    case 'r':
      if (argument.value == 0) return "0";
      return Arena::holds(argument.value) ? hexadecimal(argument.value) : "host";
    default:
      return argument.value >> 32 != 0 && argument.kind == 'e' ? "opaque" : std::to_string(argument.value);
  }
}

}  // namespace

Call::Call(std::size_t symbol, bool per_thread_null, bool early, std::span<const Argument> arguments)
    : symbol_(symbol), outer_per_thread_(per_thread), early_(early) {
  call_begins();
  per_thread = per_thread_null;
  if (log_file() != nullptr) {
    logged_ = std::to_string(thread_number()) + ' ' + symbols[symbol_].name + '(';
    for (const Argument& argument : arguments) {
      if (&argument != arguments.data()) logged_ += ", ";
      if (argument.kind == 'r' && argument.value != 0)
        made_.emplace_back(logged_.size(), reinterpret_cast<const void* const*>(argument.value));
      else
        logged_ += described(argument);
    }
  }
  counts[symbol].fetch_add(1, std::memory_order_relaxed);
  all_calls.fetch_add(1, std::memory_order_relaxed);
}

Call::~Call() {
  per_thread = outer_per_thread_;
  call_ends();
}

bool Call::refused() const { return !early_ && !initialized.load(std::memory_order_acquire); }

// STANDIN_FAIL: SYMBOL:FROM:TO:ERROR, the calls of that symbol, counted from 1, that end with that error;
// or SYMBOL:FROM:TO:ERROR:THREAD, of those in threads of that name.
CUresult Call::planted() const {
  struct Fault {
    std::string symbol, thread;
    std::atomic<unsigned long long> calls{0};  // in such threads
    unsigned long long from = 0, to = 0;
    int error = 0;
    Fault() {
      char name[128], in[16] = "";
      const std::string text = environment_text("STANDIN_FAIL", "");
      if (text.empty()) return;
      if (std::sscanf(text.c_str(), "%127[^:]:%llu:%llu:%d:%15s", name, &from, &to, &error, in) < 4)
        environment_error("STANDIN_FAIL", text,
                          "expected SYMBOL:FROM:TO:ERROR or SYMBOL:FROM:TO:ERROR:THREAD");
      symbol = name;
      thread = in;
    }
    bool here() const {
      char own[16] = "";
      return thread.empty() || (pthread_getname_np(pthread_self(), own, sizeof own) == 0 && thread == own);
    }
  };
  static Fault fault;
  if (fault.error == 0 || fault.symbol != symbols[symbol_].name || !fault.here()) return CUDA_SUCCESS;
  const std::uint64_t number = fault.thread.empty() ? counts[symbol_].load() : ++fault.calls;
  return number >= fault.from && number <= fault.to ? static_cast<CUresult>(fault.error) : CUDA_SUCCESS;
}

CUresult Call::done(CUresult result) {
  if (std::FILE* file = log_file()) {
    for (std::size_t i = made_.size(); i-- > 0;)
      logged_.insert(made_[i].first, result == CUDA_SUCCESS ? handle_name(*made_[i].second) : "host");
    logged_ += ") -> " + std::to_string(result) + '\n';
    std::fwrite(logged_.data(), 1, logged_.size(), file);
  }
  return result;
}

CUresult Call::unimplemented() {
  unimplemented_calls.fetch_add(1, std::memory_order_relaxed);
  return done(refused() ? CUDA_ERROR_NOT_INITIALIZED : CUDA_ERROR_NOT_SUPPORTED);
}

CUresult caught() {
  try {
    throw;
  } catch (const Failure& failure) {
    return failure.result;
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
}

void mark_initialized() { initialized.store(true, std::memory_order_release); }

bool per_thread_default_stream() { return per_thread; }

}  // namespace gangway::standin

using namespace gangway::standin;

extern "C" {

STANDIN_EXPORT uint64_t standin_calls(const char* symbol) {
  if (symbol == nullptr) return all_calls.load();
  for (std::size_t i = 0; i < symbol_count; ++i)
    if (std::strcmp(symbols[i].name, symbol) == 0) return counts[i].load();
  return 0;
}

STANDIN_EXPORT uint64_t standin_unimplemented(void) { return unimplemented_calls.load(); }
}
