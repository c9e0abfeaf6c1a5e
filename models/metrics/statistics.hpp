// Means, intervals, percentiles and fairness.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/quantity.hpp"

namespace gangway {

double mean(const std::vector<double>& values);  // values not empty
// Standard deviation; `sample`: divides by n - 1 (0 for one value).
double deviation(const std::vector<double>& values, bool sample);
// Jain's index (sum x)^2 / (n sum x^2): 1 if all are equal, 1/n if one has everything (Jain, Chiu, Hawe
// 1984).
double jain(const std::vector<double>& values);
// The 97.5% quantile of Student's t: half-width of a 95% interval in standard errors; degrees > 0.
double student_t_975(double degrees);
// Half-width of the 95% Student-t interval of the mean; none below two values.
std::optional<double> half_width_95(const std::vector<double>& values);

// 95% interval of a share with `hits` of `n` > 0 (Wilson 1927). Stays within [0, 1] and has width even for
// none or all.
struct ShareInterval {
  double low = 0, high = 1;
};
ShareInterval wilson_95(std::int64_t hits, std::int64_t n);

// The rank, from 1 to `count`, of the least value that at least this share does not exceed; share in (0, 1].
std::int64_t rank_of(double share, std::int64_t count);

// Percentiles of many times in bounded memory: exact up to 2^22 values; beyond that, values are counted in
// buckets no wider than 1/1024 of the value, and a percentile is its bucket's lower end.
class Percentiles {
 public:
  static constexpr std::size_t kExact = 1u << 22;
  void add(Duration value);
  void add(const Percentiles& other);
  std::int64_t count() const { return count_; }
  // Nearest rank: the least value that at least this share does not exceed; share in (0, 1]. Zero if empty.
  Duration at(double share) const { return at_rank(rank_of(share, count_)); }
  // The value of that rank, from 1 for the least; zero if there is none.
  Duration at_rank(std::int64_t rank) const;
  bool rounded() const { return !buckets_.empty(); }  // there are buckets
  bool same(Duration a, Duration b) const;            // as far as these percentiles tell values apart

 private:
  void spread();  // from values to buckets
  void count(std::int64_t value, std::int64_t times);

  std::int64_t count_ = 0;
  mutable std::vector<std::int64_t> values_;  // sorted on demand
  mutable bool sorted_ = true;
  std::vector<std::int64_t> buckets_;
};

}  // namespace gangway
