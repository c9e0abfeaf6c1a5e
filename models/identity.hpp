// Identifiers within a run.
#pragma once

#include <compare>
#include <cstdint>

namespace gangway {

// Clients and devices are numbered from 0 in file order. Where clients come and go, a new client may reuse an
// index with the next generation; the earlier id is then invalid. Generations wrap after kGenerations.
struct ClientId {
  static constexpr std::uint32_t kMost = 1u << 20;
  static constexpr std::uint32_t kGenerations = 1u << 12;

  std::uint32_t index : 20;
  std::uint32_t generation : 12;

  constexpr ClientId() : index(0), generation(0) {}
  explicit constexpr ClientId(std::uint32_t place, std::uint32_t which = 0)
      : index(place & (kMost - 1)), generation(which & (kGenerations - 1)) {}
  // The next client with this index.
  constexpr ClientId successor() const { return ClientId{index, generation + 1u}; }

  // Compares positions, by which ties between clients are broken.
  friend constexpr bool operator==(ClientId a, ClientId b) { return a.order() == b.order(); }
  friend constexpr auto operator<=>(ClientId a, ClientId b) { return a.order() <=> b.order(); }

 private:
  constexpr std::uint32_t order() const { return (std::uint32_t{index} << 12) | std::uint32_t{generation}; }
};
struct DeviceId {
  std::uint32_t index = 0;
  friend constexpr auto operator<=>(DeviceId, DeviceId) = default;
};
// One pass of a client's program. A client's jobs are numbered from 0.
struct JobId {
  ClientId client;
  std::uint32_t number = 0;
  // Written out because nvcc mishandles a defaulted operator over such members.
  friend constexpr bool operator==(JobId a, JobId b) { return a.client == b.client && a.number == b.number; }
  friend constexpr std::strong_ordering operator<=>(JobId a, JobId b) {
    if (const auto by_client = a.client <=> b.client; by_client != 0) return by_client;
    return a.number <=> b.number;
  }
};
// One stay of a kernel on a device. Unique within a run; 0 is none.
struct LaunchId {
  std::uint64_t value = 0;
  friend constexpr auto operator<=>(LaunchId, LaunchId) = default;
};
struct TimerId {
  std::uint64_t value = 0;
  friend constexpr auto operator<=>(TimerId, TimerId) = default;
};
// An intercepted submission waiting for admission.
struct RequestId {
  std::uint64_t value = 0;
  friend constexpr auto operator<=>(RequestId, RequestId) = default;
};

}  // namespace gangway
