// All metrics of a level, whatever they are computed from.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/metrics/metric.hpp"

namespace gangway {

// In the order of their columns.
std::vector<const Metric*> metrics_of(Level level);

// Null where there is none of that name.
const Metric* find_metric(Level level, std::string_view name);
// One that is there.
const Metric& metric_of(Level level, std::string_view name);

// The names of those that a condition holds for.
std::vector<std::string> metric_names(Level level, bool (*which)(const Metric&));

// Of a point or of a client, as published values may name them: numbers. Those of services are a client's,
// too.
std::vector<std::string> point_metrics();
std::vector<std::string> client_metrics();

// Whether a column of summary.csv, clients.csv or services.csv is a time in ns.
bool is_time_metric(std::string_view column);

// `gangway list metrics`: name, level, file, label, heading, unit, better, summary, whether it has an
// interval, and of what it is part.
nlohmann::ordered_json metrics_json();

}  // namespace gangway
