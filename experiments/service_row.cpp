#include "experiments/service_row.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "models/metrics/statistics.hpp"

namespace gangway {
namespace {

struct Percentile {
  double share;
  const char* name;
};
constexpr std::array<Percentile, 5> kPercentiles{
    {{0.5, "p50"}, {0.9, "p90"}, {0.95, "p95"}, {0.99, "p99"}, {0.999, "p999"}}};

void add_latencies(Row& row, const ResponsePercentiles& latencies) {
  std::string bounds;
  for (const auto& [share, name] : kPercentiles) {
    const std::string column = std::string("latency_ns_") + name;
    row.emplace_back(column, latencies.percentile(share));
    row.emplace_back(column + "_ci95", latencies.ci95(share));
    if (!latencies.exact(share)) bounds += (bounds.empty() ? "" : "|") + std::string(name);
  }
  row.emplace_back("lower_bounds", bounds);
}

// All replications have a value, or there is none: that of the rest alone might flatter.
void add_mean(Row& row, const std::string& column, const std::vector<ServiceMetrics>& replications,
              double ServiceMetrics::*member) {
  std::vector<double> values;
  for (const ServiceMetrics& m : replications) values.push_back(m.*member);
  const bool known = std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
  row.emplace_back(column, known ? Cell(mean(values)) : Cell());
  row.emplace_back(column + "_ci95", known ? Cell(half_width_95(values)) : Cell());
}

void add_attainment(Row& row, const std::vector<ServiceMetrics>& replications) {
  ServiceMetrics all = replications.front();
  all.met = all.missed = all.undecided = 0;
  std::vector<double> shares;
  for (const ServiceMetrics& m : replications) {
    all.met += m.met;
    all.missed += m.missed;
    all.undecided += m.undecided;
    if (const auto share = m.attainment()) shares.push_back(*share);
  }
  const auto count = [&](std::int64_t jobs) { return all.slo ? Cell(static_cast<double>(jobs)) : Cell(); };
  row.emplace_back("slo_ns", all.slo ? Cell(static_cast<double>(all.slo->ns)) : Cell());
  row.emplace_back("attainment", Cell(all.attainment()));
  row.emplace_back("attainment_ci95",
                   shares.size() == replications.size() ? Cell(half_width_95(shares)) : Cell());
  row.emplace_back("slo_met", count(all.met));
  row.emplace_back("slo_missed", count(all.missed));
  row.emplace_back("slo_undecided", count(all.undecided));
}

}  // namespace

std::vector<double> service_percentiles() {
  std::vector<double> shares;
  for (const Percentile& percentile : kPercentiles) shares.push_back(percentile.share);
  return shares;
}

Row service_row(const std::vector<ServiceMetrics>& replications, const ResponsePercentiles& latencies,
                double jobs, double unfinished, double starved_runs) {
  const ResponsePercentiles none(service_percentiles());
  std::int64_t queue_max = 0;
  for (const ServiceMetrics& m : replications) queue_max = std::max(queue_max, m.queue_max);
  Row row{{"jobs", jobs}, {"unfinished", unfinished}, {"starved_runs", starved_runs}};
  add_latencies(row, starved_runs > 0 ? none : latencies);
  add_attainment(row, replications);
  add_mean(row, "arrivals_per_s", replications, &ServiceMetrics::arrivals_per_s);
  add_mean(row, "throughput_per_s", replications, &ServiceMetrics::throughput_per_s);
  add_mean(row, "gpu_time_ns", replications, &ServiceMetrics::gpu_time_ns);
  add_mean(row, "gpu_share", replications, &ServiceMetrics::gpu_share);
  row.emplace_back("weight", replications.front().weight);
  add_mean(row, "share_against_weight", replications, &ServiceMetrics::share_against_weight);
  add_mean(row, "queue_mean", replications, &ServiceMetrics::queue_mean);
  row.emplace_back("queue_max", static_cast<double>(queue_max));
  return row;
}

}  // namespace gangway
