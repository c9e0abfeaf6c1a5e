// What services are judged by: a row of services.csv (experiments/README.md, "Services").
#pragma once

#include <vector>

#include "experiments/response_percentiles.hpp"
#include "experiments/row.hpp"
#include "models/metrics/service_meter.hpp"

namespace gangway {

// Percentiles of latencies that services.csv has.
std::vector<double> service_percentiles();

// Of one client: `replications` of it, not empty; `jobs` finished in all of them, and those that did not.
// `starved_runs`: in which it finished none; where there are any, it has no percentiles.
Row service_row(const std::vector<ServiceMetrics>& replications, const ResponsePercentiles& latencies,
                double jobs, double unfinished, double starved_runs);

}  // namespace gangway
