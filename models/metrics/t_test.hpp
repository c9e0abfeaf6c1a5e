// Whether the means of two samples differ by more than chance: Student's t-tests, two-sided, and a correction
// for testing many times.
#pragma once

#include <optional>
#include <vector>

namespace gangway {

struct TTest {
  double difference = 0;     // of means, the second less the first, in the unit of the values
  double low = 0, high = 0;  // its 95 % interval
  double t = 0, degrees = 0;
  double p = 1;  // of so large a difference, either way, where there is none
};

// Of pairs (a[i], b[i]), such as two runs that drew the same random numbers: Student (1908), over the
// differences of pairs. Both have the same size. None below two pairs, or where all pairs differ by the same
// (to 1e-12 of the values): then nothing tells how far chance goes.
std::optional<TTest> paired_t_test(const std::vector<double>& a, const std::vector<double>& b);

// Of independent samples whose variances and sizes may differ: Welch (1947), degrees of freedom of
// Satterthwaite (1946). None below two values in either, or where no value of either differs from its others.
std::optional<TTest> welch_t_test(const std::vector<double>& a, const std::vector<double>& b);

// Holm's (1979) step-down correction, in the order given: each p value as it counts where all of them were
// looked at. Below 0.05 for any, wrongly, with a chance of at most 5 % however the tests depend on each
// other.
std::vector<double> holm(const std::vector<double>& p);

}  // namespace gangway
