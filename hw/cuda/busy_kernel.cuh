// Kernels whose blocks occupy an SM for a given time and report when and where they ran.
#pragma once

#include <cstdint>

#include "hw/cuda/preemptible.cuh"

namespace gangway::busy {

// The record of a block; %globaltimer in ns.
struct Stamp {
  unsigned long long began, ended;
  std::uint32_t sm, unused;
};

// Makes the kernel use kRegisters registers a thread: `kKept` values that the compiler may not recompute stay
// alive while the block is busy.
template <int kRegisters>
struct Size;
template <>
struct Size<32> {
  static constexpr int kKept = 19, kThreads = 1024, kBlocks = 2;
};
template <>
struct Size<64> {
  static constexpr int kKept = 51, kThreads = 1024, kBlocks = 1;
};
template <>
struct Size<128> {
  static constexpr int kKept = 115, kThreads = 512, kBlocks = 1;
};
template <>
struct Size<255> {
  static constexpr int kKept = 240, kThreads = 256, kBlocks = 1;
};

// `never` is a time that the clock does not reach. Thread 0 reads the clock; the others wait.
template <int kRegisters>
__global__ void __launch_bounds__(Size<kRegisters>::kThreads, Size<kRegisters>::kBlocks)
    keep_busy(Stamp* stamps, unsigned long long ns, unsigned long long never) {
  if (threadIdx.x + threadIdx.y + threadIdx.z == 0) {
    const unsigned long long began = preemptible::device::clock_ns();
    Stamp& stamp = stamps[blockIdx.x];
    std::uint32_t sm = 0;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    stamp.began = began;
    stamp.sm = sm;
    constexpr int kKept = Size<kRegisters>::kKept;
    std::uint32_t kept[kKept];
#pragma unroll kKept
    for (int i = 0; i < kKept; ++i) kept[i] = preemptible::device::get(stamp.unused);
    unsigned long long now = 0;
    do {
      now = preemptible::device::clock_ns();
      if (now == never) {
#pragma unroll kKept
        for (int i = 0; i < kKept; ++i) kept[i] = kept[i] * kept[(i + 1) % kKept] + sm;
      }
    } while (now - began < ns);
    stamp.ended = now;
    if (now == never) {
#pragma unroll kKept
      for (int i = 0; i < kKept; ++i) sm ^= kept[i];
      stamp.sm = sm;
    }
  }
  __syncthreads();  // threads that returned would free their room for other blocks
}

// Writes the clock each time the host increments `asked`. Gives up after a second.
static __global__ void tell_clock(volatile std::uint32_t* asked, volatile unsigned long long* clock,
                                  std::uint32_t rounds) {
  const unsigned long long began = preemptible::device::clock_ns();
  for (std::uint32_t round = 1; round <= rounds; ++round) {
    while (*asked < round)
      if (preemptible::device::clock_ns() - began > 1'000'000'000) return;
    *clock = preemptible::device::clock_ns();
  }
}

// Measures the smallest step of the clock.
static __global__ void find_clock_step(unsigned long long* step) {
  unsigned long long least = ~0ull, last = preemptible::device::clock_ns();
  for (int changes = 0; changes < 1000;) {
    const unsigned long long now = preemptible::device::clock_ns();
    if (now == last) continue;
    if (now - last < least) least = now - last;
    last = now;
    ++changes;
  }
  *step = least;
}

}  // namespace gangway::busy
