#include "hw/calibration/polls.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "hw/calibration/fitted.hpp"
#include "hw/calibration/rounded.hpp"
#include "hw/clock.hpp"
#include "models/error.hpp"
#include "models/fit/location.hpp"

namespace gangway {
namespace {

constexpr const char* kHostPoll = "host poll";
constexpr const char* kClaims = "claims beside work";
constexpr const char* kLooks = "looks beside claims";

constexpr std::int64_t kReads = 20;  // by each block: the first and the last hardly count
constexpr std::int64_t kPieces[] = {25, 50, 100, 200};

double ns(Duration d) { return static_cast<double>(d.ns); }

void check(const std::atomic<bool>& stop) {
  if (stop) throw RunError("interrupted");
}

// First some that are fewer than the SMs, to see from how many on reads queue. The others are in the fit.
std::vector<std::int64_t> numbers_of_blocks(std::int64_t sms) {
  std::vector<std::int64_t> numbers;
  for (std::int64_t few = 1; few < std::min<std::int64_t>(sms, 100); few *= 4) numbers.push_back(few);
  for (std::int64_t per_sm = 1; per_sm <= 8; per_sm *= 2) numbers.push_back(sms * per_sm);
  return numbers;
}

LinearFit fit(const Calibration& c, std::string_view quantity, std::int64_t least) {
  std::vector<double> x, y;
  for (const Reading& r : c.readings)
    if (r.quantity == quantity && r.parameter >= least) {
      x.push_back(static_cast<double>(r.parameter));
      y.push_back(r.value);
    }
  return fit_line(x, y);
}

}  // namespace

void measure_polls(PollProbe& probe, const CalibrationPlan& plan, Calibration& out,
                   const std::atomic<bool>& stop) {
  const auto read = [&out](const char* quantity, std::int64_t parameter, double value) {
    out.readings.push_back({quantity, "", "", parameter, value});
  };
  const auto read_host = [&](std::int64_t blocks) {
    check(stop);
    return ns(probe.read_host(blocks, kReads)) / static_cast<double>(kReads);
  };
  const auto began = HostClock::now();
  do {  // clocks rise, and code is loaded
    check(stop);
    static_cast<void>(probe.work(kPieces[0], PollProbe::Between::claim));
    static_cast<void>(read_host(1));
  } while (HostClock::now() - began < Duration{plan.warm_up.ns / 5});
  for (int i = 0; i < plan.polls; ++i) {  // in turns, so that slow changes of the clock meet all alike
    for (const std::int64_t blocks : numbers_of_blocks(out.device.sms))
      read(kHostPoll, blocks, read_host(blocks));
    for (const std::int64_t pieces : kPieces) {
      check(stop);
      using Between = PollProbe::Between;
      constexpr std::array kAll{Between::nothing, Between::claim, Between::look};
      std::map<Between, double> took;
      for (std::size_t k = 0; k < kAll.size(); ++k) {
        const Between between = kAll[(static_cast<std::size_t>(i) + k) % kAll.size()];
        took[between] = ns(probe.work(pieces, between));
      }
      read("work without claims", pieces, took[Between::nothing]);
      read("claimed work", pieces, took[Between::claim]);
      read("work with looks", pieces, took[Between::look]);
      read(kClaims, pieces, took[Between::claim] - took[Between::nothing]);
      read(kLooks, pieces, took[Between::look] - took[Between::claim]);
    }
  }
}

void fit_polls(Calibration& out) {
  const LinearFit host = fit(out, kHostPoll, out.device.sms), claim = fit(out, kClaims, 0),
                  device = fit(out, kLooks, 0);
  out.lines.push_back({"host poll", "ns for a read by each block = intercept + slope * blocks", host});
  out.lines.push_back({"claim", "ns of claims = intercept + slope * pieces of work of a block", claim});
  out.lines.push_back({"device poll", "ns of looks = intercept + slope * pieces of work of a block", device});
  out.device.polls = PollCosts{rounded(host.parameters[1].value), rounded(device.parameters[1].value)};
  if (std::any_of(out.readings.begin(), out.readings.end(),
                  [](const Reading& r) { return r.quantity == kEvictionBeside && r.mechanism == "proxy"; }))
    out.device.polls->proxy = rounded(median(beside_shortest(out, "proxy")));
}

}  // namespace gangway
