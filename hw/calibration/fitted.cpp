#include "hw/calibration/fitted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "hw/calibration/bench.hpp"
#include "hw/calibration/launches.hpp"
#include "hw/calibration/measurements.hpp"
#include "hw/calibration/rounded.hpp"
#include "models/fit/location.hpp"

namespace gangway {
namespace {

std::vector<double> values(const Calibration& c, const std::string& quantity, const std::string& mechanism,
                           const std::string& kernel) {
  std::vector<double> out;
  for (const Reading& r : c.readings)
    if (r.quantity == quantity && (mechanism.empty() || r.mechanism == mechanism) &&
        (kernel.empty() || r.kernel == kernel))
      out.push_back(r.value);
  return out;
}

}  // namespace

// Weighted so that small copies, which fix the latency, count as much as large ones, which fix the bandwidth.
CopyEngine fit_copies(Calibration& c, const char* quantity) {
  std::vector<double> rows;
  std::vector<double> y;
  std::map<std::int64_t, std::vector<double>> by_size;
  for (const Reading& r : c.readings)
    if (r.quantity == quantity) by_size[r.parameter].push_back(r.value);
  for (const Reading& r : c.readings)
    if (r.quantity == quantity) {
      const double bytes = static_cast<double>(r.parameter), weight = 1 / median(by_size[r.parameter]);
      rows.insert(rows.end(), {weight, bytes * weight});
      y.push_back(r.value * weight);
    }
  const auto n = static_cast<Eigen::Index>(y.size());
  const Eigen::MatrixXd design =
      Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, 2, Eigen::RowMajor>>(rows.data(), n, 2);
  const LinearFit fit = fit_linear(design, Eigen::Map<const Eigen::VectorXd>(y.data(), n));
  c.lines.push_back({quantity, "ns = latency + bytes * ns per byte; residuals relative", fit});
  const double per_byte = std::max(fit.parameters[1].value, 1e-9);
  return {Bandwidth{std::max<std::int64_t>(1, std::llround(1e9 / per_byte))},
          rounded(fit.parameters[0].value)};
}

double speed_both_ways(const Calibration& c, const char* quantity, const CopyEngine& alone) {
  std::vector<double> speeds;
  for (const Reading& r : c.readings)
    if (r.quantity == quantity)
      speeds.push_back(static_cast<double>(transfer_time(Bytes{r.parameter}, alone.bandwidth).ns) /
                       std::max(r.value - static_cast<double>(alone.latency.ns), 1.0));
  // So that the file stays readable; below any interval.
  return std::clamp(std::round(median(speeds) * 1e3) / 1e3, 0.01, 1.0);
}

BesideCopies commands_beside_copies(const Calibration& c, const std::string& mechanism) {
  std::string kernel;  // the one that was measured so
  std::int64_t bytes = 0;
  std::map<std::string, std::vector<double>> beside;  // by command, and `reads` beside copies to the host
  for (const Reading& r : c.readings) {
    if (r.quantity == "copy d2h") bytes = std::max(bytes, r.parameter);
    const std::size_t at = r.quantity.find(" beside copy ");
    if (at == std::string::npos || r.mechanism != mechanism) continue;
    const std::string command = r.quantity.substr(0, at);
    if (command == "transformed") continue;
    beside[command].push_back(r.value);
    if (r.quantity == "pending work beside copy d2h") beside["reads"].push_back(r.value);
    kernel = r.kernel;
  }
  if (kernel.empty()) return {};
  std::vector<double> evictions;
  for (const Reading& r : c.readings)
    if (r.quantity == "eviction" && r.kernel == kernel && r.mechanism == mechanism)
      evictions.push_back(r.value);
  BesideCopies found;
  found.launch = rounded(median(beside["launch"]) - median_of(c, "launch", mechanism, kernel));
  found.evict = rounded(median(beside["eviction"]) - median(evictions));
  // The copies were the largest: a read that does not wait is over long before them.
  found.reads_wait = median(beside["reads"]) >
                     static_cast<double>(transfer_time(Bytes{bytes}, c.device.d2h.bandwidth).ns) / 2;
  return found;
}

std::vector<AfterIdle> launches_after_idle(const Calibration& c, const std::string& mechanism) {
  std::map<std::int64_t, std::vector<double>> by_idle;
  for (const Reading& r : c.readings)
    if (r.quantity == kLaunchAfterIdle && r.mechanism == mechanism) by_idle[r.parameter].push_back(r.value);
  const double usual = by_idle.empty() ? 0 : median_of(c, "launch", mechanism, "");
  std::vector<AfterIdle> all;
  for (const auto& [idle, launches] : by_idle) all.push_back({{idle}, rounded(median(launches) - usual)});
  return all;
}

Duration refill(const Calibration& c, const std::string& mechanism, const std::string& kernel,
                std::int64_t waves, Duration length) {
  const std::vector<double> originals = values(c, kBlocksInARow, mechanism, kernel);
  if (originals.empty() || waves < 2) return {};
  const double busy = static_cast<double>(waves) * static_cast<double>(length.ns);
  const Duration each = rounded((median(originals) - busy) / static_cast<double>(waves - 1));
  return each > length ? Duration{} : each;
}

double median_of(const Calibration& c, const std::string& quantity, const std::string& mechanism,
                 const std::string& kernel) {
  return median(values(c, quantity, mechanism, kernel));
}

void fit_evictions(Calibration& c, const std::string& mechanism) {
  std::vector<double> x, y;
  std::map<std::int64_t, std::vector<double>> longest;
  for (const Reading& r : c.readings)
    if (r.quantity == "longest block-task" && r.mechanism == mechanism)
      longest[r.parameter].push_back(r.value);
  for (const Reading& r : c.readings)
    if (r.quantity == "eviction" && r.mechanism == mechanism && r.parameter > 0 &&
        longest.count(r.parameter) > 0) {
      x.push_back(median(longest[r.parameter]));
      y.push_back(r.value);
    }
  if (x.empty()) return;
  c.lines.push_back(
      {"eviction by " + mechanism, "ns = intercept + slope * longest block-task in ns", fit_line(x, y)});
}

std::vector<double> beside_shortest(const Calibration& c, const std::string& mechanism) {
  std::int64_t shortest = kShortTask.ns;
  std::vector<double> out;
  for (const Reading& r : c.readings) {
    if (r.quantity != kEvictionBeside || r.mechanism != mechanism || r.parameter > shortest) continue;
    if (r.parameter < shortest) out.clear();
    shortest = r.parameter;
    out.push_back(r.value);
  }
  if (out.size() < kFewestReadings)
    throw RunError("too few evictions were seen: the scheduler's core is too busy with other things");
  return out;
}

void describe_kernels(Calibration& c, const std::string& mechanism, Duration seen) {
  std::vector<double> useful;
  for (Client& client : c.clients)
    for (Kernel& kernel : client.kernels) {
      const std::string name = label(client, kernel);
      const double original = median_of(c, "original", mechanism, name);
      const double transformed = median_of(c, "transformed", mechanism, name);
      kernel.time = rounded(original);
      // Rounded so that the file stays readable; 10^-5 is below any interval.
      kernel.transformation_overhead = std::round(transformed / original * 1e5) / 1e5;
      if (!(kernel.transformation_overhead >= 0.01 && kernel.transformation_overhead <= 100))
        throw RunError(
            fmt::format("{} took {} as it was and {} made preemptible: the scheduler's core is too busy "
                        "with other things",
                        name, to_text(rounded(original)), to_text(rounded(transformed))));
      // What the file said was a guess.
      kernel.eviction_delay.reset();
      kernel.useful.reset();
      kernel.block_task_length.reset();
      const SeenLaunches seen_of_it = seen_launches(c, mechanism, name, kernel);
      MeasuredLaunches launches = described(seen_of_it);
      launches.mechanism = mechanism;
      kernel.measured = std::make_shared<const MeasuredLaunches>(std::move(launches));
      if (seen_of_it.slower > 0) c.slower_for_a_while[name] = seen_of_it.slower;
      if (seen_of_it.evictions.empty()) continue;  // all block-tasks are claimed at once
      std::vector<double> delays, works;
      for (const SeenEviction& e : seen_of_it.evictions) {
        delays.push_back(e.gone - e.ordered);
        works.push_back(e.tasks / seen_of_it.tasks * seen_of_it.time - e.ordered);
      }
      kernel.eviction_delay = rounded(median(delays));
      const double drain = static_cast<double>((*kernel.eviction_delay - seen).ns);
      if (drain <= 0) continue;
      const double work = median(works) - static_cast<double>(seen.ns);
      useful.push_back(std::clamp(work / drain, 0.0, 1.0));
      kernel.useful = std::round(useful.back() * 1000) / 1000;
    }
  if (!useful.empty()) c.useful = std::round(median(useful) * 1000) / 1000;
}

std::vector<Summary> summaries_of(const std::vector<Reading>& readings) {
  std::map<std::tuple<std::string, std::string, std::string, std::int64_t>, std::vector<double>> groups;
  for (const Reading& r : readings)
    if (r.quantity != kRestOfKernel)
      groups[{r.quantity, r.mechanism, r.kernel, r.parameter}].push_back(r.value);
  std::vector<Summary> summaries;
  for (const auto& [key, values] : groups) {
    const auto& [quantity, mechanism, kernel, parameter] = key;
    summaries.push_back({{quantity, mechanism, kernel, parameter, 0},
                         values.size(),
                         median_interval(values),
                         nearest_rank(values, 0.99)});
  }
  return summaries;
}

}  // namespace gangway
