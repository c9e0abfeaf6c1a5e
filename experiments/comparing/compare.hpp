// Two result folders of one experiment, a prediction and a measurement: how far apart they are.
//
// A relative error is (predicted - measured) / measured: 0.1 is predicted 10% too large. It is 0 when both
// are 0, infinite when only the measurement is, and none where one of them has no value. Percentiles are
// nearest ranks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gangway {

// Of a prediction, as above.
double relative_error(double predicted, double measured);

// One metric in both folders.
struct Compared {
  std::string metric;
  std::optional<double> predicted, measured;
  std::optional<double> relative_error() const;
};

// Relative errors of the NTT of single jobs that finished in both folders.
struct JobErrors {
  std::size_t jobs = 0;                        // 0: the numbers below are none
  double p50 = 0, p90 = 0, mean = 0, max = 0;  // of the absolute values
  double bias = 0, bias_p50 = 0;               // mean and median with sign
};

// Jobs that stand in both folders but did not finish in both.
struct Unfinished {
  std::size_t predicted = 0, measured = 0, both = 0;  // not finished in the prediction only, ...
};

// Clients that finished no job in some run: then metrics over clients have no value.
struct Starved {
  std::vector<std::string> predicted, measured;
  bool equal() const { return predicted == measured; }
};

// A point under a policy.
struct GroupComparison {
  std::uint32_t point = 0;
  std::string policy;
  std::vector<Compared> metrics;  // those that are compared (metrics/metric.hpp), in their order
  Starved starved;
  JobErrors ntt;
  Unfinished unfinished;

  const Compared& metric(const std::string& name) const;  // one of those
};

struct ClientComparison {
  std::uint32_t point = 0;
  std::string policy, client;
  std::vector<Compared> metrics;  // likewise

  const Compared& metric(const std::string& name) const;  // one of those
};

// The policies of a point by one metric.
struct RankingComparison {
  std::uint32_t point = 0;
  std::string metric;                            // one by which policies are ranked
  std::vector<std::string> predicted, measured;  // policies, the best first
  // Policies under which a client starves: they come after all others, and tie.
  std::vector<std::string> starved_predicted, starved_measured;
  // Pairs that are more than 5% apart in both folders, the other way round.
  std::vector<std::pair<std::string, std::string>> swapped;
  bool equal() const { return swapped.empty(); }
};

// Rows that stand in one folder only.
struct Unmatched {
  std::string file;
  bool in_prediction = false;  // else in the measurement
  std::size_t count = 0;
  std::vector<std::string> first;  // a few of them, as their key columns with blanks between
};

struct ComparedFolder {
  std::string path, experiment, world;
  bool has_jobs = false;
};

struct Comparison {
  ComparedFolder prediction, measurement;
  std::vector<GroupComparison> groups;      // by point, then policy
  std::vector<ClientComparison> clients;    // by point, policy, client
  std::vector<RankingComparison> rankings;  // by point; those with two policies at least
  std::vector<Unmatched> unmatched;
  JobErrors ntt;  // over all jobs
  Unfinished unfinished;
};

// Reads summary.csv, clients.csv and, unless either experiment says `jobs: false`, jobs.csv of both. Throws
// InputError when a folder is no finished result folder, a file is missing, cut off or malformed, the same
// point has other swept values in the two, or they have no point and policy in common.
Comparison compare_folders(const std::filesystem::path& prediction, const std::filesystem::path& measurement);

// Of each point with two policies or more that both folders have, by each metric that ranks.
std::vector<RankingComparison> rankings_of(const std::vector<GroupComparison>& groups);

// Everything, for programs; numbers that are none or infinite are null.
nlohmann::ordered_json to_json(const Comparison& comparison);

// The largest error that somebody is content with. Metrics: ntt_p50, ntt_p90 (of all jobs), those that rank
// (the largest absolute relative error of a point and policy, infinite where other clients starve in the two
// folders), ranking (the number of rankings not equal).
struct Limit {
  std::string metric;
  double most = 0;
};

// "ntt_p50=0.05,antt=10 %"; InputError (its place is `option`) when it is not such a list.
std::vector<Limit> parse_limits(const std::string& option, std::string_view text);

// What a limit limits; none when the folders do not say (no job finished in both, no jobs.csv, no ranking).
std::optional<double> value_of(const Comparison& comparison, const std::string& metric);

}  // namespace gangway
