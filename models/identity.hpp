// Who is who in a run.
#pragma once

#include <compare>
#include <cstdint>

namespace gangway {

// Clients in the order of the workload file, devices likewise, both from 0. Where clients come and go, one
// may take the place of another that has left: then it has the next generation, and the id of the earlier one
// names nobody any more. Generations begin again after kGenerations.
struct ClientId {
  static constexpr std::uint32_t kMost = 1u << 20;
  static constexpr std::uint32_t kGenerations = 1u << 12;

  std::uint32_t index : 20;
  std::uint32_t generation : 12;

  constexpr ClientId() : index(0), generation(0) {}
  explicit constexpr ClientId(std::uint32_t place, std::uint32_t which = 0)
      : index(place & (kMost - 1)), generation(which & (kGenerations - 1)) {}
  // The next client in its place.
  constexpr ClientId successor() const { return ClientId{index, generation + 1u}; }

  // By place, as ties between clients are broken.
  friend constexpr bool operator==(ClientId a, ClientId b) { return a.order() == b.order(); }
  friend constexpr auto operator<=>(ClientId a, ClientId b) { return a.order() <=> b.order(); }

 private:
  constexpr std::uint32_t order() const { return (std::uint32_t{index} << 12) | std::uint32_t{generation}; }
};
struct DeviceId {
  std::uint32_t index = 0;
  friend constexpr auto operator<=>(DeviceId, DeviceId) = default;
};
// One pass of a client's program; jobs of a client are numbered from 0.
struct JobId {
  ClientId client;
  std::uint32_t number = 0;
  // Written out, as nvcc loses a defaulted one over members with operators of their own.
  friend constexpr bool operator==(JobId a, JobId b) { return a.client == b.client && a.number == b.number; }
  friend constexpr std::strong_ordering operator<=>(JobId a, JobId b) {
    if (const auto by_client = a.client <=> b.client; by_client != 0) return by_client;
    return a.number <=> b.number;
  }
};
// One stay of a kernel on a device. Never used twice in a run; 0 is none.
struct LaunchId {
  std::uint64_t value = 0;
  friend constexpr auto operator<=>(LaunchId, LaunchId) = default;
};
struct TimerId {
  std::uint64_t value = 0;
  friend constexpr auto operator<=>(TimerId, TimerId) = default;
};
// An intercepted submission that waits to be admitted.
struct RequestId {
  std::uint64_t value = 0;
  friend constexpr auto operator<=>(RequestId, RequestId) = default;
};

}  // namespace gangway
