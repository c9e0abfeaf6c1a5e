// Stafford's algorithm (Emberson, Stafford, Davis, Techniques for the Synthesis of Multiprocessor Tasksets,
// WATERS 2010): evenly over all ways to share a total with shares between 0 and a limit, without discarding.
#include <algorithm>
#include <cmath>
#include <limits>

#include "workloads/taskset_generator.hpp"

namespace gangway {
namespace {

// The simplices into which the hyperplane cuts the unit cube: probabilities of going from one to the next.
// t[i - 1][j] is that of taking the step to the smaller cube's side for i + 1 remaining numbers.
std::vector<std::vector<double>> transitions(std::size_t n, double sum) {
  const auto k = static_cast<double>(std::min(static_cast<std::size_t>(sum), n - 1));
  std::vector<double> below(n), above(n);
  for (std::size_t i = 0; i < n; ++i) {
    below[i] = sum - k + static_cast<double>(i);
    above[i] = k + static_cast<double>(n - i) - sum;
  }
  constexpr double kTiny = std::numeric_limits<double>::min();
  std::vector<double> w{0, std::numeric_limits<double>::max()};
  std::vector<std::vector<double>> t(n);
  for (std::size_t i = 2; i <= n; ++i) {
    std::vector<double> next(i + 1, 0);
    w.resize(i + 1, 0);
    t[i - 1].resize(i);
    for (std::size_t j = 0; j < i; ++j) {
      const double one = w[j + 1] * below[j] / static_cast<double>(i);
      const double other = w[j] * above[n - i + j] / static_cast<double>(i);
      next[j + 1] = one + other;
      const double all = next[j + 1] + kTiny;
      t[i - 1][j] = above[n - i + j] > below[j] ? other / all : 1 - one / all;
    }
    w = std::move(next);
  }
  return t;
}

std::vector<double> randfixedsum(std::size_t tasks, double total, double most, Stream& random) {
  const std::size_t n = tasks;
  double sum = total / most;
  const auto t = transitions(n, sum);
  std::size_t j = std::min(static_cast<std::size_t>(sum), n - 1);
  std::vector<double> shares;
  double placed = 0, scale = 1;
  for (std::size_t i = n - 1; i > 0; --i) {
    const bool step = random.uniform() <= t[i][j];
    const double shrink = std::pow(1 - random.uniform(), 1 / static_cast<double>(i));
    placed += (1 - shrink) * scale * sum / static_cast<double>(i + 1);
    scale *= shrink;
    shares.push_back(placed + scale * (step ? 1 : 0));
    if (step) {
      sum -= 1;
      if (j > 0) --j;
    }
  }
  shares.push_back(placed + scale * sum);
  for (std::size_t i = n; i > 1; --i) std::swap(shares[i - 1], shares[random.below(i)]);
  for (double& share : shares) share = std::clamp(share * most, std::numeric_limits<double>::min(), most);
  return shares;
}

const UtilisationRegistration registered_randfixedsum{
    "randfixedsum", "evenly over all ways to share the utilisation with no share above `most`", randfixedsum};

}  // namespace
}  // namespace gangway
