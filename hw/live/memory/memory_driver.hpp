// The driver calls that managed memory needs. Sizes are in bytes; results are the driver's errors.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gangway::live {

class MemoryDriver {
 public:
  static constexpr int kSuccess = 0, kNoMemory = 2, kNotYet = 600;
  static constexpr std::uint64_t kGranularity = 2 << 20;  // of sizes and addresses
  using Properties = std::array<std::byte, 64>;           // of physical memory, in the driver's form
  struct Access {
    std::int32_t device = 0;
    std::uint32_t flags = 0;
  };

  virtual ~MemoryDriver() = default;
  // `shareable`: share() may be called of it, where the driver can.
  virtual int create(std::uint64_t size, const Properties&, bool shareable, std::uint64_t& handle) = 0;
  // A file with which another process can adopt the memory. It is there as long as that is open.
  virtual int share(std::uint64_t handle, int& file) = 0;
  virtual int adopt(int file, std::uint64_t& handle) = 0;
  virtual int release(std::uint64_t handle) = 0;
  virtual int reserve(std::uint64_t size, std::uint64_t& address) = 0;
  virtual int give_back(std::uint64_t address, std::uint64_t size) = 0;
  virtual int map(std::uint64_t address, std::uint64_t size, std::uint64_t offset, std::uint64_t handle) = 0;
  virtual int unmap(std::uint64_t address, std::uint64_t size) = 0;
  virtual int allow(std::uint64_t address, std::uint64_t size, const std::vector<Access>&) = 0;
  virtual int info(std::uint64_t& free, std::uint64_t& total) = 0;

  // Makes the context the calling thread's, for copies.
  virtual int enter(std::uint64_t context) = 0;
  virtual void forget(std::uint64_t context) = 0;  // the context is destroyed
  virtual int pin(void* host, std::uint64_t size) = 0;
  virtual int unpin(void* host) = 0;
  enum class Way { out, in };
  static constexpr unsigned kLanes = 4;  // copies each way that can be under way at once
  virtual int copy(Way, void* host, std::uint64_t device, std::uint64_t size, unsigned lane) = 0;
  virtual int copied(Way, unsigned lane) = 0;  // kNotYet: the lane's copy is under way
};

}  // namespace gangway::live
