// Tests whether two simulations, or two policies of one, differ by more than chance. Samples are
// replications: replications.csv and service_replications.csv, or the summary if there is only one.
//
// Replications with the same random numbers (equal seeds, same number) are compared in pairs; otherwise the
// sides are independent samples. Pairs whose random numbers have different meanings, for example after a
// change of the workload, are still compared correctly, with less power. If one side has more replications,
// the surplus is ignored in pairing.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "experiments/comparing/compare.hpp"
#include "models/metrics/t_test.hpp"

namespace gangway {

// A metric's replications on one side, in the column's unit.
struct SampleMean {
  std::size_t replications = 0;  // number with a value
  std::optional<double>
      mean;  // none if a replication has no value, because the mean of the rest would be biased
  Certainty is = Certainty::exact;   // of the mean, as jobs are unfinished or lost
  std::optional<double> half_width;  // of its 95 % Student-t interval; none below two replications
};

enum class Finding {
  significant,      // p below 0.05 after Holm's correction over all tests of the comparison
  not_significant,  // may be chance
  exact,            // the same difference in every replication, so no test is possible
  equal,            // likewise, and the difference is 0
  untested          // see `reason`
};

struct MetricDifference {
  std::uint32_t point = 0;
  std::string policy;  // of b; a's is the same, or the baseline
  std::string client;  // empty: a metric of the point
  std::string metric;  // a column
  SampleMean a, b;
  std::optional<double> difference;  // b - a, over the compared replications
  std::optional<TTest> test;
  // A side has bounds: `difference` and its interval are the least that they allow, and p the largest.
  bool at_least = false;
  std::optional<double> from;  // the mean of a in that least difference; none: `a.mean`
  std::optional<double> p_holm;
  Finding finding = Finding::untested;
  std::string reason;

  std::optional<double> relative() const;  // difference over that mean of a; none if that is 0
};

struct ReplicatedFolder {
  ComparedFolder folder;
  std::optional<std::uint64_t> seed;  // none if swept
  std::uint32_t replications = 1;
  bool kept = true;  // whether the folder has values per replication; older programs did not write them
};

struct Differences {
  ReplicatedFolder a, b;               // the same folder if policies are compared
  std::string baseline;                // the reference policy if policies are compared; else empty
  bool paired = false;                 // by replication; else Welch's test
  std::vector<MetricDifference> rows;  // by point, policy, client; metrics as they were asked for
  std::vector<std::string> left_out;   // points without the baseline, such as "point 3"
  // Whose unfinished jobs make averages bounds: "A, rr" or "rr" -> clients.
  std::map<std::string, std::set<std::string>> understated;

  std::size_t count(Finding finding) const;
  std::size_t tests() const;  // number of tests covered by Holm's correction
};

// Columns compared by default.
std::vector<std::string> usual_metrics();

// Compares the points and policies common to both folders, for one world. None if worlds differ, because then
// one side predicts the other. `metrics`: columns of replications.csv or service_replications.csv; empty: the
// default ones present. InputError for an unknown column and for damaged tables.
std::optional<Differences> differences_between(const Comparison& comparison,
                                               const std::vector<std::string>& metrics);

// Compares every other policy of the folder with `baseline`, point by point. InputError as above, if the
// folder is not finished, or if it lacks this policy or any other.
Differences differences_to_baseline(const std::filesystem::path& folder, const std::string& baseline,
                                    const std::vector<std::string>& metrics);

// "antt,stp". InputError, at `option`, for empty or repeated names.
std::vector<std::string> parse_metrics(const std::string& option, std::string_view text);

// Sentences for people: how samples were compared, and the findings.
std::vector<std::string> conclusions(const Differences& differences);

// "B is 2.4 % lower", where that is more than chance; else "may be chance", "not tested: ..." and the like.
std::string in_words(const MetricDifference& row, const Differences& differences);

// What the real difference is beside `difference`, with signs: at least 3, or at most -3.
Certainty certainty_of_difference(const MetricDifference& row);

const char* name_of(Finding finding);  // significant, not significant, exact, equal, untested

nlohmann::ordered_json to_json(const Differences& differences);

}  // namespace gangway
