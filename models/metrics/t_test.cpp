#include "models/metrics/t_test.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>

#include "models/metrics/statistics.hpp"

namespace gangway {
namespace {

constexpr double kSameWithin = 1e-12;  // of the values: what differs by less is the same

double largest_size(const std::vector<double>& values) {
  double most = 0;
  for (double v : values) most = std::max(most, std::abs(v));
  return most;
}

// The variance of a mean; 0 where the values differ by rounding only, whose size `of` tells.
double variance_of_mean(const std::vector<double>& values, double of) {
  const double sigma = deviation(values, true);
  if (sigma <= kSameWithin * of) return 0;
  return sigma * sigma / static_cast<double>(values.size());
}

TTest tested(double difference, double standard_error, double degrees) {
  const double half = student_t_975(degrees) * standard_error;
  const double t = difference / standard_error;
  const boost::math::students_t law(degrees);
  return {difference, difference - half, difference + half,
          t,          degrees,           2 * boost::math::cdf(boost::math::complement(law, std::abs(t)))};
}

}  // namespace

std::optional<TTest> paired_t_test(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() < 2) return std::nullopt;
  std::vector<double> differences;
  for (std::size_t i = 0; i < a.size(); ++i) differences.push_back(b[i] - a[i]);
  const double variance = variance_of_mean(differences, std::max(largest_size(a), largest_size(b)));
  if (variance == 0) return std::nullopt;
  return tested(mean(differences), std::sqrt(variance), static_cast<double>(a.size() - 1));
}

std::optional<TTest> welch_t_test(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() < 2 || b.size() < 2) return std::nullopt;
  const double of_a = variance_of_mean(a, largest_size(a)), of_b = variance_of_mean(b, largest_size(b));
  if (of_a + of_b == 0) return std::nullopt;
  // Shares of the whole, as squares of very small variances would be 0.
  const double share = of_a / (of_a + of_b);
  const double degrees = 1 / (share * share / static_cast<double>(a.size() - 1) +
                              (1 - share) * (1 - share) / static_cast<double>(b.size() - 1));
  return tested(mean(b) - mean(a), std::sqrt(of_a + of_b), degrees);
}

std::vector<double> holm(const std::vector<double>& p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return p[i] < p[j]; });
  std::vector<double> corrected(p.size());
  double so_far = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const double times = static_cast<double>(order.size() - rank);
    so_far = std::max(so_far, std::min(1.0, times * p[order[rank]]));
    corrected[order[rank]] = so_far;
  }
  return corrected;
}

}  // namespace gangway
