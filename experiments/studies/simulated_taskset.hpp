// Task sets whose kernels share the GPU block by block, as what the simulated world plays: exact times as
// whole nanoseconds of its clock, layouts as devices, grids as kernels of native clients.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/device.hpp"
#include "models/taskset.hpp"
#include "models/workload.hpp"

namespace gangway {

// Times of a set as whole numbers of ticks, each simulated as a nanosecond.
class Ticks {
 public:
  // Which scales are tried for exact times, first to last.
  enum class Prefer {
    fine,        // so fine that shorter blocks have many lengths, then one in which half of a time is whole
    nanosecond,  // real ones, where the set has units
  };
  // `longest`: no instant of a run is later. Times that no scale makes whole are rounded; exact() is false
  // then. Throws InputError, of `origin` and `key`, where the clock is too short for `longest`.
  Ticks(const std::vector<Rational>& times, const Rational& longest, Prefer prefer, const std::string& unit,
        const Origin& origin, const std::string& key);

  bool exact() const { return exact_; }
  const Rational& scale() const { return scale_; }  // ticks in one of the set's units of time
  // To the safe side where they are not exact: block times down, to no less than a tick, and periods up.
  std::int64_t down(const Rational& time) const { return rounded_down(time, 1); }
  std::int64_t down_to_even(const Rational& time) const { return rounded_down(time, 2); }
  std::int64_t floor(const Rational& time) const { return *Rational::floor_of(time * scale_, 1).integer(); }
  std::int64_t up(const Rational& time) const { return *Rational::ceil_of(time * scale_, 1).integer(); }
  Rational time(Duration ticks) const { return Rational(ticks.ns) / scale_; }

 private:
  std::int64_t rounded_down(const Rational& time, std::int64_t multiple) const {
    return std::max(multiple, multiple * *Rational::floor_of(time * scale_, multiple).integer());
  }
  Rational scale_ = 1;
  bool exact_ = true;
};

// A device with these threads and no other limit.
Device device_of(const ThreadLayout& layout, QueueOrder order, std::int64_t channels, Placement placement);

// A kernel of the grid whose blocks take `block_time`.
Kernel kernel_of(const Grid& grid, Duration block_time);

}  // namespace gangway
