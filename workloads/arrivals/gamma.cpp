// Gaps of the gamma law: bursts where the coefficient of variation is above 1, as in requests to services of
// language models (Wang et al., "BurstGPT", 2024, fit it to theirs), and a steady flow below.
#include <boost/math/special_functions/gamma.hpp>

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
    return variance_ > 0 ? boost::math::gamma_p_inv(1 / variance_, u) * variance_ : 1;
  }

 private:
  double variance_;  // in units of the mean gap; the shape is its inverse
};

const ArrivalProcessRegistration<Gamma> registered_gamma{
    "gamma",
    "gamma-distributed gaps: bursts with a cv above 1",
    {{"cv", "coefficient of variation of the gaps: 0 for equal gaps, 1 for a Poisson process",
      Parameter::Number{2, 0, 100}}}};

}  // namespace
}  // namespace gangway
