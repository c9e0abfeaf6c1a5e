#include <cmath>
#include <limits>
#include <stdexcept>

#include "models/fit/line.hpp"
#include "models/fit/location.hpp"
#include "models/random.hpp"
#include "tests/catch.hpp"

using namespace gangway;

namespace {

struct Samples {
  std::vector<double> x, y;
};

// y = a + b x + noise at x = 1 ... n.
Samples line(double a, double b, int n, double sigma, Stream& random) {
  Samples points;
  for (int i = 1; i <= n; ++i) {
    points.x.push_back(i);
    points.y.push_back(a + b * i + sigma * random.normal());
  }
  return points;
}

bool covers(const Estimate& estimate, double truth) {
  return estimate.low <= truth && truth <= estimate.high;
}

std::vector<double> normals(int n, double centre, double sigma, Stream& random) {
  std::vector<double> values(static_cast<std::size_t>(n));
  for (double& value : values) value = centre + sigma * random.normal();
  return values;
}

}  // namespace

TEST_CASE("a line through points without outliers is that of least squares, worked out by hand") {
  // x 1 2 3 4, y 2 3 5 6: mean x 2.5, y 4; Sxx 5, Sxy 7; b 1.4, a 0.5. Residuals 0.1 -0.3 0.3 -0.1: the
  // median of the three largest is 0.3, the scale 0.4448, and none is beyond 1.345 of it. s^2 = 0.2 / 2; t(2)
  // = 4.30265.
  const LinearFit fit = fit_line({1, 2, 3, 4}, {2, 3, 5, 6});
  CHECK(fit.parameters[0].value == Approx(0.5));
  CHECK(fit.parameters[1].value == Approx(1.4));
  CHECK(fit.scale == Approx(0.3 / 0.67449));
  CHECK(fit.down_weighted == 0);
  CHECK(fit.points == 4);
  const double b = 4.30265 * std::sqrt(0.1 / 5);
  const double a = 4.30265 * std::sqrt(0.1 * (0.25 + 2.5 * 2.5 / 5));
  CHECK(fit.parameters[1].high - fit.parameters[1].value == Approx(b).epsilon(1e-5));
  CHECK(fit.parameters[0].value - fit.parameters[0].low == Approx(a).epsilon(1e-5));
  CHECK(fit.residuals.median == Approx(0.1));  // nearest rank: the second of four
  CHECK(fit.residuals.p90 == Approx(0.3));
  CHECK(fit.residuals.largest == Approx(0.3));
}

TEST_CASE("one outlier of a constant, worked out by hand") {
  // Values 0 0 0 1 1 1 and 100. At the estimate m the outlier pulls with 1.345 s, the others with their
  // distance: 3 m - 3 (1 - m) = 1.345 s, and s = median |y - m| / 0.67449 = m / 0.67449 (m > 1/2: the
  // magnitudes are 1-m three times, m three times, 100-m; the fourth is m). So 6 m - 3 = 1.99410 m.
  const double m = 3 / (6 - 1.345 / 0.674489750196);
  const Eigen::MatrixXd ones = Eigen::MatrixXd::Ones(7, 1);
  Eigen::VectorXd y(7);
  y << 0, 100, 1, 0, 1, 1, 0;
  const LinearFit fit = fit_linear(ones, y);
  CHECK(fit.parameters[0].value == Approx(m).epsilon(1e-6));
  CHECK(fit.scale == Approx(m / 0.674489750196).epsilon(1e-6));
  CHECK(fit.down_weighted == 1);
  CHECK(fit.residuals.largest == Approx(100 - m));
  // Huber 1981, 7.6: psi^2 sums to 3 m^2 + 3 (1-m)^2 + (1.345 s)^2 over 6; psi' is 1 for six of seven.
  const double bound = 1.345 * m / 0.674489750196;
  const double variance = (3 * m * m + 3 * (1 - m) * (1 - m) + bound * bound) / 6 / std::pow(6 / 7.0, 2) / 7;
  const double correction = 1 + 1 / 7.0 * (1 / 7.0) / (6 / 7.0);
  const double half = 2.446912 * correction * std::sqrt(variance);
  CHECK(fit.parameters[0].high - fit.parameters[0].value == Approx(half).epsilon(1e-5));
}

TEST_CASE("exact lines are found exactly, at any magnitude") {
  for (const double scale : {1e-9, 1.0, 1e12}) {
    std::vector<double> x, y;
    for (int i = 0; i < 30; ++i) {
      x.push_back(1024.0 * i * i);
      y.push_back(scale * (8 + 0.25 * x.back()));
    }
    const LinearFit fit = fit_line(x, y);
    CHECK(fit.parameters[0].value == Approx(8 * scale).epsilon(1e-8));
    CHECK(fit.parameters[1].value == Approx(0.25 * scale).epsilon(1e-12));
    CHECK(fit.down_weighted == 0);
    CHECK(fit.residuals.largest <= 1e-10 * y.back());
  }
  CHECK(fit_line({1, 2, 3}, {0, 0, 0}).parameters[1].value == 0);
}

TEST_CASE("exact points with gross outliers give the exact line") {
  for (const int every : {10, 5}) {  // 10% and 20%
    std::vector<double> x, y;
    for (int i = 0; i < 60; ++i) {
      x.push_back(i);
      y.push_back(3 + 2 * i + (i % every == 1 ? 1000 : 0));
    }
    const LinearFit fit = fit_line(x, y);
    CHECK(fit.parameters[0].value == Approx(3).epsilon(1e-6));
    CHECK(fit.parameters[1].value == Approx(2).epsilon(1e-8));
    CHECK(fit.down_weighted == static_cast<std::size_t>(60 / every));
    CHECK(fit.residuals.median < 1e-6);
    CHECK(fit.residuals.largest == Approx(1000));
  }
}

TEST_CASE("gross outliers among noisy points move a line by less than the noise") {
  Stream random(4, "outliers", {});
  for (const int every : {10, 5}) {
    Samples points = line(100, 3, 200, 1, random);
    for (std::size_t i = 0; i < points.y.size(); i += static_cast<std::size_t>(every)) points.y[i] += 500;
    const LinearFit fit = fit_line(points.x, points.y);
    CHECK(fit.parameters[0].value == Approx(100).margin(0.8));
    CHECK(fit.parameters[1].value == Approx(3).margin(0.008));
    CHECK(fit.scale < 1.5);
    CHECK(fit.down_weighted >= static_cast<std::size_t>(200 / every));
  }
}

TEST_CASE("a general design: a quadratic with columns far apart in magnitude") {
  Eigen::MatrixXd design(40, 3);
  Eigen::VectorXd y(40);
  for (int i = 0; i < 40; ++i) {
    const double x = 1e6 * i;
    design.row(i) << 1, x, x * x;
    y[i] = 7 - 2e-3 * x + 5e-9 * x * x;
  }
  y[11] += 1e6;
  const LinearFit fit = fit_linear(design, y);
  CHECK(fit.parameters[0].value == Approx(7).epsilon(1e-4));
  CHECK(fit.parameters[1].value == Approx(-2e-3).epsilon(1e-7));
  CHECK(fit.parameters[2].value == Approx(5e-9).epsilon(1e-7));
  CHECK(fit.down_weighted == 1);
}

TEST_CASE("the intervals of a line hold the truth 95 times in 100") {
  constexpr int kRuns = 4000;
  for (const int n : {8, 30}) {
    Stream random(5, "coverage", {static_cast<std::uint64_t>(n)});
    int intercept = 0, slope = 0;
    for (int run = 0; run < kRuns; ++run) {
      const Samples points = line(10, -0.5, n, 2, random);
      const LinearFit fit = fit_line(points.x, points.y);
      intercept += covers(fit.parameters[0], 10) ? 1 : 0;
      slope += covers(fit.parameters[1], -0.5) ? 1 : 0;
    }
    CAPTURE(n);
    CHECK(intercept == Approx(0.95 * kRuns).margin(0.02 * kRuns));
    CHECK(slope == Approx(0.95 * kRuns).margin(0.02 * kRuns));
  }
}

TEST_CASE("with outliers to both sides the intervals of a line still hold the truth") {
  constexpr int kRuns = 2000;
  Stream random(6, "coverage with outliers", {});
  int slope = 0;
  for (int run = 0; run < kRuns; ++run) {
    Samples points = line(10, -0.5, 40, 2, random);
    for (double& y : points.y)
      if (random.uniform() < 0.15) y += random.uniform() < 0.5 ? 300 : -300;
    slope += covers(fit_line(points.x, points.y).parameters[1], -0.5) ? 1 : 0;
  }
  CHECK(slope == Approx(0.95 * kRuns).margin(0.025 * kRuns));
}

TEST_CASE("as many points as parameters give a line without intervals") {
  const LinearFit fit = fit_line({1, 3}, {5, 9});
  CHECK(fit.parameters[0].value == Approx(3));
  CHECK(fit.parameters[1].value == Approx(2));
  CHECK(std::isinf(fit.parameters[1].high));
  CHECK(std::isinf(fit.parameters[1].low));
}

TEST_CASE("what no line can be fitted to is refused") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_AS(fit_line({}, {}), std::invalid_argument);
  CHECK_THROWS_AS(fit_line({1}, {1}), std::invalid_argument);
  CHECK_THROWS_AS(fit_line({1, 2, 3}, {1, 2}), std::invalid_argument);
  CHECK_THROWS_AS(fit_line({4, 4, 4}, {1, 2, 3}), std::invalid_argument);
  CHECK_THROWS_AS(fit_line({0, 0, 0}, {1, 2, 3}), std::invalid_argument);
  CHECK_THROWS_AS(fit_line({1, 2, nan}, {1, 2, 3}), std::invalid_argument);
  CHECK_THROWS_AS(fit_line({1, 2, 3}, {1, 2, 1 / 0.0}), std::invalid_argument);
  CHECK_THROWS_AS(fit_linear(Eigen::MatrixXd(3, 0), Eigen::VectorXd::Ones(3)), std::invalid_argument);
}

TEST_CASE("medians and nearest ranks") {
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({4, 1, 3, 2}) == 2.5);
  CHECK(median({7}) == 7);
  std::vector<double> hundred;
  for (int i = 100; i >= 1; --i) hundred.push_back(i);
  CHECK(nearest_rank(hundred, 0.99) == 99);
  CHECK(nearest_rank(hundred, 0.5) == 50);
  CHECK(nearest_rank(hundred, 1) == 100);
  CHECK(nearest_rank({2, 1}, 0.99) == 2);
  CHECK_THROWS_AS(median({}), std::invalid_argument);
  CHECK_THROWS_AS(nearest_rank({}, 0.5), std::invalid_argument);
  CHECK_THROWS_AS(nearest_rank({1}, 0), std::invalid_argument);
  CHECK_THROWS_AS(nearest_rank({1, std::nan("")}, 0.5), std::invalid_argument);
}

TEST_CASE("the interval of a median is a pair of order statistics, known from tables") {
  // Of 6 values the extremes (2 / 64 is outside), of 10 the 2nd and 9th (2 * 11 / 1024), of 20 the 6th and
  // 15th (0.0414), of 100 the 40th and 61st (0.0352).
  const auto ends = [](int n) {
    std::vector<double> values;
    for (int i = n; i >= 1; --i) values.push_back(i);
    const Estimate estimate = median_interval(values);
    return std::make_pair(estimate.low, estimate.high);
  };
  CHECK(ends(6) == std::make_pair(1.0, 6.0));
  CHECK(ends(10) == std::make_pair(2.0, 9.0));
  CHECK(ends(20) == std::make_pair(6.0, 15.0));
  CHECK(ends(100) == std::make_pair(40.0, 61.0));
  CHECK(std::isinf(ends(5).first));
  CHECK(std::isinf(ends(1).second));
  // Of a million it is the normal approximation: 980 to each side.
  CHECK(ends(1'000'000).first == Approx(500'000 - 980).margin(2));
}

TEST_CASE("the interval of a median holds it at least 95 times in 100, however skewed the values") {
  constexpr int kRuns = 4000;
  Stream random(7, "median", {});
  for (const int n : {10, 51}) {
    int held = 0;
    for (int run = 0; run < kRuns; ++run) {
      std::vector<double> values(static_cast<std::size_t>(n));
      for (double& value : values) value = std::exp(3 * random.normal());
      held += covers(median_interval(values), 1) ? 1 : 0;
    }
    CAPTURE(n);
    CHECK(held >= 0.94 * kRuns);
    CHECK(held <= 0.99 * kRuns);
  }
}

TEST_CASE("measuring stops when the interval is narrow for the median") {
  CHECK_FALSE(median_settled({5, 5, 5, 5, 5}, 0.5));  // five values cannot tell
  CHECK(median_settled({5, 5, 5, 5, 5, 5}, 0.01));
  CHECK_FALSE(median_settled({100, 101, 102, 103, 104, 105}, 0.02));  // 2.5 of 102.5 is 2.44%
  CHECK(median_settled({100, 101, 102, 103, 104, 105}, 0.025));
  CHECK(median_settled({-100, -101, -102, -103, -104, -105}, 0.025));
  CHECK_THROWS_AS(median_settled({1, 2}, 0), std::invalid_argument);
  CHECK_THROWS_AS(median_settled({}, 0.1), std::invalid_argument);
  Stream random(8, "settled", {});
  CHECK_FALSE(median_settled(normals(20, 100, 10, random), 0.01));
  CHECK(median_settled(normals(2000, 100, 10, random), 0.01));
}
