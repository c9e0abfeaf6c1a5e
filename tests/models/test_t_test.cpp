// Tests of differences: worked out by hand, against SciPy, and on samples whose truth is known.
#include <algorithm>
#include <cmath>

#include "experiments/running/unit.hpp"
#include "experiments/sweeps/experiment.hpp"
#include "models/metrics/t_test.hpp"
#include "models/random.hpp"
#include "tests/cases.hpp"
#include "tests/catch.hpp"

using namespace gangway;
using namespace gangway::testing;

TEST_CASE("three pairs, worked out by hand", "[t-test]") {
  // Differences 1, 2, 3: mean 2, deviation 1, standard error 1/sqrt(3), t = 2 sqrt(3) with 2 degrees, whose
  // law is F(t) = 1/2 + t / (2 sqrt(2 + t^2)) and whose 97.5 % quantile is 4.302653.
  const auto test = paired_t_test({10, 12, 14}, {11, 14, 17});
  REQUIRE(test);
  CHECK(test->difference == Approx(2));
  CHECK(test->degrees == 2);
  CHECK(test->t == Approx(2 * std::sqrt(3)));
  CHECK(test->p == Approx(1 - std::sqrt(12.0) / std::sqrt(14.0)));  // 0.0742
  CHECK(test->low == Approx(2 - 4.302653 / std::sqrt(3)).epsilon(1e-6));
  CHECK(test->high == Approx(2 + 4.302653 / std::sqrt(3)).epsilon(1e-6));
}

TEST_CASE("two samples of three, worked out by hand", "[t-test]") {
  // Means 2 and 4, variances 1 and 4, of the means 1/3 and 4/3: standard error sqrt(5/3), degrees
  // (5/3)^2 / ((1/3)^2 / 2 + (4/3)^2 / 2) = 50/17.
  const auto test = welch_t_test({1, 2, 3}, {2, 4, 6});
  REQUIRE(test);
  CHECK(test->difference == Approx(2));
  CHECK(test->t == Approx(2 / std::sqrt(5.0 / 3)));
  CHECK(test->degrees == Approx(50.0 / 17));
  CHECK(test->p == Approx(0.22088084049409593));  // SciPy 1.17.1
}

TEST_CASE("t-tests are SciPy's", "[t-test]") {
  struct Case {
    bool paired;
    std::vector<double> a, b;
    double t, degrees, p, low, high;
  };
  // scipy.stats.ttest_rel(b, a) and ttest_ind(b, a, equal_var=False), version 1.17.1.
  const std::vector<Case> cases{
      {true,
       {101.480107, 86.970722, 83.50013, 71.972166, 104.506672, 54.404297, 86.758905, 101.103861},
       {157.840662, 95.155, 85.062035, 31.316174, 96.576733, 121.103177, 72.722177, 81.170228},
       0.4775180384575947,
       7.0,
       0.6475432315505557,
       -24.8225741394889,
       37.384905639488906},
      {false,
       {487265.187565, 511393.054648},
       {648050.680251, 543833.99337, 737019.99694, 190251.610448},
       0.25283997943502323,
       3.0601428548607297,
       0.8164279311056388,
       -348705.65122170805,
       409625.549513208},
      {true,
       {288.942924, 301.341895, 226.106365, 240.574525, 312.832623, 217.336011, 334.565386, 230.617961},
       {237.752174, 184.765762, 149.70633, 347.808465, 616.717725, 151.052056, 361.513913, 276.814771},
       0.4520331779197981,
       7.0,
       0.6649194927219441,
       -91.92747797551817,
       135.38085447551816},
      {false,
       {1.119327, 1.180194},
       {1.800112, 1.82276, 2.278052, 1.935759, 1.577281, 1.604102, 1.446644},
       5.802121341779131,
       6.769813854398822,
       0.0007475425096376183,
       0.3720043519600663,
       0.8898203623256481},
      {true,
       {20385.315985, 12344.691176, 9140.756861},
       {15618.662084, 18574.918936, 33385.857403},
       1.013398552312556,
       2.0,
       0.41752707105975695,
       -27814.777143334446,
       44953.89341066778},
      {false,
       {2819.740326, 2318.290425, 2810.545429, 3436.239059, 2512.844103, 1641.209019, 3628.333385,
        1712.64542},
       {3521.516973, 2831.5946, 3198.307371, 3488.325884},
       2.1582043112628138,
       9.986051227195887,
       0.05631697386791174,
       -21.18824883184675,
       1321.0988713318472},
      {true,
       {0.022886, 0.018424, 0.020472},
       {0.020694, -0.000594, 0.027967},
       -0.5902293011516524,
       2.0,
       0.6148433100076854,
       -0.03789819590616288,
       0.028754862572829547},
      {false,
       {518.444804, 483.856707, 364.211376},
       {438.075035, 689.340772, 581.824017, 510.60327},
       1.3994426436054652,
       4.978397305978292,
       0.2208020599126454,
       -83.4699574604416,
       282.3829131271085},
      {true,
       {0.160549, 0.111619, 0.112398},
       {0.2124, 0.169814, 0.109684},
       1.8506216131045872,
       2.0,
       0.20544173412951947,
       -0.047404144630483876,
       0.11895881129715055},
      {false,
       {7006.554142, 7148.803005},
       {8113.965719, 6657.174579},
       0.4206974730911397,
       1.0190674905931867,
       0.7454480695347866,
       -8590.014237485684,
       9205.797388485687},
      {true,
       {0.007095, 0.012178, 0.006675, 0.01102, 0.008239},
       {0.005786, 0.007084, 0.019276, 0.013319, 0.015249},
       0.9989465069524925,
       4.0,
       0.37435349553324165,
       -0.005518547904447649,
       0.01172134790444765},
      {false,
       {9.137352, 5.68649},
       {5.79856, 5.420648},
       -1.0383525604105879,
       1.0239824592779785,
       0.4848026705430741,
       -22.673110662289115,
       19.068476662289118},
      {true,
       {0.093384, 0.116423, 0.075677},
       {0.150702, 0.075061, 0.139216},
       0.7798752023852995,
       2.0,
       0.5171033170691604,
       -0.11969573195013924,
       0.17269239861680594},
      {false,
       {7.622393, 3.726424, 3.302724, 6.141446, 8.111841},
       {4.412877, 8.254106, 8.760738, 6.967836, 6.14912, 5.543574, 3.859235},
       0.4126197886393178,
       7.735603136910337,
       0.6910833786184256,
       -2.29833108969086,
       3.2928244611194284},
  };
  for (const Case& c : cases) {
    const auto test = c.paired ? paired_t_test(c.a, c.b) : welch_t_test(c.a, c.b);
    REQUIRE(test);
    CHECK(test->t == Approx(c.t).epsilon(1e-9));
    CHECK(test->degrees == Approx(c.degrees).epsilon(1e-9));
    CHECK(test->p == Approx(c.p).epsilon(1e-9));
    CHECK(test->low == Approx(c.low).epsilon(1e-8));
    CHECK(test->high == Approx(c.high).epsilon(1e-8));
  }
}

TEST_CASE("values that do not vary leave nothing to test", "[t-test]") {
  CHECK_FALSE(paired_t_test({}, {}));
  CHECK_FALSE(paired_t_test({1}, {2}));
  CHECK_FALSE(welch_t_test({1, 2}, {2}));
  CHECK_FALSE(paired_t_test({3, 3, 3}, {4, 4, 4}));
  CHECK_FALSE(paired_t_test({1, 5, 3}, {2, 6, 4}));
  CHECK_FALSE(paired_t_test({0.1, 0.2, 0.3}, {0.4, 0.5, 0.6}));  // differences that rounding tells apart
  CHECK_FALSE(paired_t_test({0, 0}, {0, 0}));
  CHECK_FALSE(welch_t_test({3, 3, 3}, {4, 4}));
  // One of them varies: Student's test with its degrees of freedom.
  const auto test = welch_t_test({3, 3, 3}, {4, 5, 6});
  REQUIRE(test);
  CHECK(test->degrees == Approx(2));
  CHECK(test->t == Approx(2 * std::sqrt(3)));
}

TEST_CASE("Holm's correction, worked out by hand", "[t-test]") {
  const auto corrected = holm({0.01, 0.04, 0.03, 0.005});
  const std::vector<double> expected{0.03, 0.06, 0.06, 0.02};  // 3 * 0.01, then 2 * 0.03 for both, 4 * 0.005
  REQUIRE(corrected.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(corrected[i] == Approx(expected[i]));
  CHECK(holm({}).empty());
  CHECK(holm({0.5, 0.9}) == std::vector<double>{1, 1});
}

namespace {

// Replications of a small experiment, by seed; kernels take `factor` of the time.
class Replicated {
 public:
  explicit Replicated(double factor)
      : experiment_(
            read_experiment(Configuration{parse_yaml(text(factor), "replicated"), ".", "experiment"}, {})),
        world_(Worlds::named("sim", "test", "world")) {}

  std::vector<double> values(double ReplicationMetrics::*metric, std::uint64_t seed,
                             std::uint32_t replications) const {
    Point point = experiment_.points[0];
    point.seed = seed;
    std::vector<double> all;
    for (std::uint32_t r = 0; r < replications; ++r)
      all.push_back(play(experiment_, point, world_, {0, 0, r}, go_on_)->metrics.*metric);
    return all;
  }

 private:
  static std::string text(double factor) {
    const auto kernel = [&](double ms) { return std::to_string(ms * factor) + " ms"; };
    return "kind: experiment\nversion: 1\nname: r\nmechanism: ideal\npolicies: [srt]\n"
           "device: {kind: device, version: 1, name: d, layout: pool, m: 8}\n"
           "workload:\n  kind: workload\n  version: 1\n  name: w\n"
           "  jitter: {kernel_time: 20 %, arrival: 300 us, distribution: normal}\n"
           "  arrivals: {gap: 1 ms, order: permuted}\n"
           "  repeat: {jobs: 3, think: 1 ms}\n  clients:\n"
           "    - {name: a, kernels: [{name: k, block_tasks: 8, block: [1], time: " +
           kernel(1) +
           "}]}\n"
           "    - {name: b, kernels: [{name: k, block_tasks: 8, block: [1], time: " +
           kernel(2) +
           "}]}\n"
           "    - {name: c, kernels: [{name: k, block_tasks: 8, block: [1], time: " +
           kernel(3) +
           "}]}\n"
           "permutations: 4\n";
  }

  Experiment experiment_;
  const WorldEntry& world_;
  std::atomic<bool> go_on_{false};
};

// Within five standard deviations of a binomial count.
void check_share(int hits, int n, double expected) {
  const double share = static_cast<double>(hits) / n;
  CAPTURE(hits, n, share);
  CHECK(std::abs(share - expected) < 5 * std::sqrt(expected * (1 - expected) / n) + 0.01);
}

}  // namespace

TEST_CASE("one in twenty tests finds a difference where there is none", "[t-test][long]") {
  const Replicated same(1);
  int welch = 0, paired = 0, families = 0;
  const CaseNumbers cases = case_numbers(600, 64'000);
  for (const int number : cases) {
    const auto seed = static_cast<std::uint64_t>(2 * number);
    const auto a = same.values(&ReplicationMetrics::antt, seed, 5),
               b = same.values(&ReplicationMetrics::antt, seed + 1, 5);
    const auto independent = welch_t_test(a, b), pairs = paired_t_test(a, b);
    REQUIRE((independent && pairs));
    welch += independent->p < 0.05 ? 1 : 0;
    paired += pairs->p < 0.05 ? 1 : 0;
    // A family of tests of which none is of a difference: drawn, as ten samples of the experiment are slow.
    Stream random(seed, "family", {});
    std::vector<double> p(10);
    for (double& each : p) each = random.uniform();
    const std::vector<double> corrected = holm(p);
    families += *std::min_element(corrected.begin(), corrected.end()) < 0.05 ? 1 : 0;
  }
  check_share(welch, cases.size(), 0.05);
  check_share(paired, cases.size(), 0.05);
  check_share(families, cases.size(), 0.05);
}

TEST_CASE("a planted difference is found, in pairs where samples do not tell it", "[t-test][long]") {
  const Replicated as_it_was(1), slower(1.02);
  int paired = 0, welch = 0;
  const CaseNumbers cases = case_numbers(100, 6'400);
  for (const int number : cases) {
    const auto seed = static_cast<std::uint64_t>(number);
    const auto a = as_it_was.values(&ReplicationMetrics::makespan_ns, seed, 10),
               b = slower.values(&ReplicationMetrics::makespan_ns, seed, 10);
    const auto pairs = paired_t_test(a, b), independent = welch_t_test(a, b);
    REQUIRE((independent && pairs));
    paired += pairs->p < 0.05 && pairs->difference > 0 ? 1 : 0;
    welch += independent->p < 0.05 ? 1 : 0;
  }
  CAPTURE(paired, welch, cases.size());
  CHECK(paired > 0.9 * cases.size());
  CHECK(welch < 0.3 * cases.size());
}
