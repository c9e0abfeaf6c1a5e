// A piece of physical memory of the program, which is on the device or whose contents are on the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hw/live/memory/host_pool.hpp"
#include "hw/live/memory/memory_driver.hpp"

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
  std::vector<void*> host;       // room for its contents: a block for each part, or none at all
  bool same_on_host = false;     // as on the device
  bool declared = false;         // kernels never write to it, says the user
  bool fixed = false;            // somebody else may use it: it stays
  std::uint64_t context = 0;     // of whoever made it; 0: of none, it lives until it is released
  std::uint32_t references = 0;  // handles that the program has to it

  // Its contents are copied in parts, so that the host needs no large blocks and no copy takes long.
  static constexpr std::uint64_t kPart = 64 << 20;
  std::size_t parts() const { return static_cast<std::size_t>((size + kPart - 1) / kPart); }
  std::uint64_t part_size(std::size_t part) const { return part + 1 < parts() ? kPart : size - part * kPart; }
  bool take_host(HostPool& pool);  // false: there is no room, and it has none
  void give_host_back(HostPool& pool);

  bool on_device() const { return handle != 0; }
  bool may_be_written() const;  // some mapping of it allows that now
};

// The steps of moves: the driver's errors. A chunk that could not come is still away.
class ChunkMoves {
 public:
  explicit ChunkMoves(MemoryDriver& driver) : driver_(driver) {}
  // Where a copy finds its contents: the first mapping that can be written to, or, where there is none, a
  // window that end_access() closes.
  int begin_access(const Chunk& chunk, std::uint64_t& address);
  void end_access(std::uint64_t address, std::uint64_t size);
  int leave(Chunk& chunk);  // its contents are on the host
  int come(Chunk& chunk);   // without contents yet

 private:
  int window(const Chunk& chunk, std::uint64_t& address);

  MemoryDriver& driver_;
  struct Window {
    std::uint64_t address = 0, size = 0;
  };
  std::vector<Window> windows_;
};

}  // namespace gangway::live
