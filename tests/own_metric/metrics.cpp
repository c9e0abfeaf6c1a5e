// A metric of each level that the tests add, each by one entry: what comes of it is
// tests/cli/test_metrics.py's.
#include <algorithm>

#include "experiments/metrics/over_replications.hpp"
#include "experiments/metrics/samples.hpp"

namespace gangway {
namespace {

const MetricRegistration<PointMetric> kSpread{
    {{.name = "ntt_spread",
      .label = "spread of NTT",
      .better = Better::lower,
      .meaning = "The largest NTT of a client less the smallest, a mean over replications.",
      .heading = "spread",
      .compared = true,
      .tested = true,
      .ranked = true},
     [](const PointSample& sample) {
       return Cell(mean_of(over_replications(sample.replications, [](const ReplicationMetrics& m) {
         const auto [least, most] = std::minmax_element(
             m.clients.begin(), m.clients.end(), [](const auto& a, const auto& b) { return a.ntt < b.ntt; });
         return most->ntt - least->ntt;
       })));
     }}};

const MetricRegistration<ClientMetric> kEvictionsOfAll{
    {{.name = "evictions_of_all",
      .label = "evictions of all jobs",
      .unit = MetricUnit::count,
      .meaning = "Evictions of its jobs, summed over replications."},
     [](const ClientSample& sample) {
       return Cell(sum_of(over_replications(sample.replications, [&](const ReplicationMetrics& m) {
         return m.clients[sample.client].evictions * static_cast<double>(m.clients[sample.client].jobs);
       })));
     }}};

const MetricRegistration<JobMetric> kAge{
    {{.name = "age_ns",
      .label = "age",
      .unit = MetricUnit::ns,
      .better = Better::lower,
      .meaning = "From its release until it was over."},
     JobMetric::Kind::whole,
     [](std::string& row, const JobResult& job) { row += std::to_string(job.age().ns); }}};

}  // namespace
}  // namespace gangway
