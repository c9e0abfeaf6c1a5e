#include "models/fit/line.hpp"

#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "models/fit/location.hpp"
#include "models/metrics/statistics.hpp"

namespace gangway {
namespace {

using Eigen::ArrayXd;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kHuber = 1.345;               // scales: where a residual begins to count less
constexpr double kNormalMad = 0.674489750196;  // the median absolute deviation of a standard normal
constexpr double kRounding = 1e-12;            // of the largest y: residuals below are not told from rounding
constexpr int kScaleUpdates = 200;             // then the scale stays, and the problem is convex
constexpr int kIterations = 1000;

void check(const MatrixXd& design, const VectorXd& y) {
  if (design.rows() != y.size())
    throw std::invalid_argument("a fit needs one value for each row of its design");
  if (design.cols() < 1) throw std::invalid_argument("a fit needs a parameter");
  if (design.rows() < design.cols()) throw std::invalid_argument("a fit needs as many points as parameters");
  if (!design.allFinite() || !y.allFinite()) throw std::invalid_argument("a fit needs finite numbers");
}

// Columns of length 1, so that bytes beside seconds are no matter of rank.
struct Scaled {
  explicit Scaled(const MatrixXd& design) : lengths(design.colwise().norm()) {
    if ((lengths.array() == 0).any()) throw std::invalid_argument("a column of the design is zero");
    columns = design * lengths.cwiseInverse().asDiagonal();
    Eigen::ColPivHouseholderQR<MatrixXd> qr(columns);
    qr.setThreshold(kRounding);
    if (qr.rank() < columns.cols())
      throw std::invalid_argument("columns of the design depend linearly on each other");
  }
  VectorXd lengths;
  MatrixXd columns;
};

VectorXd solve(const MatrixXd& columns, const VectorXd& y, const ArrayXd& weights) {
  const VectorXd roots = weights.sqrt().matrix();
  return (roots.asDiagonal() * columns).colPivHouseholderQr().solve(roots.cwiseProduct(y));
}

std::vector<double> magnitudes(const VectorXd& residuals) {
  const VectorXd absolute = residuals.cwiseAbs();
  return {absolute.begin(), absolute.end()};
}

// A fit brings as many residuals near zero as it has parameters. Without all but one of them the median is
// not too small where points are few.
double scale_of(const VectorXd& residuals, Eigen::Index parameters, double least) {
  std::vector<double> off = magnitudes(residuals);
  std::sort(off.begin(), off.end());
  off.erase(off.begin(), off.begin() + parameters - 1);
  return std::max(median(std::move(off)) / kNormalMad, least);
}

ArrayXd weights_of(const VectorXd& residuals, double scale) {
  const double bound = kHuber * scale;
  return residuals.array().abs().unaryExpr([bound](double r) { return r <= bound ? 1 : bound / r; });
}

struct Solution {
  VectorXd parameters, residuals;
  double scale = 0;
  int iterations = 0;
};

Solution iterate(const MatrixXd& columns, const VectorXd& y) {
  const double least = std::max(kRounding * y.cwiseAbs().maxCoeff(), std::numeric_limits<double>::min());
  Solution now;
  now.parameters = solve(columns, y, ArrayXd::Ones(y.size()));
  now.residuals = y - columns * now.parameters;
  now.scale = scale_of(now.residuals, columns.cols(), least);
  while (now.iterations < kIterations) {
    ++now.iterations;
    now.parameters = solve(columns, y, weights_of(now.residuals, now.scale));
    const VectorXd residuals = y - columns * now.parameters;
    const double moved = (residuals - now.residuals).cwiseAbs().maxCoeff();
    now.residuals = residuals;
    const double scale =
        now.iterations < kScaleUpdates ? scale_of(residuals, columns.cols(), least) : now.scale;
    const bool settled = std::abs(scale - now.scale) <= 1e-9 * scale;
    now.scale = scale;
    if (settled && moved <= 1e-9 * scale + 1e-3 * least) break;
  }
  return now;
}

// Of the parameters, by Huber 1981, 7.6: K^2 * sum psi^2 / (n - p) / mean(psi')^2 * (X'X)^-1.
VectorXd standard_errors(const MatrixXd& columns, const Solution& solution) {
  const auto n = static_cast<double>(columns.rows());
  const auto p = static_cast<double>(columns.cols());
  const double bound = kHuber * solution.scale;
  const ArrayXd absolute = solution.residuals.array().abs();
  const double inside = std::max((absolute <= bound).cast<double>().mean(), 1 / n);
  const double correction = 1 + p / n * (1 - inside) / inside;
  const double variance = absolute.min(bound).square().sum() / (n - p) / (inside * inside);
  // From X = QR with columns pivoted, X'X is inverted as P R^-1 R^-T P' without squaring X.
  const Eigen::ColPivHouseholderQR<MatrixXd> qr(columns);
  const auto k = columns.cols();
  const MatrixXd inverse =
      qr.matrixR().topLeftCorner(k, k).triangularView<Eigen::Upper>().solve(MatrixXd::Identity(k, k));
  const MatrixXd spread = qr.colsPermutation() * inverse;
  return correction * std::sqrt(variance) * spread.rowwise().norm();
}

std::vector<Estimate> estimates(const Scaled& design, const Solution& solution) {
  const auto degrees = design.columns.rows() - design.columns.cols();
  VectorXd half = VectorXd::Constant(design.columns.cols(), std::numeric_limits<double>::infinity());
  if (degrees > 0)
    half = student_t_975(static_cast<double>(degrees)) * standard_errors(design.columns, solution);
  std::vector<Estimate> all;
  for (Eigen::Index i = 0; i < half.size(); ++i) {
    const double value = solution.parameters[i] / design.lengths[i];
    const double width = half[i] / design.lengths[i];
    all.push_back({value, value - width, value + width});
  }
  return all;
}

VectorXd column(const std::vector<double>& values) {
  return Eigen::Map<const VectorXd>(values.data(), static_cast<Eigen::Index>(values.size()));
}

}  // namespace

LinearFit fit_linear(const MatrixXd& design, const VectorXd& y) {
  check(design, y);
  const Scaled scaled(design);
  const Solution solution = iterate(scaled.columns, y);
  const std::vector<double> off = magnitudes(solution.residuals);
  LinearFit fit;
  fit.parameters = estimates(scaled, solution);
  fit.residuals = {nearest_rank(off, 0.5), nearest_rank(off, 0.9), nearest_rank(off, 1)};
  fit.scale = solution.scale;
  fit.points = off.size();
  for (double r : off) fit.down_weighted += r > kHuber * solution.scale ? 1 : 0;
  fit.iterations = solution.iterations;
  return fit;
}

LinearFit fit_line(const std::vector<double>& x, const std::vector<double>& y) {
  MatrixXd design(static_cast<Eigen::Index>(x.size()), 2);
  design.col(0).setOnes();
  design.col(1) = column(x);
  return fit_linear(design, column(y));
}

}  // namespace gangway
