// How fatbins compress what they hold.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gangway::transform {

enum class Compression : std::uint8_t { none, lz4, zstd };

// The most that is unpacked at once: what says it is larger is taken for damaged.
inline constexpr std::uint64_t kMostUnpacked = 512ull << 20;

// `size` bytes, exactly; none where the packed ones do not hold as many, or are damaged. Takes no more memory
// than they can be unpacked to.
std::optional<std::string> unpacked(std::string_view packed, Compression how, std::uint64_t size);

}  // namespace gangway::transform
