#include "hw/intercept/memory/array_size.hpp"

#include <algorithm>

namespace gangway::intercept {
namespace {

// Compressed formats have blocks of 4 by 4 elements.
bool block_compressed(CUarray_format format) {
  return format >= CU_AD_FORMAT_BC1_UNORM && format <= CU_AD_FORMAT_BC7_UNORM_SRGB;
}

// Of an element, all channels together.
std::uint64_t bits_of(CUarray_format format, unsigned channels) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
      return 8 * channels;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      return 16 * channels;
    case CU_AD_FORMAT_BC1_UNORM:
    case CU_AD_FORMAT_BC1_UNORM_SRGB:
    case CU_AD_FORMAT_BC4_UNORM:
    case CU_AD_FORMAT_BC4_SNORM:
      return 4;
    case CU_AD_FORMAT_UNORM_INT8X1:
    case CU_AD_FORMAT_SNORM_INT8X1:
      return 8;
    case CU_AD_FORMAT_NV12:
      return 12;
    case CU_AD_FORMAT_UNORM_INT8X2:
    case CU_AD_FORMAT_SNORM_INT8X2:
    case CU_AD_FORMAT_UNORM_INT16X1:
    case CU_AD_FORMAT_SNORM_INT16X1:
    case CU_AD_FORMAT_NV16:
    case CU_AD_FORMAT_YUY2:
      return 16;
    case CU_AD_FORMAT_P010:
    case CU_AD_FORMAT_P016:
    case CU_AD_FORMAT_Y444_PLANAR8:
    case CU_AD_FORMAT_YUV444_8bit_SemiPlanar:
      return 24;
    case CU_AD_FORMAT_UNORM_INT8X4:
    case CU_AD_FORMAT_SNORM_INT8X4:
    case CU_AD_FORMAT_UNORM_INT16X2:
    case CU_AD_FORMAT_SNORM_INT16X2:
    case CU_AD_FORMAT_UNORM_INT_101010_2:
    case CU_AD_FORMAT_P210:
    case CU_AD_FORMAT_P216:
    case CU_AD_FORMAT_Y210:
    case CU_AD_FORMAT_Y216:
    case CU_AD_FORMAT_AYUV:
    case CU_AD_FORMAT_Y410:
      return 32;
    case CU_AD_FORMAT_Y444_PLANAR10:
    case CU_AD_FORMAT_YUV444_16bit_SemiPlanar:
      return 48;
    case CU_AD_FORMAT_UNORM_INT16X4:
    case CU_AD_FORMAT_SNORM_INT16X4:
    case CU_AD_FORMAT_Y416:
      return 64;
    default:
      return block_compressed(format) ? 8 : 32 * channels;
  }
}

std::uint64_t product(std::uint64_t a, std::uint64_t b) {
  std::uint64_t c = 0;
  return __builtin_mul_overflow(a, b, &c) ? UINT64_MAX : c;
}

// At least 1, where there is such a dimension or not.
std::uint64_t extent_at(std::uint64_t extent, unsigned level) {
  return std::max<std::uint64_t>(extent >> level, 1);
}

}  // namespace

std::uint64_t array_size(const CUDA_ARRAY3D_DESCRIPTOR& array, unsigned levels) {
  // The program maps memory to it later.
  if ((array.Flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING)) != 0 || array.Width == 0)
    return 0;
  const bool layers = (array.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0;
  const std::uint64_t edge = block_compressed(array.Format) ? 4 : 1;
  const auto whole = [&](std::uint64_t extent) {
    return extent / edge * edge + (extent % edge != 0 ? edge : 0);
  };
  std::uint64_t sum = 0;
  for (unsigned level = 0; level < std::min(levels, 32U); ++level) {
    const std::uint64_t width = extent_at(array.Width, level), height = extent_at(array.Height, level),
                        depth = extent_at(array.Depth, layers ? 0 : level);
    const std::uint64_t bits = product(product(product(whole(width), whole(height)), depth),
                                       bits_of(array.Format, array.NumChannels));
    if (bits == UINT64_MAX) return bits;
    sum += (bits + 7) / 8;  // of 32 levels the first is the largest
    if (width == 1 && height == 1 && (layers || depth == 1)) break;
  }
  return sum;
}

}  // namespace gangway::intercept
