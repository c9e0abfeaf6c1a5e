// All metrics of a level.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/metrics/metric.hpp"

namespace gangway {

// In column order.
std::vector<const Metric*> metrics_of(Level level);

// Null for an unknown name.
const Metric* find_metric(Level level, std::string_view name);
// The name must exist.
const Metric& metric_of(Level level, std::string_view name);

// Names of the metrics that satisfy a condition.
std::vector<std::string> metric_names(Level level, bool (*which)(const Metric&));

// Numeric metrics of a point or a client, as published values may name them. Those of services count as a
// client's.
std::vector<std::string> point_metrics();
std::vector<std::string> client_metrics();

// Whether a column of summary.csv, clients.csv or services.csv is a time in ns.
bool is_time_metric(std::string_view column);

// `gangway list metrics`: name, level, file, label, heading, unit, better, summary, whether it has an
// interval, and what it is part of.
nlohmann::ordered_json metrics_json();

}  // namespace gangway
