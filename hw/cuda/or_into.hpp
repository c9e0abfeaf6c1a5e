// The bitwise or of two outputs, as the threads of a grid or of a test share it.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define GANGWAY_BOTH_SIDES __host__ __device__
#else
#define GANGWAY_BOTH_SIDES
#endif

namespace gangway {

struct alignas(16) SixteenBytes {
  std::uint32_t word[4];
};

// The share of thread `at` of `threads`: each byte of `into` becomes the or of both once all have run, in any
// order. `bytes` may be any number; both are 16-byte aligned, as cudaMalloc's are.
GANGWAY_BOTH_SIDES inline void or_share(unsigned char* into, const unsigned char* from, std::uint64_t bytes,
                                        std::uint64_t at, std::uint64_t threads) {
  const std::uint64_t whole = bytes / sizeof(SixteenBytes);
  auto* a = reinterpret_cast<SixteenBytes*>(into);
  const auto* b = reinterpret_cast<const SixteenBytes*>(from);
  for (std::uint64_t i = at; i < whole; i += threads) {
    SixteenBytes x = a[i];
    const SixteenBytes y = b[i];
    for (int w = 0; w < 4; ++w) x.word[w] |= y.word[w];
    a[i] = x;
  }
  for (std::uint64_t i = whole * sizeof(SixteenBytes) + at; i < bytes; i += threads) into[i] |= from[i];
}

}  // namespace gangway

#undef GANGWAY_BOTH_SIDES
