// Arrivals against the laws that they claim. Seeds are fixed. Bounds are those that a right process exceeds
// once in a thousand draws of a seed (Kolmogorov-Smirnov), or at 5 standard errors (moments).
#include <fmt/format.h>

#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>

#include "models/arrival_process.hpp"
#include "models/input/document.hpp"
#include "models/random.hpp"
#include "models/run/request_times.hpp"
#include "tests/catch.hpp"
#include "tests/scenario.hpp"
#include "workloads/arrival_times.hpp"
#include "workloads/repeat.hpp"

using namespace gangway;
using namespace gangway::testing;

namespace {

Repeat repeat_from(const std::string& yaml) { return read_repeat(Field(parse_yaml(yaml, "test"), "repeat")); }

std::vector<double> gaps_of(const Repeat& repeat, int count, const RunSeed& seed = {},
                            ClientId client = ClientId{0}) {
  RequestTimes times(*repeat.arrivals, seed, client, Time{});
  std::vector<double> gaps;
  for (Time last; static_cast<int>(gaps.size()) < count;) {
    const Time next = times.next();
    gaps.push_back(static_cast<double>((next - last).ns) * 1e-9);
    last = next;
  }
  return gaps;
}

// Before they are rounded to ns, which many are shorter than where the cv is large.
std::vector<double> drawn_gaps(const Repeat& repeat, int count, std::uint64_t seed) {
  Stream random(seed, "gaps", {});
  std::vector<double> gaps(static_cast<std::size_t>(count));
  for (double& gap : gaps) gap = repeat.arrivals->process->gap(random);
  return gaps;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

double variance_of(const std::vector<double>& values) {
  const double centre = mean_of(values);
  double squares = 0;
  for (const double v : values) squares += (v - centre) * (v - centre);
  return squares / static_cast<double>(values.size() - 1);
}

// The largest distance between the empirical distribution of the gaps and the gamma law of mean 1 and this
// cv.
double distance(std::vector<double> gaps, double cv) {
  std::sort(gaps.begin(), gaps.end());
  const auto n = static_cast<double>(gaps.size());
  double most = 0;
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    const double law = boost::math::gamma_p(1 / (cv * cv), gaps[i] / (cv * cv));
    most = std::max({most, law - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - law});
  }
  return most;
}

// Kolmogorov's quantile for one in a thousand.
double allowed(int count) { return 1.9495 / std::sqrt(static_cast<double>(count)); }

double correlation_of_neighbours(const std::vector<double>& gaps) {
  const double centre = mean_of(gaps);
  double products = 0;
  for (std::size_t i = 1; i < gaps.size(); ++i) products += (gaps[i] - centre) * (gaps[i - 1] - centre);
  return products / static_cast<double>(gaps.size()) / variance_of(gaps);
}

}  // namespace

TEST_CASE("gaps between requests follow their law", "[arrivals]") {
  constexpr int kGaps = 20'000;
  struct Case {
    std::string process;
    double cv;
  };
  for (const Case& c :
       {Case{"process: poisson", 1}, Case{"process: gamma, cv: 1", 1}, Case{"process: gamma, cv: 0.3", 0.3},
        Case{"process: gamma, cv: 2", 2}, Case{"process: gamma", 2}, Case{"process: gamma, cv: 5", 5}}) {
    const Repeat repeat = repeat_from("{jobs: endless, arrivals: {" + c.process + ", rate: 1/s}}");
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      INFO(c.process << ", seed " << seed);
      const auto gaps = drawn_gaps(repeat, kGaps, seed);
      CHECK(std::abs(mean_of(gaps) - 1) < 5 * c.cv / std::sqrt(kGaps));
      // The kurtosis of a gamma law is 3 + 6 cv^2.
      const double variance = c.cv * c.cv;
      CHECK(std::abs(variance_of(gaps) / variance - 1) < 5 * std::sqrt((2 + 6 * variance) / kGaps));
      CHECK(distance(gaps, c.cv) < allowed(kGaps));
      CHECK(std::abs(correlation_of_neighbours(gaps)) < 5 / std::sqrt(kGaps));
    }
  }
}

TEST_CASE("the test of laws tells near ones apart", "[arrivals]") {
  constexpr int kGaps = 20'000;
  const auto gaps =
      drawn_gaps(repeat_from("{jobs: endless, arrivals: {process: poisson, rate: 1/s}}"), kGaps, 1);
  CHECK(distance(gaps, 0.95) > allowed(kGaps));
  CHECK(distance(gaps, 1.05) > allowed(kGaps));
}

TEST_CASE("gaps of the gamma law have no least coefficient of variation", "[arrivals]") {
  constexpr int kGaps = 2'000;
  const auto gaps_with = [](double cv) {
    return drawn_gaps(
        repeat_from(fmt::format("{{jobs: endless, arrivals: {{process: gamma, rate: 1/s, cv: {}}}}}", cv)),
        kGaps, 1);
  };
  // In deviations from the mean, gap for gap the same, as nothing of the skew is left.
  const auto known = gaps_with(1e-4);
  for (const double cv : {3.2e-5, 3.1e-5, 1e-5, 3e-6, 1e-6, 1e-9}) {
    INFO(cv);
    const auto gaps = gaps_with(cv);
    for (std::size_t i = 0; i < gaps.size(); ++i) {
      const double off = (gaps[i] - 1) / cv - (known[i] - 1) / 1e-4;
      CHECK(std::abs(off) < 1e-3 + 1e-15 / cv);  // one step of a double is 2.2e-16 of a gap
    }
  }
  for (const double cv : {1e-12, 1e-16, 1e-170, 1e-300})
    for (const double gap : gaps_with(cv)) CHECK(std::abs(gap - 1) < 1e-10);
  // Both ways to draw meet at 10^-4.5, each exact to about 3e-14.
  const auto below = gaps_with(3.16227765e-5), above = gaps_with(3.16227767e-5);
  for (std::size_t i = 0; i < below.size(); ++i) CHECK(std::abs(below[i] - above[i]) < 1e-12);
}

TEST_CASE("requests at a fixed rate are equally far apart, and roundings do not add up", "[arrivals]") {
  for (const char* process : {"fixed", "gamma, cv: 0"}) {
    const std::string text = std::string("{jobs: 3, arrivals: {process: ") + process + ", rate: 3/s}}";
    const Repeat repeat = repeat_from(text);
    RequestTimes times(*repeat.arrivals, {}, ClientId{0}, Time{5});
    CHECK(times.next() == Time{333'333'338});
    CHECK(times.next() == Time{666'666'672});
    CHECK(times.next() == Time{1'000'000'005});
    for (int i = 4; i < 3'000'000; ++i) times.next();
    CHECK(times.next() == Time{1'000'000'000'000'005});
  }
}

TEST_CASE("times of requests are those gaps over the rate", "[arrivals]") {
  const Repeat repeat = repeat_from("{jobs: endless, arrivals: {process: poisson, rate: 1000/s}}");
  const auto gaps = gaps_of(repeat, 20'000);
  CHECK(mean_of(gaps) == Approx(1e-3).epsilon(5 / std::sqrt(20'000)));
  std::vector<double> in_means;
  for (const double gap : gaps) in_means.push_back(gap * 1000);
  CHECK(distance(in_means, 1) < allowed(20'000));
}

TEST_CASE("requests depend on the seed and the client alone, and a rate scales them", "[arrivals]") {
  const auto of = [](const char* rate) {
    return repeat_from(std::string("{jobs: 9, arrivals: {process: gamma, cv: 2, rate: ") + rate + "}}");
  };
  const Repeat slow = of("10/s");
  CHECK(gaps_of(slow, 9) == gaps_of(slow, 9));
  CHECK(gaps_of(slow, 9) != gaps_of(slow, 9, {}, ClientId{1}));
  CHECK(gaps_of(slow, 9) != gaps_of(slow, 9, {2, 0, 0}));
  CHECK(gaps_of(slow, 9) != gaps_of(slow, 9, {1, 1, 0}));
  const auto at_once = gaps_of(slow, 9), faster = gaps_of(of("600/min"), 9), twice = gaps_of(of("20/s"), 9);
  CHECK(at_once == faster);
  for (std::size_t i = 0; i < twice.size(); ++i) CHECK(at_once[i] == Approx(2 * twice[i]).margin(4e-9));
}

TEST_CASE("requests wait while their client is busy", "[arrivals]") {
  Client a = client("A", 7, 20);  // each job needs 10 + 20 + 5
  a.repeat.arrivals.emplace();
  a.repeat.arrivals->times =
      std::make_shared<const std::vector<Duration>>(std::vector<Duration>{{0}, {30}, {30}, {500}});
  a.repeat.jobs = 4;
  const Played played = play({{a}}, "fcfs");
  REQUIRE(played.jobs.size() == 4);
  for (const auto& [job, arrival, finish] :
       {std::tuple(0, 7, 42), std::tuple(1, 37, 77), std::tuple(2, 37, 112), std::tuple(3, 507, 542)}) {
    CHECK(played.jobs[static_cast<std::size_t>(job)].arrival == Time{arrival});
    CHECK(played.jobs[static_cast<std::size_t>(job)].finish == Time{finish});
  }
}

TEST_CASE("a client that leaves has no more requests", "[arrivals]") {
  Client a = client("A", 0, 20);
  a.repeat = repeat_from("{jobs: endless, arrivals: {process: fixed, rate: 10/ms}}");
  a.leave = Duration{350'000};
  CHECK(play({{a}}, "fcfs").jobs.size() == 3);  // at 100, 200 and 300 us
}

TEST_CASE("dates and times of traces", "[arrivals]") {
  const auto ns = [](const char* text) {
    const auto parsed = parse_timestamp(text);
    return parsed ? std::optional(parsed->ns) : std::nullopt;
  };
  CHECK(ns("1970-01-01 00:00:00") == 0);
  CHECK(ns("1970-01-02T00:00:01.5Z") == 86'401'500'000'000);
  CHECK(ns("2023-11-16 18:15:46.6805900") == 1'700'158'546'680'590'000);
  CHECK(ns("2024-05-10 00:00:00.009930+00:00") == 1'715'299'200'009'930'000);
  CHECK(ns("2024-05-10 02:00:00+02:00") == ns("2024-05-09T17:00:00-0700"));
  CHECK(ns("2024-02-29 00:00:00.0000000004") == ns("2024-02-29 00:00:00 UTC"));
  for (const char* wrong :
       {"", "2024-05-10", "2023-02-29 00:00:00", "2024-13-01 00:00:00", "2024-05-10 24:00:00",
        "2024-05-10 00:00:00.", "2024-05-10 00:00:00 CEST", "24-05-10 00:00:00", "2024-05-10 00:00:00+1",
        "2024-05-10 00:00:00x", "1000-01-01 00:00:00"})
    CHECK_FALSE(ns(wrong));
  for (const char* zoned : {"2024-05-10 00:00:00Z", "2024-05-10 00:00:00 UTC", "2024-05-10 00:00:00.5+02:00"})
    CHECK(parse_timestamp(zoned)->zoned);
  CHECK_FALSE(parse_timestamp("2024-05-10 00:00:00.5")->zoned);
}
