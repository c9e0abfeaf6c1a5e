#include "hw/calibration/slice_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "hw/calibration/rounded.hpp"
#include "models/error.hpp"
#include "models/fit/location.hpp"

namespace gangway {
namespace {

using namespace literals;
using Pace = ProbeWork::Pace;

constexpr std::size_t kEnough = 10;  // readings of anything
constexpr Duration kChoice{100'000};
constexpr const char* kContextSlice = "context slice";
constexpr const char* kContextTurn = "context turn";
constexpr const char* kContextGap = "context gap";
constexpr const char* kStopFull = "full context stop to resume";
constexpr const char* kResumeFull = "context stop to full resume";
constexpr const char* kHandOvers[2][2] = {{"context stop to resume", "context stop to begin"},
                                          {"context end to resume", "context end to begin"}};

// A stay of either context, and how it stands to the others.
struct Placed {
  ProbeStay stay;
  std::size_t context;
};

std::vector<Placed> in_order(const std::array<std::vector<ProbeStay>, 2>& stays) {
  std::vector<Placed> all;
  for (const std::size_t c : {0u, 1u})
    for (const ProbeStay& stay : stays[c]) all.push_back({stay, c});
  std::sort(all.begin(), all.end(),
            [](const Placed& a, const Placed& b) { return a.stay.begin < b.stay.begin; });
  return all;
}

class Readings {
 public:
  Readings(TwoContexts& contexts, Calibration& out, const std::atomic<bool>& stop)
      : contexts_(contexts), out_(out), stop_(stop) {}

  std::vector<Placed> run(const ProbeWork& first, const ProbeWork& second) {
    if (stop_) throw RunError("interrupted");
    const auto stays = contexts_.run({first, second});
    if (time_together(stays) > 0.01)
      throw RunError(
          "kernels of two processes were on the GPU at once: MPS is on, and there are no time slices to "
          "measure");
    return in_order(stays);
  }
  void read(const char* quantity, Duration value) {
    out_.readings.push_back({quantity, "", "", 0, static_cast<double>(value.ns)});
  }
  // Hand-overs of this kind alone, as others may have waited for the host.
  void hand_overs(const std::vector<Placed>& all, bool ended, bool begins) {
    for (std::size_t i = 1; i < all.size(); ++i) {
      const Placed &from = all[i - 1], &to = all[i];
      if (from.context == to.context || from.stay.last != ended || to.stay.first != begins) continue;
      read(kHandOvers[ended][begins], to.stay.begin - from.stay.end);
    }
  }

 private:
  TwoContexts& contexts_;
  Calibration& out_;
  const std::atomic<bool>& stop_;
};

// Both want the device all the time.
void both_busy(Readings& readings) {
  const ProbeWork busy{1, 120_ms};
  const auto all = readings.run(busy, busy);
  readings.hand_overs(all, false, false);
  for (const Placed& p : all)
    if (!p.stay.first && !p.stay.last) readings.read(kContextSlice, p.stay.end - p.stay.begin);
}

// Likewise, one with as many threads as the device holds.
void one_full(Readings& readings) {
  const auto all = readings.run({1, 120_ms, Pace::queued, {}, true}, {1, 120_ms});
  for (std::size_t i = 1; i < all.size(); ++i) {
    const Placed &from = all[i - 1], &to = all[i];
    if (from.context == to.context || from.stay.last || to.stay.first) continue;
    readings.read(from.context == 0 ? kStopFull : kResumeFull, to.stay.begin - from.stay.end);
  }
}

// One is busy with a single kernel, so that its slice has always expired; the other one comes now and then.
void one_comes(Readings& readings) {
  const auto all = readings.run({1, 250_ms}, {60, 100_us, Pace::requests, 3_ms});
  readings.hand_overs(all, false, true);
  readings.hand_overs(all, true, false);
}

// Whoever ends, the other one has long been waiting with a new kernel.
void in_turns(Readings& readings) {
  const ProbeWork requests{120, 300_us, Pace::requests, 50_us};
  readings.hand_overs(readings.run(requests, requests), true, true);
}

// One has kernels queued; it keeps the device until the end of a slice.
void turns_of_many(Readings& readings) {
  const auto all = readings.run({2'000, 400_us}, {70, 50_us, Pace::requests, 5'300_us});
  std::size_t began = 0;
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (all[i].context != all[began].context) {
      const Placed &first = all[began], &last = all[i - 1];
      if (first.context == 0 && began > 0 && !last.stay.last)
        readings.read(kContextTurn, last.stay.end - first.stay.begin);
      began = i;
    }
  }
}

// One is always waiting, the other one's kernels come faster or slower, so that it is now and then idle for
// some microseconds.
void gaps(Readings& readings) {
  for (Duration period = 4_us; period <= 16_us; period = period + 1_us) {
    const auto all = readings.run({1, 30_ms}, {4'000, 3_us, Pace::steady, period});
    std::size_t from = 0, to = all.size();  // while the other one wants the device
    while (from < all.size() && all[from].context != 0) ++from;
    while (to > from && all[to - 1].context != 0) --to;
    for (std::size_t i = from + 1; i < to; ++i)
      if (all[i].context == 1 && all[i - 1].context == 1 && all[i - 1].stay.last && all[i].stay.first)
        readings.read(kContextGap, all[i].stay.begin - all[i - 1].stay.end);
  }
}

std::vector<double> enough(const Calibration& c, const char* quantity) {
  std::vector<double> out;
  for (const Reading& r : c.readings)
    if (r.quantity == quantity) out.push_back(r.value);
  if (out.size() < kEnough)
    throw RunError(fmt::format(
        "too few readings of {}: found {}, expected {} or more: something else uses the GPU, or the "
        "driver shares it in another way than is known here",
        quantity, out.size(), kEnough));
  return out;
}

}  // namespace

double time_together(const std::array<std::vector<ProbeStay>, 2>& stays) {
  if (stays[0].empty() || stays[1].empty()) return 0;
  const auto ends = [](const std::vector<ProbeStay>& of) {
    Time end = of.front().end;
    for (const ProbeStay& stay : of) end = std::max(end, stay.end);
    return end;
  };
  const Time from = std::max(stays[0].front().begin, stays[1].front().begin),
             to = std::min(ends(stays[0]), ends(stays[1]));
  if (to <= from) return 0;
  Duration both{};
  for (std::size_t a = 0, b = 0; a < stays[0].size() && b < stays[1].size();) {
    const ProbeStay &x = stays[0][a], &y = stays[1][b];
    const Time begin = std::max(x.begin, y.begin), end = std::min(x.end, y.end);
    if (begin < end) both = both + (end - begin);
    x.end < y.end ? ++a : ++b;
  }
  return static_cast<double>(both.ns) / static_cast<double>((to - from).ns);
}

void measure_time_slices(TwoContexts& contexts, Calibration& out, const std::atomic<bool>& stop) {
  Readings readings(contexts, out, stop);
  both_busy(readings);
  one_full(readings);
  one_comes(readings);
  in_turns(readings);
  turns_of_many(readings);
  gaps(readings);
}

void fit_time_slices(Calibration& out) {
  const auto middle = [&](const char* quantity) { return median(enough(out, quantity)); };
  const double context_switch = middle(kHandOvers[true][true]);
  const double stop = std::max(0.0, middle(kHandOvers[false][true]) - context_switch);
  const double resume = std::max(0.0, middle(kHandOvers[true][false]) - context_switch);
  // A slice counts from before what a kernel takes to go on.
  const double length = middle(kContextSlice) + resume;
  std::vector<double> renewals;
  for (const double turn : enough(out, kContextTurn)) {
    const double more = turn + resume - length;
    if (const double slices = std::round(more / length); slices >= 1) renewals.push_back(more / slices);
  }
  // The longest that others did not use; a few may be the clock's doing.
  std::vector<double> kept = enough(out, kContextGap);
  std::sort(kept.begin(), kept.end(), std::greater<>());
  const double linger = std::min(kept[kEnough / 2], context_switch);
  TimeSlice& slice = out.device.time_slice.emplace();
  slice.length = rounded(length);
  slice.context_switch = rounded(context_switch);
  slice.order = TimeSlice::Order::creation;  // as found on H200s with nine processes, like the choice
  slice.choice = kChoice;
  slice.stops_blocks = true;
  slice.stop = rounded(stop);
  slice.resume = rounded(resume);
  slice.stop_full = std::max(slice.stop, rounded(middle(kStopFull) - context_switch - resume));
  slice.resume_full = std::max(slice.resume, rounded(middle(kResumeFull) - context_switch - stop));
  slice.renewal = renewals.empty() ? slice.length : rounded(median(renewals));
  slice.linger = rounded(linger);
}

}  // namespace gangway
