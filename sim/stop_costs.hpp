// What it takes a device to stop blocks where they are, and to let them go on later. Definition:
// sim/blocks/README.md, "Arbitration".
#pragma once

#include <algorithm>
#include <cstdint>

#include "models/device.hpp"
#include "models/quantity.hpp"

namespace gangway {

class StopCosts {
 public:
  StopCosts(const TimeSlice& slice, const Device& device)
      : slice_(slice),
        threads_(device.sms * device.sm.threads),
        registers_(device.pool ? 0 : device.sms * device.sm.registers) {}

  // What a block holds of the device's threads and registers, as a number of whole() parts of both. A block
  // without registers has the threads' share of them.
  std::int64_t held(const BlockNeeds& block) const {
    if (registers_ == 0) return block.threads;
    return block.threads * registers_ +
           (block.registers > 0 ? block.registers * threads_ : block.threads * registers_);
  }
  std::int64_t whole() const { return registers_ == 0 ? threads_ : 2 * threads_ * registers_; }

  // Of blocks that hold so much together; none: 0. Rounded down.
  Duration stop(std::int64_t held) const { return cost(slice_.stop, slice_.stop_full, held); }
  Duration resume(std::int64_t held) const { return cost(slice_.resume, slice_.resume_full, held); }

 private:
  Duration cost(Duration least, Duration full, std::int64_t held) const {
    if (held == 0) return {};
    return least + Duration{mul_div_floor((full - least).ns, std::min(held, whole()), whole())};
  }

  TimeSlice slice_;
  std::int64_t threads_, registers_;  // of the device; no registers: it has none that limit blocks
};

}  // namespace gangway
