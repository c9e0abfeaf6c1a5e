// Eviction of a recorded kernel: its time is spread evenly over waves of blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/device.hpp"
#include "models/quantity.hpp"
#include "models/recorded.hpp"

namespace gangway {

struct LeavingWaves {
  std::int64_t blocks = 1;  // in the grid
  std::int64_t wave = 1;    // resident at once
  std::int64_t waves = 1;
  std::int64_t claim_ps = 0;  // per block that finds the flag; ps
  Duration departure;         // device.access
  // Of the kernel in that form, and of the original.
  Duration time, original;
  bool leaves = true, sliced = true;  // which of the two it can

  Duration length(Duration recorded) const { return {mul_div_ceil(recorded.ns, time.ns, original.ns)}; }
  // A slice of so many blocks of a kernel of `length`.
  Duration slice(Duration length, std::int64_t of) const {
    return {(of + wave - 1) / wave * mul_div_ceil(length.ns, 1, waves)};
  }
  Duration claims(std::int64_t left) const { return {mul_div_ceil(left, claim_ps, 1000)}; }

  // If the flag is set when a kernel of `length` has run for `progress`: how long the current wave, then the
  // other blocks' claims and the departure last, and the remaining time. None: it runs to its end.
  struct Leave {
    Duration until, rest;
  };
  std::optional<Leave> leave(Duration length, Duration progress) const;
};

// By launch of the recording; empty if no kernel is preemptible.
std::vector<std::optional<LeavingWaves>> waves_of(const Recorded& recorded, const Device& device);

}  // namespace gangway
