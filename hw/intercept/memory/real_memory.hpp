// The real driver's virtual memory and copies, for managed memory.
#pragma once

#include <mutex>

#include "hw/intercept/driver.hpp"
#include "hw/live/memory/memory_driver.hpp"

namespace gangway::intercept {

class RealMemory : public live::MemoryDriver {
 public:
  void find(void* library);
  static Properties properties_of(const CUmemAllocationProp& properties);

  int create(std::uint64_t size, const Properties&, bool shareable, std::uint64_t& handle) override;
  int share(std::uint64_t handle, int& file) override;
  int adopt(int file, std::uint64_t& handle) override;
  int release(std::uint64_t handle) override;
  int reserve(std::uint64_t size, std::uint64_t& address) override;
  int give_back(std::uint64_t address, std::uint64_t size) override;
  int map(std::uint64_t address, std::uint64_t size, std::uint64_t offset, std::uint64_t handle) override;
  int unmap(std::uint64_t address, std::uint64_t size) override;
  int allow(std::uint64_t address, std::uint64_t size, const std::vector<Access>&) override;
  int info(std::uint64_t& free, std::uint64_t& total) override;
  int enter(std::uint64_t context) override;
  void forget(std::uint64_t context) override;
  int pin(void* host, std::uint64_t size) override;
  int unpin(void* host) override;
  int copy(Way, void* host, std::uint64_t device, std::uint64_t size, unsigned lane) override;
  int copied(Way, unsigned lane) override;

 private:
  int open_lanes();

  std::mutex mutex_;  // guards the streams and events of copies, which the mover's thread uses
  std::uint64_t context_ = 0;
  CUstream streams_[2] = {};
  CUevent events_[2][kLanes] = {};

  decltype(::cuMemCreate)* create_ = nullptr;
  decltype(::cuMemRelease)* release_ = nullptr;
  decltype(::cuMemExportToShareableHandle)* export_ = nullptr;
  decltype(::cuMemImportFromShareableHandle)* import_ = nullptr;
  decltype(::cuMemAddressReserve)* reserve_ = nullptr;
  decltype(::cuMemAddressFree)* give_back_ = nullptr;
  decltype(::cuMemMap)* map_ = nullptr;
  decltype(::cuMemUnmap)* unmap_ = nullptr;
  decltype(::cuMemSetAccess)* allow_ = nullptr;
  decltype(::cuMemGetInfo_v2)* info_ = nullptr;
  decltype(::cuCtxSetCurrent)* set_current_ = nullptr;
  decltype(::cuStreamCreateWithPriority)* create_stream_ = nullptr;
  decltype(::cuEventCreate)* create_event_ = nullptr;
  decltype(::cuEventRecord)* record_ = nullptr;
  decltype(::cuEventQuery)* query_ = nullptr;
  decltype(::cuMemHostRegister_v2)* pin_ = nullptr;
  decltype(::cuMemHostUnregister)* unpin_ = nullptr;
  decltype(::cuMemcpyDtoHAsync_v2)* out_ = nullptr;
  decltype(::cuMemcpyHtoDAsync_v2)* in_ = nullptr;
  decltype(::cuCtxGetStreamPriorityRange)* priorities_ = nullptr;
};

extern RealMemory real_memory;

}  // namespace gangway::intercept
