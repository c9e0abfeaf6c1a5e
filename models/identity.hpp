// Who is who in a run.
#pragma once

#include <compare>
#include <cstdint>

namespace gangway {

// Clients in the order of the workload file, devices likewise, both from 0.
struct ClientId {
  std::uint32_t index = 0;
  friend constexpr auto operator<=>(ClientId, ClientId) = default;
};
struct DeviceId {
  std::uint32_t index = 0;
  friend constexpr auto operator<=>(DeviceId, DeviceId) = default;
};
// One pass of a client's program; jobs of a client are numbered from 0.
struct JobId {
  ClientId client;
  std::uint32_t number = 0;
  friend constexpr auto operator<=>(JobId, JobId) = default;
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
