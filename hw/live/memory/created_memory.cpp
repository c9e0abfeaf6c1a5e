// Physical memory that the program creates and maps itself (cuMemCreate, cuMemMap), as PyTorch's expandable
// segments do.
#include <algorithm>
#include <iterator>

#include "hw/live/memory/managed_memory.hpp"

namespace gangway::live {

int ManagedMemory::create(std::uint64_t size, const MemoryDriver::Properties& properties,
                          std::uint64_t context, std::uint64_t& handle) {
  contexts_.used(context);  // where it waits for memory, that of the host is pinned first
  for (int attempts = 0;;) {
    Held lock = when_here();
    const bool claimed = claims_.claim(size);
    Chunk* chunk = nullptr;
    const int failed = claimed ? add_chunk(size, properties, chunk) : MemoryDriver::kNoMemory;
    if (failed == MemoryDriver::kSuccess) {
      chunk->references = 1;
      handle = ++last_handle_;
      handles_[handle] = chunk;
      return failed;
    }
    if (claimed) claims_.give_back(size);
    lock.unlock();
    attempts = claimed ? std::max(attempts, 1) : 0;
    if (failed != MemoryDriver::kNoMemory || more(size, attempts) != MemoryDriver::kSuccess) return failed;
  }
}

std::optional<int> ManagedMemory::release(std::uint64_t handle) {
  constexpr int kInvalid = 1;
  if (!is_ours(handle)) return std::nullopt;
  const Held lock = when_still();
  const auto found = handles_.find(handle);
  if (found == handles_.end()) return kInvalid;
  Chunk& chunk = *found->second;
  if (--chunk.references == 0) {
    handles_.erase(found);
    if (chunk.mappings.empty()) remove(chunk);
  }
  return MemoryDriver::kSuccess;
}

std::optional<int> ManagedMemory::map(std::uint64_t address, std::uint64_t size, std::uint64_t offset,
                                      std::uint64_t handle) {
  constexpr int kInvalid = 1;
  if (!is_ours(handle)) return std::nullopt;
  const Held lock = when_here();
  const auto found = handles_.find(handle);
  if (found == handles_.end()) return kInvalid;
  Chunk& chunk = *found->second;
  if (const int failed = driver_.map(address, size, offset, chunk.handle)) return failed;
  chunk.mappings.push_back({address, size, offset, {}});
  mapped_[address] = &chunk;
  return MemoryDriver::kSuccess;
}

// All of the mappings in the range; none, where something in it is not ours.
std::vector<ManagedMemory::Place> ManagedMemory::places(std::uint64_t address, std::uint64_t size) {
  std::vector<Place> all;
  const std::uint64_t end = address + size;
  while (address < end) {
    const auto found = mapped_.find(address);
    if (found == mapped_.end()) return {};
    std::vector<Chunk::Mapping>& mappings = found->second->mappings;
    const auto mapping = std::find_if(mappings.begin(), mappings.end(),
                                      [&](const Chunk::Mapping& m) { return m.address == address; });
    all.push_back({found->second, static_cast<std::size_t>(mapping - mappings.begin())});
    address += mapping->size;
  }
  if (address != end) return {};
  return all;
}

std::optional<int> ManagedMemory::unmap(std::uint64_t address, std::uint64_t size) {
  const Held lock = when_still();
  const std::vector<Place> all = places(address, size);
  if (all.empty()) return std::nullopt;
  for (const Place& place : all) {
    Chunk& chunk = *place.chunk;
    const auto mapping = std::find_if(chunk.mappings.begin(), chunk.mappings.end(),
                                      [&](const Chunk::Mapping& m) { return m.address == address; });
    if (chunk.on_device())
      if (const int failed = driver_.unmap(mapping->address, mapping->size)) return failed;
    chunk.same_on_host = chunk.same_on_host && !(chunk.on_device() && chunk.may_be_written());
    mapped_.erase(address);
    address += mapping->size;
    chunk.mappings.erase(mapping);
    if (chunk.mappings.empty() && chunk.references == 0) remove(chunk);
  }
  return MemoryDriver::kSuccess;
}

std::optional<int> ManagedMemory::allow(std::uint64_t address, std::uint64_t size,
                                        const std::vector<MemoryDriver::Access>& access) {
  const Held lock = when_here();
  const std::vector<Place> all = places(address, size);
  if (all.empty()) return std::nullopt;
  if (const int failed = driver_.allow(address, size, access)) return failed;
  for (const Place& place : all) {
    place.chunk->same_on_host = false;  // it may have been written until now, or be from now on
    std::vector<MemoryDriver::Access>& known = place.chunk->mappings[place.mapping].access;
    for (const MemoryDriver::Access& each : access) {
      const auto same = std::find_if(known.begin(), known.end(), [&](const MemoryDriver::Access& other) {
        return other.device == each.device;
      });
      if (same == known.end())
        known.push_back(each);
      else
        same->flags = each.flags;
    }
  }
  return MemoryDriver::kSuccess;
}

std::optional<std::uint64_t> ManagedMemory::retain(std::uint64_t address) {
  const Held lock = when_still();
  const auto after = mapped_.upper_bound(address);
  if (after == mapped_.begin()) return std::nullopt;
  Chunk& chunk = *std::prev(after)->second;
  const bool inside = std::any_of(chunk.mappings.begin(), chunk.mappings.end(), [&](const Chunk::Mapping& m) {
    return address >= m.address && address - m.address < m.size;
  });
  if (!inside) return std::nullopt;
  for (const auto& [handle, of] : handles_)
    if (of == &chunk) {
      ++chunk.references;
      return handle;
    }
  chunk.references = 1;
  handles_[++last_handle_] = &chunk;
  return last_handle_;
}

bool ManagedMemory::is_mapped(std::uint64_t address) {
  const std::lock_guard lock(mutex_);
  const auto after = mapped_.upper_bound(address);
  if (after == mapped_.begin()) return false;
  for (const Chunk::Mapping& m : std::prev(after)->second->mappings)
    if (address >= m.address && address - m.address < m.size) return true;
  return false;
}

ManagedMemory::Held ManagedMemory::here_if_mapped(std::uint64_t address) {
  return is_mapped(address) ? when_here() : Held();
}

std::uint64_t ManagedMemory::real(std::uint64_t handle) {
  const auto found = handles_.find(handle);
  return found != handles_.end() ? found->second->handle : 0;
}

std::uint64_t ManagedMemory::fix(std::uint64_t handle) {
  const Held lock = when_here();
  const auto found = handles_.find(handle);
  if (found == handles_.end()) return 0;
  fix(*found->second);
  return found->second->handle;
}

void ManagedMemory::fix_mapped(std::uint64_t address, std::uint64_t size) {
  const Held lock = when_here();
  for (const auto& [start, chunk] : mapped_)
    for (const Chunk::Mapping& mapping : chunk->mappings)
      if (mapping.address == start && start < address + size && address < start + mapping.size) fix(*chunk);
}

void ManagedMemory::fix(Chunk& chunk) {
  if (chunk.fixed) return;
  MemoryStanding& standing = gate_.page()->memory;
  standing.movable.fetch_sub(chunk.size);
  standing.fixed.fetch_add(chunk.size);
  chunk.fixed = true;
}

}  // namespace gangway::live
