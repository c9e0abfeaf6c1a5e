// Converts task sets that share the GPU block by block into simulator input: exact times as whole ns, layouts
// as devices, grids as kernels of native clients.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/device.hpp"
#include "models/error.hpp"
#include "models/taskset.hpp"
#include "models/workload.hpp"

namespace gangway {

// A set's times in whole ticks; a tick is simulated as a nanosecond.
class Ticks {
 public:
  // Scales tried for exact times, in order.
  enum class Prefer {
    fine,        // fine enough for many lengths of shorter blocks, then one in which half of a time is whole
    nanosecond,  // real nanoseconds, if the set has units
  };
  // `longest`: no release of a run is later, and nothing later than kBacklog times it. Times that no scale
  // makes whole are rounded, at the finest power of ten; exact() is then false. Errors name `origin` and
  // `key`.
  Ticks(const std::vector<Rational>& times, const Rational& longest, Prefer prefer, const std::string& unit,
        Origin origin, std::string key);
  static constexpr std::int64_t kBacklog = 1000;

  bool exact() const { return exact_; }
  const Rational& scale() const { return scale_; }  // ticks per unit of the set
  // Legal if inexact: block times down, periods up. Throws InputError if little of a block would be left.
  std::int64_t down(const Rational& time) const { return rounded_down(time, 1); }
  std::int64_t down_to_even(const Rational& time) const { return rounded_down(time, 2); }
  std::int64_t floor(const Rational& time) const { return *Rational::floor_of(time * scale_, 1).integer(); }
  std::int64_t up(const Rational& time) const { return *Rational::ceil_of(time * scale_, 1).integer(); }
  // For times that may be neither longer nor shorter; else InputError, which calls it `what`.
  std::int64_t whole(const Rational& time, const std::string& what) const;
  Rational time(Duration ticks) const { return Rational(ticks.ns) / scale_; }

 private:
  std::int64_t rounded_down(const Rational& time, std::int64_t multiple) const;

  Rational scale_ = 1;
  bool exact_ = true;
  Origin origin_;
  std::string key_;
};

// In how many waves an otherwise empty device runs the grid's blocks.
std::int64_t waves_of(const ThreadLayout& layout, const Grid& grid);

// A device with these threads and no other limits.
Device device_of(const ThreadLayout& layout, QueueOrder order, std::int64_t channels, Placement placement);

// A kernel for the grid whose blocks take `block_time`.
Kernel kernel_of(const Grid& grid, Duration block_time);

}  // namespace gangway
