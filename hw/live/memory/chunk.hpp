// A piece of the program's physical memory. Its contents are on the device, or on the host while it is away.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hw/live/memory/host_pool.hpp"
#include "hw/live/memory/memory_driver.hpp"
#include "hw/live/memory/passing.hpp"

namespace gangway::live {

struct Chunk {
  struct Mapping {
    std::uint64_t address = 0, size = 0, offset = 0;
    std::vector<MemoryDriver::Access> access;
  };
  std::uint64_t size = 0;
  std::uint64_t handle = 0;  // the driver's; 0: not on the device
  MemoryDriver::Properties properties{};
  std::vector<Mapping> mappings;
  std::vector<void*> host;       // pinned blocks for its contents: one for each part, or none
  bool same_on_host = false;     // the host blocks hold the current contents
  bool declared = false;         // the user says that no kernel writes to it
  bool fixed = false;            // others may use it: it stays on the device
  bool divides = false;          // it is one piece only until it leaves for the first time
  bool passable = false;         // another client may have its memory, and it another's
  std::uint64_t lent = 0;        // the daemon's number of its memory; 0: it is this process's own
  std::uint64_t context = 0;     // of the allocation that created it; 0: none
  std::uint32_t references = 0;  // how many handles to it are in use

  // Its contents are copied in parts, so that the host needs no large blocks and no copy takes long.
  static constexpr std::uint64_t kPart = 64 << 20;
  std::size_t parts() const { return static_cast<std::size_t>((size + kPart - 1) / kPart); }
  std::uint64_t part_size(std::size_t part) const { return part + 1 < parts() ? kPart : size - part * kPart; }
  bool take_host(HostPool& pool);  // false: too little room, and it takes no block
  void give_host_back(HostPool& pool);

  // Takes what is behind `first` bytes, a multiple of kPart, off a chunk that has one mapping and is away.
  Chunk divide(std::uint64_t first);

  bool on_device() const { return handle != 0; }
  bool may_be_written() const;  // whether a mapping now allows that
};

// The steps of moving a chunk. They return the driver's errors. A chunk that could not come is still away.
class ChunkMoves {
 public:
  ChunkMoves(MemoryDriver& driver, Passing& passing) : driver_(driver), passing_(passing) {}
  // Sets `address` to where copies can access the chunk: its first writable mapping of the whole, else a
  // temporary mapping, which end_access() removes.
  int begin_access(const Chunk& chunk, std::uint64_t& address);
  void end_access(std::uint64_t address, std::uint64_t size);
  // Frees it on the device, or passes its memory on; the host has its contents.
  enum class Left { freed, passed };
  int leave(Chunk& chunk, bool pass, Left& left);
  int leave(Chunk& chunk);
  // Maps it again, without contents yet, to memory that was lent or else is created.
  int come(Chunk& chunk, std::optional<Passing::Lent> lent = std::nullopt);

 private:
  int window(const Chunk& chunk, std::uint64_t& address);
  int map(Chunk& chunk, std::uint64_t handle);

  MemoryDriver& driver_;
  Passing& passing_;
  struct Window {
    std::uint64_t address = 0, size = 0;
  };
  std::vector<Window> windows_;
};

}  // namespace gangway::live
