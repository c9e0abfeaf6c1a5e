#include "tests/standin/memory/virtual_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <set>
#include <string>

#include "api.hpp"
#include "tests/standin/contexts/context.hpp"
#include "tests/standin/engine/environment.hpp"
#include "tests/standin/engine/failure.hpp"
#include "tests/standin/memory/ledger.hpp"

namespace gangway::standin {
namespace {

constexpr std::size_t kAddresses = std::size_t{1} << 40, kFewest = std::size_t{1} << 34;

// The addresses that reservations come from: fewer under a sanitizer, which has its own use for most.
struct Addresses {
  std::uint64_t first = 0;
  std::size_t size = kAddresses;
};
const Addresses& addresses() {
  static const Addresses all = [] {
    constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    Addresses made;
    void* hint = reinterpret_cast<void*>(0x300000000000ULL);
    void* found = mmap(hint, made.size, PROT_NONE, flags | MAP_FIXED_NOREPLACE, -1, 0);
    if (found == MAP_FAILED) found = mmap(nullptr, made.size, PROT_NONE, flags, -1, 0);
    while (found == MAP_FAILED && made.size > kFewest)
      found = mmap(nullptr, made.size /= 2, PROT_NONE, flags, -1, 0);
    if (found == MAP_FAILED) environment_error("addresses", std::to_string(made.size), std::strerror(errno));
    made.first = reinterpret_cast<std::uint64_t>(found);
    return made;
  }();
  return all;
}
std::uint64_t first_address() { return addresses().first; }

void* place(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

std::size_t up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

bool whole(std::size_t bytes) { return bytes > 0 && bytes % VirtualMemory::kGranularity == 0; }

// Other bytes than before in each piece of 64 KiB.
void poison(int file, std::size_t size) {
  char bytes[64];
  std::memset(bytes, 0xA5, sizeof bytes);
  for (std::size_t at = 0; at < size; at += 64 << 10)
    require(pwrite(file, bytes, sizeof bytes, static_cast<off_t>(at)) == sizeof bytes,
            CUDA_ERROR_OUT_OF_MEMORY);
}

}  // namespace

Physical::~Physical() {
  if (file < 0) return;
  close(file);
  ledger_give(physical_of(properties.location.id), size);
}

VirtualMemory& VirtualMemory::get() {
  static auto* const all = new VirtualMemory;
  return *all;
}

bool VirtualMemory::holds(std::uint64_t address) { return address - first_address() < addresses().size; }

CUdeviceptr VirtualMemory::reserve(std::size_t bytes, std::size_t alignment, CUdeviceptr wanted) {
  require(whole(bytes) && (alignment & (alignment - 1)) == 0);
  if (alignment < kGranularity) alignment = kGranularity;
  const auto free = [&](CUdeviceptr at) {
    const auto after = reserved_.lower_bound(at);
    if (after != reserved_.end() && after->first < at + bytes) return false;
    return after == reserved_.begin() || std::prev(after)->first + std::prev(after)->second <= at;
  };
  CUdeviceptr at = up(first_address(), alignment);
  if (holds(wanted) && wanted % alignment == 0 && free(wanted)) at = wanted;
  for (auto it = reserved_.begin(); !free(at); ++it) at = up(it->first + it->second, alignment);
  require(at + bytes <= first_address() + addresses().size, CUDA_ERROR_OUT_OF_MEMORY);
  reserved_[at] = bytes;
  return at;
}

void VirtualMemory::give_back(CUdeviceptr address, std::size_t bytes) {
  const auto found = reserved_.find(address);
  require(found != reserved_.end() && found->second == bytes);
  const auto mapped = mappings_.lower_bound(address);
  require(mapped == mappings_.end() || mapped->first >= address + bytes);
  reserved_.erase(found);
}

CUmemGenericAllocationHandle VirtualMemory::create(std::size_t bytes, const CUmemAllocationProp& properties) {
  require(whole(bytes) && properties.type == CU_MEM_ALLOCATION_TYPE_PINNED &&
          properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE);
  device(properties.location.id);
  auto made = std::make_shared<Physical>();
  ledger_take(physical_of(properties.location.id), bytes);
  made->size = bytes;
  made->properties = properties;
  made->file = memfd_create("stand-in", MFD_CLOEXEC);
  if (made->file < 0) ledger_give(physical_of(properties.location.id), bytes);
  require(made->file >= 0 && ftruncate(made->file, static_cast<off_t>(bytes)) == 0, CUDA_ERROR_OUT_OF_MEMORY);
  poison(made->file, bytes);
  made->number = ++last_;
  handles_[last_] = made;
  return last_;
}

int VirtualMemory::export_file(CUmemGenericAllocationHandle handle) {
  const Physical& what = physical(handle);
  require(what.properties.requestedHandleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR && !what.imported);
  const int file = fcntl(what.file, F_DUPFD_CLOEXEC, 0);
  require(file >= 0, CUDA_ERROR_OUT_OF_MEMORY);
  return file;
}

CUmemGenericAllocationHandle VirtualMemory::import_file(int file) {
  struct stat facts {};
  const bool is_memory = fcntl(file, F_GET_SEALS) >= 0 && fstat(file, &facts) == 0;
  require(is_memory && whole(static_cast<std::size_t>(facts.st_size)));
  const auto bytes = static_cast<std::size_t>(facts.st_size);
  auto made = std::make_shared<Physical>();
  ledger_take(physical_of(0), bytes);
  made->size = bytes;
  made->properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  made->properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  made->file = fcntl(file, F_DUPFD_CLOEXEC, 0);
  if (made->file < 0) ledger_give(physical_of(0), bytes);
  require(made->file >= 0, CUDA_ERROR_OUT_OF_MEMORY);
  made->imported = true;
  made->number = ++last_;
  handles_[last_] = made;
  return last_;
}

Physical& VirtualMemory::physical(CUmemGenericAllocationHandle handle) {
  const auto found = handles_.find(handle);
  require(found != handles_.end());
  return *found->second;
}

void VirtualMemory::release(CUmemGenericAllocationHandle handle) {
  if (--physical(handle).references == 0) handles_.erase(handle);
}

void VirtualMemory::map(CUdeviceptr address, std::size_t bytes, std::size_t offset,
                        CUmemGenericAllocationHandle handle) {
  Physical& what = physical(handle);
  require(whole(bytes) && address % kGranularity == 0 && offset == 0 && bytes <= what.size);
  const auto around = reserved_.upper_bound(address);
  require(around != reserved_.begin());
  const auto& [start, size] = *std::prev(around);
  require(address + bytes <= start + size);
  const auto after = mappings_.lower_bound(address);
  require(after == mappings_.end() || after->first >= address + bytes);
  require(mapping(address) == mappings_.end());
  void* at = mmap(place(address), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, what.file, 0);
  require(at != MAP_FAILED, CUDA_ERROR_OUT_OF_MEMORY);
  mappings_[address] = {bytes, handles_.at(handle), CU_MEM_ACCESS_FLAGS_PROT_NONE};
}

void VirtualMemory::unmap(CUdeviceptr address, std::size_t bytes) {
  std::size_t there = 0;
  for (auto it = mappings_.find(address); there < bytes; ++it) {
    require(it != mappings_.end() && it->first == address + there);
    there += it->second.size;
  }
  require(there == bytes && bytes > 0);
  for (std::size_t done = 0; done < bytes;) {
    const auto found = mappings_.find(address + done);
    done += found->second.size;
    mappings_.erase(found);
  }
  mmap(place(address), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

void VirtualMemory::set_access(CUdeviceptr address, std::size_t bytes, CUmemAccess_flags flags) {
  std::size_t there = 0;
  for (auto it = mappings_.find(address); there < bytes; ++it) {
    require(it != mappings_.end() && it->first == address + there);
    there += it->second.size;
  }
  require(there == bytes && bytes > 0);
  const int protection = flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE ? PROT_READ | PROT_WRITE
                         : flags == CU_MEM_ACCESS_FLAGS_PROT_READ    ? PROT_READ
                                                                     : PROT_NONE;
  require(mprotect(place(address), bytes, protection) == 0);
  for (auto it = mappings_.find(address); it != mappings_.end() && it->first < address + bytes; ++it)
    it->second.access = flags;
}

CUmemAccess_flags VirtualMemory::access(CUdeviceptr address) const {
  const auto found = mapping(address);
  require(found != mappings_.end());
  return found->second.access;
}

CUmemGenericAllocationHandle VirtualMemory::retain(CUdeviceptr address) {
  const auto found = mapping(address);
  require(found != mappings_.end());
  const std::shared_ptr<Physical>& what = found->second.physical;
  what->references = handles_.count(what->number) != 0 ? what->references + 1 : 1;
  handles_[what->number] = what;
  return what->number;
}

std::map<CUdeviceptr, VirtualMemory::Mapping>::const_iterator VirtualMemory::mapping(
    CUdeviceptr address) const {
  const auto after = mappings_.upper_bound(address);
  if (after == mappings_.begin()) return mappings_.end();
  const auto found = std::prev(after);
  return address - found->first < found->second.size ? found : mappings_.end();
}

Arena::Range VirtualMemory::range_of(CUdeviceptr address) const {
  const auto found = mapping(address);
  return found == mappings_.end()
             ? Arena::Range{}
             : Arena::Range{found->first, found->second.size, found->second.physical->properties.location.id,
                            nullptr, found->second.physical->number};
}

std::vector<std::shared_ptr<Physical>> VirtualMemory::all() const {
  std::set<std::shared_ptr<Physical>> found;
  for (const auto& [handle, physical] : handles_) found.insert(physical);
  for (const auto& [address, mapping] : mappings_) found.insert(mapping.physical);
  return {found.begin(), found.end()};
}

bool VirtualMemory::usable(CUdeviceptr address, std::size_t bytes) const {
  const CUdeviceptr end = address + bytes;
  while (address < end) {
    const auto found = mapping(address);
    if (found == mappings_.end() || found->second.access == CU_MEM_ACCESS_FLAGS_PROT_NONE) return false;
    address = found->first + found->second.size;
  }
  return true;
}

namespace api {

CUresult cuMemAddressReserve(CUdeviceptr* ptr, size_t size, size_t alignment, CUdeviceptr addr,
                             unsigned long long flags) {
  const Lock lock = lock_driver();
  require(ptr != nullptr && flags == 0);
  *ptr = VirtualMemory::get().reserve(size, alignment, addr);
  return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr ptr, size_t size) {
  const Lock lock = lock_driver();
  VirtualMemory::get().give_back(ptr, size);
  return CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size, const CUmemAllocationProp* prop,
                     unsigned long long flags) {
  const Lock lock = lock_driver();
  require(handle != nullptr && prop != nullptr && flags == 0);
  *handle = VirtualMemory::get().create(size, *prop);
  return CUDA_SUCCESS;
}

CUresult cuMemExportToShareableHandle(void* shareable, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type, unsigned long long flags) {
  const Lock lock = lock_driver();
  require(shareable != nullptr && flags == 0 && type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  *static_cast<int*>(shareable) = VirtualMemory::get().export_file(handle);
  return CUDA_SUCCESS;
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* shareable,
                                        CUmemAllocationHandleType type) {
  const Lock lock = lock_driver();
  require(handle != nullptr && type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  *handle = VirtualMemory::get().import_file(static_cast<int>(reinterpret_cast<std::intptr_t>(shareable)));
  return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  const Lock lock = lock_driver();
  VirtualMemory::get().release(handle);
  return CUDA_SUCCESS;
}

CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
  const Lock lock = lock_driver();
  require(flags == 0);
  VirtualMemory::get().map(ptr, size, offset, handle);
  return CUDA_SUCCESS;
}

CUresult cuMemUnmap(CUdeviceptr ptr, size_t size) {
  const Lock lock = lock_driver();
  VirtualMemory::get().unmap(ptr, size);
  return CUDA_SUCCESS;
}

CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc* desc, size_t count) {
  const Lock lock = lock_driver();
  require(desc != nullptr && count > 0 && count <= static_cast<std::size_t>(device_count()));
  for (std::size_t i = 0; i < count; ++i) {
    require(desc[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE);
    device(desc[i].location.id);
    if (desc[i].location.id == 0 || count == 1) VirtualMemory::get().set_access(ptr, size, desc[i].flags);
  }
  return CUDA_SUCCESS;
}

CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr ptr) {
  const Lock lock = lock_driver();
  require(flags != nullptr && location != nullptr && location->type == CU_MEM_LOCATION_TYPE_DEVICE);
  *flags = static_cast<unsigned long long>(VirtualMemory::get().access(ptr));
  return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* prop,
                                       CUmemAllocationGranularity_flags) {
  const Lock lock = lock_driver();
  require(granularity != nullptr && prop != nullptr);
  *granularity = VirtualMemory::kGranularity;
  return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* prop,
                                                CUmemGenericAllocationHandle handle) {
  const Lock lock = lock_driver();
  require(prop != nullptr);
  *prop = VirtualMemory::get().physical(handle).properties;
  return CUDA_SUCCESS;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* addr) {
  const Lock lock = lock_driver();
  require(handle != nullptr);
  *handle = VirtualMemory::get().retain(reinterpret_cast<CUdeviceptr>(addr));
  return CUDA_SUCCESS;
}

}  // namespace api
}  // namespace gangway::standin
