#include "tests/standin/calls/registry.hpp"

#include <cuda.h>

#include <map>
#include <mutex>
#include <unordered_map>

namespace gangway::standin {
namespace {

struct Entry {
  Kind kind;
  std::uint64_t number;
};

struct Registry {
  std::mutex mutex;
  std::unordered_map<const void*, Entry> entries;
  std::map<Kind, std::uint64_t> last;
};

Registry& registry() {
  static auto* const all = new Registry;  // worker threads may outlive static objects
  return *all;
}

const char* name_of(Kind kind) {
  static constexpr const char* names[] = {"context", "stream", "event", "module", "function", "library",
                                          "kernel",  "graph",  "node",  "exec",   "pool"};
  return names[static_cast<int>(kind)];
}

}  // namespace

std::uint64_t enter(const void* handle, Kind kind) {
  auto& [mutex, entries, last] = registry();
  const std::lock_guard guard(mutex);
  const std::uint64_t number = ++last[kind];
  entries[handle] = {kind, number};
  return number;
}

void remove(const void* handle) {
  auto& [mutex, entries, last] = registry();
  const std::lock_guard guard(mutex);
  entries.erase(handle);
}

bool alive(const void* handle, Kind kind) {
  auto& [mutex, entries, last] = registry();
  const std::lock_guard guard(mutex);
  const auto found = entries.find(handle);
  return found != entries.end() && found->second.kind == kind;
}

std::string handle_name(const void* handle) {
  if (handle == nullptr) return "0";
  if (handle == CU_STREAM_LEGACY) return "legacy";
  if (handle == CU_STREAM_PER_THREAD) return "per-thread";
  auto& [mutex, entries, last] = registry();
  const std::lock_guard guard(mutex);
  const auto found = entries.find(handle);
  if (found == entries.end()) return "unknown";
  return name_of(found->second.kind) + ('#' + std::to_string(found->second.number));
}

}  // namespace gangway::standin
