// Sets of a device's GPUs.
#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>

#include "models/identity.hpp"

namespace gangway {

inline constexpr std::int64_t kMostGpus = 64;  // per device

class GpuSet {
 public:
  constexpr GpuSet() = default;  // all GPUs of the device
  constexpr GpuSet(std::initializer_list<DeviceId> gpus) : bits_(0) {
    for (const DeviceId gpu : gpus) add(gpu);
  }
  static constexpr GpuSet none() { return GpuSet(std::uint64_t{0}); }
  // The first `count`, of at most kMostGpus.
  static constexpr GpuSet first(std::uint32_t count) {
    return GpuSet(count >= kMostGpus ? ~std::uint64_t{0} : bit({count}) - 1);
  }

  constexpr bool has(DeviceId gpu) const { return gpu.index < kMostGpus && (bits_ & bit(gpu)) != 0; }
  constexpr void add(DeviceId gpu) { bits_ |= bit(gpu); }
  constexpr void remove(DeviceId gpu) { bits_ &= ~bit(gpu); }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr std::uint32_t size() const { return static_cast<std::uint32_t>(std::popcount(bits_)); }
  // The lowest-numbered GPU. The set must not be empty.
  constexpr DeviceId lowest() const { return {static_cast<std::uint32_t>(std::countr_zero(bits_))}; }

  friend constexpr GpuSet common(GpuSet a, GpuSet b) { return GpuSet(a.bits_ & b.bits_); }
  friend constexpr bool operator==(GpuSet, GpuSet) = default;

 private:
  constexpr explicit GpuSet(std::uint64_t bits) : bits_(bits) {}
  static constexpr std::uint64_t bit(DeviceId gpu) { return std::uint64_t{1} << gpu.index; }

  std::uint64_t bits_ = ~std::uint64_t{0};
};

}  // namespace gangway
