// Compression in fatbins.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gangway::transform {

enum class Compression : std::uint8_t { none, lz4, zstd };

// A larger declared size is treated as damage.
inline constexpr std::uint64_t kMostUnpacked = 512ull << 20;

// Exactly `size` unpacked bytes. None if the packed data is damaged or yields another size. Allocates no more
// than the packed data can expand to.
std::optional<std::string> unpacked(std::string_view packed, Compression how, std::uint64_t size);

}  // namespace gangway::transform
