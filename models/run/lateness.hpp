// How late a scheduler in real time was: from when something was due, or had happened, until the scheduler
// handled it. Kept as a histogram of fixed size, so that adding allocates nothing and runs can be put
// together.
#pragma once

#include <array>
#include <cstdint>

#include "models/quantity.hpp"

namespace gangway {

class Lateness {
 public:
  // Below 0 counts as 0.
  void add(Duration late);
  // Of the scheduler's thread: how long it was at work, and without a processor in that time.
  void add_thread(Duration span, Duration off_cpu);
  void add(const Lateness& other);

  std::uint64_t count() const { return count_; }
  // The smallest lateness that this share of all is at most, to within 1/16 above; 0 where there is none.
  Duration at(double share) const;
  Duration most() const { return most_; }
  // Share of its time that the thread was without a processor.
  double off_cpu() const;

 private:
  static constexpr unsigned kFine = 4;  // bits of a bucket's number below the exponent
  static constexpr std::size_t kBuckets = (64 - kFine) << kFine;

  static std::size_t bucket_of(std::int64_t ns);
  static std::int64_t end_of(std::size_t bucket);  // the largest that falls into it

  std::array<std::uint64_t, kBuckets> counts_{};
  std::uint64_t count_ = 0;
  Duration most_, span_, off_cpu_;
};

}  // namespace gangway
