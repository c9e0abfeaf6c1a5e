// Percentiles of response times over replications, as result files have them.
#pragma once

#include <vector>

#include "experiments/results/row.hpp"
#include "models/metrics/response_times.hpp"

namespace gangway {

class ResponsePercentiles {
 public:
  // `shares`: of which there are intervals.
  explicit ResponsePercentiles(std::vector<double> shares = {0.99})
      : shares_(std::move(shares)), replications_(shares_.size()) {}

  void add(const ResponseTimes& replication);
  // Of the jobs of all replications.
  Cell percentile(double share) const;
  bool exact(double share) const;  // else it is a lower bound
  Cell kind() const;               // whether the median and p99 are "exact", or one a "lower-bound"
  // From the percentile of each replication by itself; none where one of them is a lower bound. One of
  // `shares`.
  Cell ci95(double share) const;

 private:
  struct OfShare {
    std::vector<double> ns;  // by replication
    bool exact = true;       // in every one
  };
  ResponseTimes pooled_;
  std::vector<double> shares_;
  std::vector<OfShare> replications_;  // by share
};

}  // namespace gangway
