#include "models/fit/location.hpp"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "models/metrics/statistics.hpp"

namespace gangway {
namespace {

constexpr double kTail = 0.025;  // on each side of the interval

void check(const std::vector<double>& values) {
  if (values.empty()) throw std::invalid_argument("no values");
  if (!std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); }))
    throw std::invalid_argument("a value that is not finite");
}

double middle(const std::vector<double>& sorted) {
  const std::size_t half = sorted.size() / 2;
  // Half of each, as the sum could overflow.
  return sorted.size() % 2 == 1 ? sorted[half] : sorted[half - 1] / 2 + sorted[half] / 2;
}

// How many values may lie outside on either side: the largest d with P(fewer than d below the median) within
// the tail. 0 when there is none.
std::size_t outside(std::size_t n) {
  const boost::math::binomial below(static_cast<double>(n), 0.5);
  std::size_t good = 0, bad = n / 2 + 1;
  while (bad - good > 1) {
    const std::size_t d = (good + bad) / 2;
    (boost::math::cdf(below, static_cast<double>(d - 1)) <= kTail ? good : bad) = d;
  }
  return good;
}

}  // namespace

double median(std::vector<double> values) {
  check(values);
  const auto half = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), half, values.end());
  if (values.size() % 2 == 1) return *half;
  return *std::max_element(values.begin(), half) / 2 + *half / 2;
}

double nearest_rank(std::vector<double> values, double share) {
  check(values);
  if (!(share > 0 && share <= 1)) throw std::invalid_argument("a share outside (0, 1]");
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(rank_of(share, std::ssize(values)) - 1);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

Estimate median_interval(std::vector<double> values) {
  check(values);
  std::sort(values.begin(), values.end());
  const std::size_t d = outside(values.size());
  constexpr double kUnbounded = std::numeric_limits<double>::infinity();
  if (d == 0) return {middle(values), -kUnbounded, kUnbounded};
  return {middle(values), values[d - 1], values[values.size() - d]};
}

bool median_settled(const std::vector<double>& values, double share) {
  if (!(share > 0)) throw std::invalid_argument("a share that is not positive");
  const Estimate estimate = median_interval(values);
  return (estimate.high - estimate.low) / 2 < share * std::abs(estimate.value);
}

}  // namespace gangway
