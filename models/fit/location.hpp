// Distribution-free location estimates.
#pragma once

#include <vector>

#include "models/fit/estimate.hpp"

namespace gangway {

// These take values in any order and unit. They throw std::invalid_argument if there is no value or one is
// not finite.

// The middle value; for an even number, the mean of the middle two.
double median(std::vector<double> values);

// The least value that at least this share does not exceed, as in result files; share in (0, 1], else
// std::invalid_argument. The 99th percentile of fewer than 101 values is one of the two largest.
double nearest_rank(std::vector<double> values, double share);

// The median with the narrowest symmetric pair of order statistics that covers the distribution's median with
// at least 95%: the number of values below it is binomial with probability 1/2 (David and Nagaraja, Order
// Statistics, 2003, 7.1). Infinite below six values.
Estimate median_interval(std::vector<double> values);

// Stopping rule for measurements: half the interval's width is below share of the median's magnitude. False
// below six values. share must be positive, else std::invalid_argument.
bool median_settled(const std::vector<double>& values, double share);

}  // namespace gangway
