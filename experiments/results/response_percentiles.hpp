// Percentiles of response times over replications, as in result files.
#pragma once

#include <vector>

#include "experiments/results/row.hpp"
#include "models/metrics/response_times.hpp"

namespace gangway {

class ResponsePercentiles {
 public:
  // `shares`: those with intervals.
  explicit ResponsePercentiles(std::vector<double> shares = {0.99})
      : shares_(std::move(shares)), replications_(shares_.size()) {}

  void add(const ResponseTimes& replication);
  // Over the jobs of all replications.
  Cell percentile(double share) const;
  Cell most(double share) const;   // with jobs that never finish; empty: unbounded
  bool exact(double share) const;  // false: a lower bound
  // Of the median and p99: "lower-bound"; else "rounded" (Percentiles); else "exact".
  Cell kind() const;
  // From each replication's percentile; none if one of them is a lower bound. `share` must be one of
  // `shares`.
  Cell ci95(double share) const;

 private:
  struct OfShare {
    std::vector<double> ns;  // by replication
    bool exact = true;       // in every replication
  };
  ResponseTimes pooled_;
  std::vector<double> shares_;
  std::vector<OfShare> replications_;  // by share
};

}  // namespace gangway
