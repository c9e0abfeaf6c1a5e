// Fatbins, in which nvcc stores several versions of a module for several GPUs.
//
// The layout was inferred from files written by nvcc and fatbinary of CUDA 12.4 and 13.0. Numbers are
// little-endian.
//
//   container  +0  u32  0xba55ed50    +4  u16  version, 1    +6  u16  bytes of this header, 16
//              +8  u64  bytes of the entries, which follow
//   entry      +0  u16  kind: 1 PTX, 2 cubin, 8 intermediate code for linking    +2 u16 version, 0x101
//              +4  u32  bytes of this header    +8  u64  bytes of the content, which follows, with padding
//              +16 u32  bytes without padding, where it is compressed; else 0
//              +20 u32  offset within the header of the offset and the length (u32) of the compiler's options
//              +28 u32  architecture    +32 u32, +36 u32  offset and length of the name
//              +40 u64  flags: 0x2 debug, 0x2000 LZ4, 0x8000 zstd, 0x100000 of this GPU alone (sm_90a),
//                       0x200000 of its family (sm_100f)
//              +56 u64  bytes unpacked, where it is compressed; else 0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hw/transform/images/architecture.hpp"
#include "hw/transform/images/compression.hpp"

namespace gangway::transform {

enum class EntryKind : std::uint8_t { ptx, cubin, intermediate, other };

struct FatbinEntry {
  EntryKind kind = EntryKind::other;
  Architecture architecture;
  bool debug = false;
  std::string options;  // the compiler's: "-v  --generate-line-info "
  std::string name;     // usually empty, else usually the source file
  Compression compression = Compression::none;
  std::string_view packed;  // as stored in the file
  std::uint64_t size = 0;   // unpacked

  // None if damaged. Trailing NULs of PTX are removed.
  std::optional<std::string> content() const;
};

struct FatbinContainer {
  std::uint64_t offset = 0;  // within the searched bytes
  std::vector<FatbinEntry> entries;
  std::string problem;  // why entries may be missing; empty if none are
};

bool looks_like_fatbin(std::string_view bytes);

// All containers of a section or file, with padding between them. Views of `bytes`.
std::vector<FatbinContainer> containers_in(std::string_view bytes);

}  // namespace gangway::transform
