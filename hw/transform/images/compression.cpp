#include "hw/transform/images/compression.hpp"

#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <limits>
#include <memory>

namespace gangway::transform {
namespace {

constexpr std::uint64_t kMostOfLz4 = 255;  // bytes that a byte can stand for

std::optional<std::string> from_lz4(std::string_view packed, std::uint64_t size) {
  if (packed.size() > LZ4_MAX_INPUT_SIZE || size > std::numeric_limits<int>::max() ||
      size > (packed.size() + 1) * kMostOfLz4)
    return std::nullopt;
  std::string out(size, '\0');
  const int written =
      LZ4_decompress_safe(packed.data(), out.data(), static_cast<int>(packed.size()), static_cast<int>(size));
  if (written < 0 || static_cast<std::uint64_t>(written) != size) return std::nullopt;
  return out;
}

std::optional<std::string> from_zstd(std::string_view packed, std::uint64_t size) {
  const std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream(ZSTD_createDStream(),
                                                                          &ZSTD_freeDStream);
  if (!stream) return std::nullopt;
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  std::string out, part(ZSTD_DStreamOutSize(), '\0');
  for (;;) {
    ZSTD_outBuffer to{part.data(), part.size(), 0};
    const std::size_t left = ZSTD_decompressStream(stream.get(), &to, &in);
    if (ZSTD_isError(left) != 0U || out.size() + to.pos > size) return std::nullopt;
    out.append(part, 0, to.pos);
    if (left == 0) break;
    if (to.pos == 0 && in.pos == in.size) return std::nullopt;  // cut off
  }
  if (out.size() != size) return std::nullopt;
  return out;
}

}  // namespace

std::optional<std::string> unpacked(std::string_view packed, Compression how, std::uint64_t size) {
  if (size > kMostUnpacked) return std::nullopt;
  if (how == Compression::lz4) return from_lz4(packed, size);
  if (how == Compression::zstd) return from_zstd(packed, size);
  if (packed.size() != size) return std::nullopt;
  return std::string(packed);
}

}  // namespace gangway::transform
