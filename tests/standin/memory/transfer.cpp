#include "tests/standin/memory/transfer.hpp"

#include <cstring>

#include "tests/standin/engine/failure.hpp"
#include "tests/standin/memory/arena.hpp"
#include "tests/standin/memory/host_memory.hpp"
#include "tests/standin/memory/virtual_memory.hpp"

namespace gangway::standin {
namespace {

// Inside one allocation; pageable memory is the program's own business.
bool inside(std::uint64_t start, std::size_t bytes) {
  if (start == 0) return false;
  if (VirtualMemory::holds(start)) return VirtualMemory::get().usable(start, bytes);
  if (Arena::holds(start)) {
    const Arena::Range range = Arena::get().range_of(start);
    return range.size != 0 && start - range.start + bytes <= range.size;
  }
  const auto host = host_range(start);
  return host == host_ranges().end() || start - host->first + bytes <= host->second.size;
}

std::size_t extent(std::size_t width, std::size_t height, std::size_t pitch) {
  return height == 0 ? 0 : (height - 1) * pitch + width;
}

// The address and pitch that one side of a copy names; arrays are not supported.
std::uint64_t place(CUmemorytype type, const void* host, CUdeviceptr device, std::size_t row,
                    std::size_t column, std::size_t pitch) {
  require(type != CU_MEMORYTYPE_ARRAY, CUDA_ERROR_NOT_SUPPORTED);
  require(type == CU_MEMORYTYPE_HOST || type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED);
  const std::uint64_t start = type == CU_MEMORYTYPE_HOST ? reinterpret_cast<std::uintptr_t>(host) : device;
  return start + row * pitch + column;
}

template <class Element>
void set_row(char* row, unsigned value, std::size_t count) {
  const auto element = static_cast<Element>(value);
  for (std::size_t i = 0; i < count; ++i) std::memcpy(row + i * sizeof(Element), &element, sizeof(Element));
}

}  // namespace

void CopyCommand::run() const {
  const char* source = staged.empty() ? reinterpret_cast<const char*>(from) : staged.data();
  const std::size_t source_pitch = staged.empty() ? from_pitch : width;
  for (std::size_t row = 0; row < height; ++row)
    std::memmove(reinterpret_cast<char*>(to) + row * to_pitch, source + row * source_pitch, width);
}

void SetCommand::run() const {
  for (std::size_t row = 0; row < height; ++row) {
    char* start = reinterpret_cast<char*>(to) + row * pitch;
    if (element == 1)
      std::memset(start, static_cast<int>(value), width);
    else if (element == 2)
      set_row<std::uint16_t>(start, value, width);
    else
      set_row<std::uint32_t>(start, value, width);
  }
}

void check_transfer(const CopyCommand& c) {
  require(c.height <= 1 || (c.to_pitch >= c.width && c.from_pitch >= c.width));
  require(inside(c.to, extent(c.width, c.height, c.to_pitch)) &&
          inside(c.from, extent(c.width, c.height, c.from_pitch)));
}

void check_transfer(const SetCommand& s) {
  require(s.element == 1 || s.element == 2 || s.element == 4);
  require(s.to % s.element == 0 && (s.height <= 1 || s.pitch >= s.width * s.element));
  require(!is_pageable(s.to) && inside(s.to, extent(s.width * s.element, s.height, s.pitch)));
}

CopyCommand copy_of(const CUDA_MEMCPY2D& p) {
  CopyCommand made;
  made.width = p.WidthInBytes;
  made.height = p.Height;
  made.to_pitch = p.dstPitch != 0 ? p.dstPitch : p.dstXInBytes + p.WidthInBytes;
  made.from_pitch = p.srcPitch != 0 ? p.srcPitch : p.srcXInBytes + p.WidthInBytes;
  made.to = place(p.dstMemoryType, p.dstHost, p.dstDevice, p.dstY, p.dstXInBytes, made.to_pitch);
  made.from = place(p.srcMemoryType, p.srcHost, p.srcDevice, p.srcY, p.srcXInBytes, made.from_pitch);
  return made;
}

CopyCommand copy_of(const CUDA_MEMCPY3D& p) {
  require(p.Depth == 1 && p.srcZ == 0 && p.dstZ == 0 && p.srcLOD == 0 && p.dstLOD == 0,
          CUDA_ERROR_NOT_SUPPORTED);
  CUDA_MEMCPY2D flat{};
  flat.srcXInBytes = p.srcXInBytes, flat.srcY = p.srcY, flat.srcMemoryType = p.srcMemoryType;
  flat.srcHost = p.srcHost, flat.srcDevice = p.srcDevice, flat.srcPitch = p.srcPitch;
  flat.dstXInBytes = p.dstXInBytes, flat.dstY = p.dstY, flat.dstMemoryType = p.dstMemoryType;
  flat.dstHost = p.dstHost, flat.dstDevice = p.dstDevice, flat.dstPitch = p.dstPitch;
  flat.WidthInBytes = p.WidthInBytes, flat.Height = p.Height;
  return copy_of(flat);
}

SetCommand set_of(const CUDA_MEMSET_NODE_PARAMS& p) {
  SetCommand made;
  made.to = p.dst;
  made.value = p.value;
  made.element = p.elementSize;
  made.width = p.width;
  made.height = p.height;
  made.pitch = p.pitch;
  return made;
}

}  // namespace gangway::standin
