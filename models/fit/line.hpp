// Linear least squares that a minority of wrong measurements does not carry away.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <vector>

#include "models/fit/estimate.hpp"

namespace gangway {

// Absolute residuals |y - fitted| over all points, in the unit of y. Percentiles are nearest ranks.
struct Residuals {
  double median = 0;
  double p90 = 0;
  double largest = 0;
};

struct LinearFit {
  std::vector<Estimate> parameters;  // one per column of the design, in its order
  Residuals residuals;
  double scale = 0;               // robust standard deviation of the residuals (see below), in the unit of y
  std::size_t points = 0;         // rows of the design
  std::size_t down_weighted = 0;  // points further than 1.345 scales off; 18% of normal ones are
  int iterations = 0;
};

// y = design * parameters, by Huber's M-estimator: points beyond 1.345 robust standard deviations count less,
// so that for normal errors 95% of the efficiency of least squares is left (Huber, Robust Estimation of a
// Location Parameter, 1964). Solved by iteratively reweighted least squares; the scale is the median of
// the points - parameters + 1 largest absolute residuals / 0.6745. Gross errors in y of up to about a quarter
// of the points are borne; gross errors in the design (a wrong x far outside the others) are not.
//
// The intervals are Student's t with points - parameters degrees of freedom on the covariance of Huber,
// Robust Statistics (1981), 7.6: without outliers it is that of least squares. They are infinite when there
// are as many points as parameters.
//
// design: points x parameters, y: points; any units, columns may differ by many orders of magnitude. Throws
// std::invalid_argument when sizes differ, a number is not finite, there are fewer points than parameters or
// no parameter, or the columns depend linearly on each other.
LinearFit fit_linear(const Eigen::MatrixXd& design, const Eigen::VectorXd& y);

// y = a + b x: parameters {a, b}, a in the unit of y, b in that of y per that of x. Errors as above; equal
// values of x everywhere are such a dependence.
LinearFit fit_line(const std::vector<double>& x, const std::vector<double>& y);

}  // namespace gangway
