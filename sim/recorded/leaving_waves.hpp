// How a recorded kernel leaves before its end: its time is spread evenly over waves of blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/device.hpp"
#include "models/quantity.hpp"
#include "models/recorded.hpp"

namespace gangway {

struct LeavingWaves {
  std::int64_t blocks = 1;  // of the grid
  std::int64_t wave = 1;    // of these on the device at once
  std::int64_t waves = 1;
  std::int64_t claim_ps = 0;  // of each block that finds the flag; thousandths of a ns
  // Of the kernel in that form, and of the original.
  Duration time, original;

  Duration length(Duration recorded) const { return {mul_div_ceil(recorded.ns, time.ns, original.ns)}; }
  Duration claims(std::int64_t left) const { return {mul_div_ceil(left, claim_ps, 1000)}; }

  // The flag is there when a kernel of `length` has run for `progress`: how long its running wave goes on,
  // and then the claims of the others; and what is left of it then. None: it runs to its end.
  struct Leave {
    Duration until, rest;
  };
  std::optional<Leave> leave(Duration length, Duration progress) const;
};

// By launch of the recording; empty where no kernel of it leaves.
std::vector<std::optional<LeavingWaves>> waves_of(const Recorded& recorded, const Device& device);

}  // namespace gangway
