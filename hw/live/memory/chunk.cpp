#include "hw/live/memory/chunk.hpp"

#include <algorithm>
#include <utility>

namespace gangway::live {
namespace {

constexpr std::uint32_t kReadWrite = 3;  // CU_MEM_ACCESS_FLAGS_PROT_READWRITE

bool writable(const Chunk::Mapping& mapping, const Chunk& chunk) {
  return mapping.offset == 0 && mapping.size == chunk.size &&
         std::any_of(mapping.access.begin(), mapping.access.end(),
                     [](const MemoryDriver::Access& access) { return access.flags == kReadWrite; });
}

// Closed in a child, too: it would keep the memory on the device.
class OpenFile {
 public:
  OpenFile(Passing& passing, Descriptor file) : passing_(passing), file_(std::move(file)) {
    passing_.opened(file_.get());
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() { passing_.opened(-1); }  // before it is closed: its number may be another's at once
  int get() const { return file_.get(); }

 private:
  Passing& passing_;
  Descriptor file_;
};

}  // namespace

bool Chunk::may_be_written() const {
  for (const Mapping& mapping : mappings)
    for (const MemoryDriver::Access& each : mapping.access)
      if (each.flags == kReadWrite) return true;
  return false;
}

bool Chunk::take_host(HostPool& pool) {
  if (!host.empty()) return true;
  for (std::size_t part = 0; part < parts(); ++part) {
    void* const block = pool.take(part_size(part));
    if (block == nullptr) {
      give_host_back(pool);
      return false;
    }
    host.push_back(block);
  }
  return true;
}

void Chunk::give_host_back(HostPool& pool) {
  for (std::size_t part = 0; part < host.size(); ++part) pool.give_back(host[part], part_size(part));
  host.clear();
}

Chunk Chunk::divide(std::uint64_t first) {
  Chunk rest = *this;
  rest.size = size - first;
  Mapping& mapping = rest.mappings.front();
  mapping.address += first;
  mapping.size = rest.size;
  size = mappings.front().size = first;
  passable = passable && size >= kLeastPassed;
  rest.passable = passable && rest.size >= kLeastPassed;
  const auto parts = static_cast<std::ptrdiff_t>(first / kPart);
  rest.host.erase(rest.host.begin(), rest.host.begin() + parts);
  host.erase(host.begin() + parts, host.end());
  return rest;
}

int ChunkMoves::begin_access(const Chunk& chunk, std::uint64_t& address) {
  for (const Chunk::Mapping& mapping : chunk.mappings)
    if (writable(mapping, chunk)) {
      address = mapping.address;
      return MemoryDriver::kSuccess;
    }
  return window(chunk, address);
}

int ChunkMoves::window(const Chunk& chunk, std::uint64_t& address) {
  if (const int failed = driver_.reserve(chunk.size, address)) return failed;
  int failed = driver_.map(address, chunk.size, 0, chunk.handle);
  if (failed == MemoryDriver::kSuccess) {
    failed = driver_.allow(address, chunk.size, {{0, kReadWrite}});
    if (failed != MemoryDriver::kSuccess) driver_.unmap(address, chunk.size);
  }
  if (failed != MemoryDriver::kSuccess)
    driver_.give_back(address, chunk.size);
  else
    windows_.push_back({address, chunk.size});
  return failed;
}

void ChunkMoves::end_access(std::uint64_t address, std::uint64_t size) {
  const auto found = std::find_if(windows_.begin(), windows_.end(),
                                  [&](const Window& window) { return window.address == address; });
  if (found == windows_.end()) return;
  driver_.unmap(address, size);
  driver_.give_back(address, size);
  windows_.erase(found);
}

int ChunkMoves::leave(Chunk& chunk, bool pass, Left& left) {
  for (const Chunk::Mapping& mapping : chunk.mappings)
    if (const int failed = driver_.unmap(mapping.address, mapping.size)) return failed;
  int file = -1;
  if (pass && chunk.lent == 0) pass = driver_.share(chunk.handle, file) == MemoryDriver::kSuccess;
  const OpenFile shared(passing_, Descriptor(file));
  if (const int failed = driver_.release(chunk.handle)) return failed;
  chunk.handle = 0;
  const std::uint64_t lent = std::exchange(chunk.lent, 0);
  left = pass && passing_.pass(lent, chunk.size, file) ? Left::passed : Left::freed;
  if (left == Left::freed && lent != 0) passing_.freed(lent);
  return MemoryDriver::kSuccess;
}

int ChunkMoves::leave(Chunk& chunk) {
  Left left{};
  return leave(chunk, false, left);
}

int ChunkMoves::come(Chunk& chunk, std::optional<Passing::Lent> lent) {
  std::uint64_t handle = 0;
  if (lent) {
    const OpenFile file(passing_, std::move(lent->file));
    if (driver_.adopt(file.get(), handle) == MemoryDriver::kSuccess &&
        map(chunk, handle) == MemoryDriver::kSuccess) {
      chunk.lent = lent->number;
      return MemoryDriver::kSuccess;
    }
  }
  if (lent) passing_.freed(lent->number);
  const bool shareable = chunk.passable && passing_.possible();
  if (const int failed = driver_.create(chunk.size, chunk.properties, shareable, handle)) return failed;
  return map(chunk, handle);
}

// Releases the memory if it cannot be mapped.
int ChunkMoves::map(Chunk& chunk, std::uint64_t handle) {
  int failed = MemoryDriver::kSuccess;
  std::size_t mapped = 0;
  for (; mapped < chunk.mappings.size() && failed == MemoryDriver::kSuccess; ++mapped) {
    const Chunk::Mapping& mapping = chunk.mappings[mapped];
    failed = driver_.map(mapping.address, mapping.size, mapping.offset, handle);
    if (failed != MemoryDriver::kSuccess) break;
    if (!mapping.access.empty()) failed = driver_.allow(mapping.address, mapping.size, mapping.access);
  }
  if (failed == MemoryDriver::kSuccess) {
    chunk.handle = handle;
    return failed;
  }
  for (std::size_t m = 0; m < mapped; ++m) driver_.unmap(chunk.mappings[m].address, chunk.mappings[m].size);
  driver_.release(handle);
  return failed;
}

}  // namespace gangway::live
