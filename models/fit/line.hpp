// Robust linear regression.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <vector>

#include "models/fit/estimate.hpp"

namespace gangway {

// Absolute residuals |y - fitted| over all points, in y's unit. Percentiles are nearest ranks.
struct Residuals {
  double median = 0;
  double p90 = 0;
  double largest = 0;
};

struct LinearFit {
  std::vector<Estimate> parameters;  // one per column of the design, in its order
  Residuals residuals;
  double scale = 0;               // robust standard deviation of the residuals (see below), in y's unit
  std::size_t points = 0;         // rows of the design
  std::size_t down_weighted = 0;  // points beyond 1.345 scales; 18% of normal ones are
  int iterations = 0;
};

// Fits y = design * parameters by Huber's M-estimator: points beyond 1.345 robust standard deviations count
// less, which keeps 95% of the efficiency of least squares for normal errors (Huber, Robust Estimation of a
// Location Parameter, 1964). Solved by iteratively reweighted least squares; the scale is the median of the
// (points - parameters + 1) largest absolute residuals / 0.6745. Tolerates gross errors in y of up to about a
// quarter of the points, but not in the design (a wrong, distant x).
//
// Intervals are Student's t with points - parameters degrees of freedom on the covariance of Huber, Robust
// Statistics (1981), 7.6, which without outliers is that of least squares. Infinite if there are as many
// points as parameters.
//
// design: points x parameters, y: points; any units; columns may differ by many orders of magnitude. Throws
// std::invalid_argument if sizes differ, a number is not finite, there are fewer points than parameters or no
// parameters, or the columns are linearly dependent.
LinearFit fit_linear(const Eigen::MatrixXd& design, const Eigen::VectorXd& y);

// y = a + b x: parameters {a, b}, a in y's unit, b in y's unit per x's. Errors as above; constant x counts as
// dependent columns.
LinearFit fit_line(const std::vector<double>& x, const std::vector<double>& y);

}  // namespace gangway
