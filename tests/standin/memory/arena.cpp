#include "tests/standin/memory/arena.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "tests/standin/contexts/context.hpp"
#include "tests/standin/engine/environment.hpp"
#include "tests/standin/engine/failure.hpp"
#include "tests/standin/memory/ledger.hpp"
#include "tests/standin/memory/virtual_memory.hpp"

namespace gangway::standin {
namespace {

constexpr std::size_t granularity = 512;

std::size_t rounded(std::size_t bytes) { return (bytes + granularity - 1) / granularity * granularity; }

// Sanitizers keep some addresses for themselves, each others; the last resort is an address that may differ
// from run to run.
std::uint64_t reserve(std::size_t bytes) {
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  for (const std::uint64_t wanted : {0x2000000000ULL, 0x200000000000ULL}) {
    void* hint = reinterpret_cast<void*>(wanted);
    void* found = mmap(hint, bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED_NOREPLACE, -1, 0);
    if (found == hint) return wanted;
    if (found != MAP_FAILED) munmap(found, bytes);
  }
  void* found = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (found == MAP_FAILED) environment_error("STANDIN_MEMORY", std::to_string(bytes), std::strerror(errno));
  return reinterpret_cast<std::uint64_t>(found);
}

// Addresses for all devices that the process sees.
std::size_t arena_size() {
  return memory_size() * std::max<std::size_t>(1, static_cast<std::size_t>(device_count()));
}

std::uint64_t arena_start() {
  static const std::uint64_t start = reserve(arena_size());
  return start;
}

}  // namespace

Arena& Arena::get() {
  static auto* const arena = new Arena;
  return *arena;
}

bool Arena::holds(std::uint64_t address) {
  return address - arena_start() < arena_size() || VirtualMemory::holds(address);
}

Arena::Arena() : start_(arena_start()), total_(memory_size()), free_{{start_, arena_size()}} {}

CUdeviceptr Arena::take(std::size_t bytes, int device, const Context* owner) {
  require(bytes <= total_, CUDA_ERROR_OUT_OF_MEMORY);
  const std::size_t size = rounded(bytes);
  for (auto at = free_.begin(); at != free_.end(); ++at) {
    const auto [address, room] = *at;
    if (room < size) continue;
    ledger_take(physical_of(device), size);
    free_.erase(at);
    if (room > size) free_.emplace(address + size, room - size);
    taken_[address] = {bytes, size, device, owner, ++last_number_};
    return address;
  }
  fail(CUDA_ERROR_OUT_OF_MEMORY);
}

void Arena::release(CUdeviceptr address) {
  const auto found = taken_.find(address);
  require(found != taken_.end());
  std::size_t size = found->second.size;
  ledger_give(physical_of(found->second.device), size);
  taken_.erase(found);
  auto after = free_.lower_bound(address);
  if (after != free_.end() && after->first == address + size) {
    size += after->second;
    after = free_.erase(after);
  }
  if (after != free_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == address) {
      before->second += size;
      return;
    }
  }
  free_.emplace(address, size);
}

void Arena::release_of(const Context& owner) {
  std::vector<CUdeviceptr> all;
  for (const auto& [start, taken] : taken_)
    if (taken.owner == &owner) all.push_back(start);
  for (const CUdeviceptr start : all) release(start);
}

std::vector<Arena::Range> Arena::taken() const {
  std::vector<Range> all;
  for (const auto& [start, taken] : taken_) all.push_back({start, taken.size, taken.device});
  return all;
}

std::size_t Arena::used(int device) { return ledger_used(physical_of(device)); }

Arena::Range Arena::range_of(CUdeviceptr address) const {
  if (VirtualMemory::holds(address)) return VirtualMemory::get().range_of(address);
  auto after = taken_.upper_bound(address);
  if (after == taken_.begin()) return {};
  const auto& [start, taken] = *std::prev(after);
  if (address - start >= taken.asked) return {};
  return {start, taken.asked, taken.device, taken.owner, taken.number, taken.sync_memops};
}

void Arena::set_sync_memops(CUdeviceptr address, bool set) {
  require(!VirtualMemory::holds(address), CUDA_ERROR_NOT_SUPPORTED);
  taken_.find(range_of(address).start)->second.sync_memops = set;
}

}  // namespace gangway::standin
