// Combines values of replications.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "models/metrics/statistics.hpp"

namespace gangway {

inline std::optional<double> mean_of(const std::vector<double>& values) {
  return values.empty() ? std::nullopt : std::optional<double>(mean(values));
}

inline double sum_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// get() of each replication that has what it is about. None if one of them has no value, because the rest
// alone would be biased.
template <typename Replication, typename Get, typename Has>
std::vector<double> over_replications(const std::vector<Replication>& replications, Get get, Has has) {
  std::vector<double> values;
  for (const Replication& replication : replications)
    if (has(replication)) values.push_back(static_cast<double>(get(replication)));
  if (!std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); })) return {};
  return values;
}

template <typename Replication, typename Get>
std::vector<double> over_replications(const std::vector<Replication>& replications, Get get) {
  return over_replications(replications, get, [](const Replication&) { return true; });
}

}  // namespace gangway
