// Compares two result folders of one experiment, a prediction and a measurement.
//
// A relative error is (predicted - measured) / measured: 0.1 means predicted 10% too large. It is 0 if both
// are 0, infinite if only the measurement is 0, and none if either has no value. Percentiles are nearest
// ranks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/metrics/metric.hpp"

namespace gangway {

// Relative error of a prediction, as defined above.
double relative_error(double predicted, double measured);

// One metric in both folders.
struct Compared {
  std::string metric;
  std::optional<double> predicted, measured;
  Certainty predicted_is = Certainty::exact, measured_is = Certainty::exact;  // as jobs are unfinished
  bool bound() const { return predicted_is != Certainty::exact || measured_is != Certainty::exact; }
  std::optional<double> relative_error() const;  // none of a bound
};

// Relative errors of the NTT of jobs finished in both folders.
// `limit_p50` and `limit_p90` count a job that finished in one only as infinitely far off.
struct JobErrors {
  std::size_t jobs = 0;                        // 0: the values below are invalid
  double p50 = 0, p90 = 0, mean = 0, max = 0;  // of the absolute values
  double bias = 0, bias_p50 = 0;               // mean and median with sign
  double limit_p50 = 0, limit_p90 = 0;         // valid if jobs finished in either folder
};

// Jobs that did not finish in both folders.
struct Unfinished {
  // Jobs of both folders: unfinished in the prediction only, in the measurement only, in both.
  std::size_t predicted = 0, measured = 0, both = 0;
  std::size_t absent = 0;  // finished in one folder; the other has the run, but not them
};

// Clients that finished no job in some run; metrics over clients then have no value.
struct Starved {
  std::vector<std::string> predicted, measured;
  bool equal() const { return predicted == measured; }
};

// A run without which a metric's relative error would be much less, or more: chance decides.
struct DecisiveRun {
  std::string metric;
  std::uint32_t replication = 0, permutation = 0;
  double without = 0;  // relative error of the other runs
};

// A point under one policy.
struct GroupComparison {
  std::uint32_t point = 0;
  std::string policy;
  std::vector<Compared> metrics;  // the compared ones (metrics/metric.hpp), in order
  Starved starved;
  JobErrors ntt;
  Unfinished unfinished;
  std::vector<DecisiveRun> decisive;  // where both folders have jobs; at most one for each metric

  const Compared& metric(const std::string& name) const;  // must be one of them
};

struct ClientComparison {
  std::uint32_t point = 0;
  std::string policy, client;
  std::vector<Compared> metrics;  // likewise

  const Compared& metric(const std::string& name) const;  // must be one of them
};

// The policies of a point, ranked by one metric.
struct RankingComparison {
  std::uint32_t point = 0;
  std::string metric;                            // one that ranks policies
  std::vector<std::string> predicted, measured;  // policies, best first
  // Policies that starve a client or failed; they rank last and tie.
  std::vector<std::string> starved_predicted, starved_measured, failed_predicted, failed_measured;
  // Pairs more than 5% apart in both folders, in opposite order, whatever bounds leave open.
  std::vector<std::pair<std::string, std::string>> swapped;
  bool equal() const { return swapped.empty(); }
};

// Rows in one folder only.
struct Unmatched {
  std::string file;
  bool in_prediction = false;  // else in the measurement
  std::size_t count = 0;
  std::vector<std::string> first;  // the first ones: key columns separated by blanks
};

// A point and policy with a result in one folder only.
struct Lacking {
  std::uint32_t point = 0;
  std::string policy;
  bool in_prediction = false;  // that has none; else the measurement
  std::string why;             // "missing", or "failed: " and the error (older programs kept none)
};

struct ComparedFolder {
  std::string path, experiment, world;
  bool has_jobs = false;                    // jobs.csv
  std::string sigma = {}, standalone = {};  // how its metrics are defined
};

struct Comparison {
  ComparedFolder prediction, measurement;
  std::vector<GroupComparison> groups;      // by point, then policy
  std::vector<ClientComparison> clients;    // by point, policy, client
  std::vector<RankingComparison> rankings;  // by point; only points with at least two policies
  std::vector<Unmatched> unmatched;
  std::vector<Lacking> lacking;  // by point, then policy
  JobErrors ntt;                 // over all jobs
  Unfinished unfinished;
};

// Reads summary.csv, clients.csv and, where both have it, jobs.csv. Throws InputError if a folder is no
// finished result folder, another file is missing, truncated or malformed, the experiments have different
// names, a point has different swept values, or no point and policy is in both.
Comparison compare_folders(const std::filesystem::path& prediction, const std::filesystem::path& measurement);

// Rankings of each point with at least two common policies, by each ranking metric.
std::vector<RankingComparison> rankings_of(const std::vector<GroupComparison>& groups);

// As JSON; invalid and infinite numbers are null.
nlohmann::ordered_json to_json(const Comparison& comparison);

// A limit for an error. Metrics: ntt_p50, ntt_p90 (of all jobs), ranking metrics (the largest absolute
// relative error of a point and policy; infinite if different clients starve), ranking (the number of
// different rankings). All are infinite if a point and policy, or a client, has a result in one folder only.
struct Limit {
  std::string metric;
  double most = 0;
};

// "ntt_p50=0.05,antt=10 %". InputError, at `option`, if malformed.
std::vector<Limit> parse_limits(const std::string& option, std::string_view text);

// Whether some client of a point and policy is in one folder only, so that averages are over different ones.
bool clients_differ(const Comparison& comparison);

// The value to compare with the limit. None if the folders lack it (no common finished job, no jobs.csv, no
// ranking).
std::optional<double> value_of(const Comparison& comparison, const std::string& metric);

}  // namespace gangway
