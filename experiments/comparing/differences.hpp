// Whether two simulations, or two policies of one, differ by more than chance. The replications are the
// sample: replications.csv and service_replications.csv, or where there is one replication the summary.
//
// Replications that drew the same random numbers (equal seeds, the same number) are compared in pairs;
// otherwise both sides are independent samples, as streams of different seeds are. Pairs whose random numbers
// mean different things, as after a change of the workload, are compared rightly all the same, only with less
// power. Unequally many replications of one seed are paired as far as both go.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/comparing/compare.hpp"
#include "models/metrics/t_test.hpp"

namespace gangway {

// What the replications of one side say of a metric, in its column's unit.
struct SampleMean {
  std::size_t replications = 0;      // that have a value
  std::optional<double> mean;        // none where one of them has none: of the rest alone it would flatter
  std::optional<double> half_width;  // of its 95 % Student-t interval; none below two replications
};

enum class Finding {
  significant,      // p below 0.05 after Holm's correction over all tests of the comparison
  not_significant,  // may be chance
  exact,            // the same difference in every replication: no chance is seen, so there is no test
  equal,            // likewise, and the difference is 0
  untested          // `reason` says why
};

struct MetricDifference {
  std::uint32_t point = 0;
  std::string policy;  // of b; a's is the same or the baseline
  std::string client;  // empty: a metric of the whole point
  std::string metric;  // a column
  SampleMean a, b;
  std::optional<double> difference;  // b - a, over the replications that are compared
  std::optional<TTest> test;
  std::optional<double> p_holm;
  Finding finding = Finding::untested;
  std::string reason;

  std::optional<double> relative() const;  // difference over the mean of a; none where that is 0
};

struct ReplicatedFolder {
  ComparedFolder folder;
  std::optional<std::uint64_t> seed;  // none where it is swept
  std::uint32_t replications = 1;
  bool kept = true;  // what each replication came to; programs of old did not
};

struct Differences {
  ReplicatedFolder a, b;               // the same folder where policies are compared
  std::string baseline;                // then the policy that the others are compared with; else empty
  bool paired = false;                 // by replication; else Welch's test
  std::vector<MetricDifference> rows;  // by point, policy, client; metrics as they were asked for
  std::vector<std::string> left_out;   // points without the baseline, as "point 3"

  std::size_t count(Finding finding) const;
  std::size_t tests() const;  // that Holm's correction is over
};

// Columns that are compared where nothing else is asked for.
std::vector<std::string> usual_metrics();

// Both folders' points and policies that `comparison` found in both, of one world; none where the worlds
// differ, as then one side predicts the other. `metrics`: columns of replications.csv or
// service_replications.csv; empty: the usual ones that the folders have. InputError for a column that neither
// table has, and for damaged tables.
std::optional<Differences> differences_between(const Comparison& comparison,
                                               const std::vector<std::string>& metrics);

// Every other policy of the folder less `baseline`, point by point. InputError as above, where the folder is
// no finished result folder, and where it has no such policy, or no other.
Differences differences_to_baseline(const std::filesystem::path& folder, const std::string& baseline,
                                    const std::vector<std::string>& metrics);

// "antt,stp"; InputError (its place is `option`) where a name is empty or stands twice.
std::vector<std::string> parse_metrics(const std::string& option, std::string_view text);

// One sentence each, for people: how samples were compared, and what was found.
std::vector<std::string> conclusions(const Differences& differences);

// "B is 2.4 % lower": the difference in words; of any finding but `untested`.
std::string in_words(const MetricDifference& row, const Differences& differences);

const char* name_of(Finding finding);  // significant, not significant, exact, equal, untested

nlohmann::ordered_json to_json(const Differences& differences);

}  // namespace gangway
