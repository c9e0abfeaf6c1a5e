// Where measurements lie, without assuming how they are distributed.
#pragma once

#include <vector>

#include "models/fit/estimate.hpp"

namespace gangway {

// All of these take values in any order and unit and answer in that unit; they throw std::invalid_argument
// when there is no value or one is not finite.

// The middle value; of an even number the mean of the two in the middle.
double median(std::vector<double> values);

// The least value that at least share of all do not exceed, as in the result files; share in (0, 1], else
// std::invalid_argument. The 99th percentile of fewer than 101 values is one of the two largest.
double nearest_rank(std::vector<double> values, double share);

// The median and the narrowest symmetric pair of order statistics that encloses the distribution's median
// with at least 95%: the number of values below it is binomial with probability 1/2 (David and Nagaraja,
// Order Statistics, 2003, 7.1). Infinite below six values, which cannot tell.
Estimate median_interval(std::vector<double> values);

// Whether to stop measuring: half the interval's width is below share of the median's magnitude. Never below
// six values. share must be positive, else std::invalid_argument.
bool median_settled(const std::vector<double>& values, double share);

}  // namespace gangway
