// Device memory that one client passes on to the next, so that it is never free. A driver clears what is
// freed, which holds up copies to the device: on an H200 by a fifth, while others leave.
//
// The client that leaves exports a piece as a file and releases it; the daemon keeps the file, and lends it
// to a client that comes, which imports it. What was imported cannot be exported again, so the daemon's file
// serves all later clients. Both ends send records over a socket of their own.
#pragma once

#include <cstdint>
#include <memory>

#include "hw/live/socket.hpp"

namespace gangway::live {

// Smaller pieces are not passed on: each costs the daemon a file.
inline constexpr std::uint64_t kLeastPassed = 64 << 20;  // bytes

// One piece, which is on the device as long as the file is open.
struct PassedMemory {
  std::uint64_t number = 0;  // the daemon's; unlike those of earlier daemons
  std::uint64_t size = 0;    // bytes
  std::shared_ptr<Descriptor> file;
};

struct PassNote {
  // A client: it has passed a piece on (number 0: a new one, with its file); it has freed one that was lent.
  // The daemon: it lends a piece, with its file.
  enum class What : std::uint32_t { passed, freed, lent };
  What what = What::passed;
  std::uint32_t reserved = 0;
  std::uint64_t number = 0, size = 0;
};

}  // namespace gangway::live
