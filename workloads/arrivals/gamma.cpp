// Gaps of the gamma law: bursts where the coefficient of variation is above 1, as in requests to services of
// language models (Wang et al., "BurstGPT", 2024, fit it to theirs), and a steady flow below.
#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <numbers>

#include "models/arrival_process.hpp"
#include "models/random.hpp"

namespace gangway {
namespace {

class Gamma : public ArrivalProcess {
 public:
  explicit Gamma(const ParameterValues& values) : variance_(values.number("cv") * values.number("cv")) {}

  // By inversion, so that each gap takes one number, and a larger cv stretches the same gaps.
  double gap(Stream& random) const override {
    const double u = random.uniform();
    if (variance_ == 0) return 1;
    return variance_ < kNearlyNormal ? nearly_normal(u)
                                     : boost::math::gamma_p_inv(1 / variance_, u) * variance_;
  }

 private:
  static constexpr double kNearlyNormal = 1e-9;  // Boost's inversion fails near shapes of 10^11

  // The cube root is then normal (Wilson and Hilferty, 1931), with an error below variance^(3/2) of a gap.
  double nearly_normal(double u) const {
    constexpr double kLeast = 0x1.0p-54;  // half of the least u above 0
    const double z = -std::numbers::sqrt2 * boost::math::erfc_inv(2 * std::max(u, kLeast));
    const double root = 1 - variance_ / 9 + z * std::sqrt(variance_) / 3;
    return root * root * root;
  }

  double variance_;  // in units of the mean gap; the shape is its inverse
};

const ArrivalProcessRegistration<Gamma> registered_gamma{
    "gamma",
    "gamma-distributed gaps: bursts with a cv above 1",
    {{"cv", "coefficient of variation of the gaps: 0 for equal gaps, 1 for a Poisson process",
      Parameter::Number{2, 0, 100}}}};

}  // namespace
}  // namespace gangway
