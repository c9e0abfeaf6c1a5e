// Two-sided Student's t-tests for the means of two samples, and a correction for multiple tests.
#pragma once

#include <optional>
#include <vector>

namespace gangway {

struct TTest {
  double difference = 0;     // second mean minus first, in the values' unit
  double low = 0, high = 0;  // its 95 % interval
  double t = 0, degrees = 0;
  double p = 1;  // probability of a difference at least this large if there is none
};

// For pairs (a[i], b[i]), such as two runs with common random numbers: Student (1908), on the differences.
// Sizes must be equal. None below two pairs, or if all differences are equal (to 1e-12 of the values).
std::optional<TTest> paired_t_test(const std::vector<double>& a, const std::vector<double>& b);

// For independent samples with possibly different variances and sizes: Welch (1947), degrees of freedom by
// Satterthwaite (1946). None below two values in either, or if both samples are constant.
std::optional<TTest> welch_t_test(const std::vector<double>& a, const std::vector<double>& b);

// Holm's (1979) step-down correction of p values, in the given order. The probability of any wrong value
// below 0.05 is at most 5 %, however the tests depend on each other.
std::vector<double> holm(const std::vector<double>& p);

}  // namespace gangway
