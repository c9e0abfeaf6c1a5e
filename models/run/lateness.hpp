// Lateness of a real-time scheduler: from when something was due or happened until the scheduler handled it.
// A histogram of fixed size, which can be merged and allocates nothing.
#pragma once

#include <array>
#include <cstdint>

#include "models/quantity.hpp"

namespace gangway {

class Lateness {
 public:
  // Negative values count as 0.
  void add(Duration late);
  // Time the scheduler's thread was at work, and without a processor in that time.
  void add_thread(Duration span, Duration off_cpu);
  void add(const Lateness& other);

  std::uint64_t count() const { return count_; }
  // The smallest lateness that at least this share does not exceed, up to 1/16 too large; 0 if there is none.
  Duration at(double share) const;
  Duration most() const { return most_; }
  // The share of time without a processor.
  double off_cpu() const;

 private:
  static constexpr unsigned kFine = 4;  // bits of a bucket's number below the exponent
  static constexpr std::size_t kBuckets = (64 - kFine) << kFine;

  static std::size_t bucket_of(std::int64_t ns);
  static std::int64_t end_of(std::size_t bucket);  // the largest value in it

  std::array<std::uint64_t, kBuckets> counts_{};
  std::uint64_t count_ = 0;
  Duration most_, span_, off_cpu_;
};

}  // namespace gangway
