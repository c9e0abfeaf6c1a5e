#include "experiments/comparing/differences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "experiments/metrics/catalogue.hpp"
#include "experiments/results/replication_samples.hpp"
#include "models/error.hpp"
#include "models/metrics/statistics.hpp"
#include "models/nearest.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;

constexpr double kSignificance = 0.05;

// One side of a comparison: a folder, and what it is called in reasons.
struct ComparedSide {
  const ReplicationSamples* samples;
  std::string name;
};

using SampleRows = std::map<std::uint32_t, ReplicationRow>;

const SampleRows* find_sample(const ReplicationTable& table, const SampleKey& key) {
  const auto found = table.rows.find(key);
  return found == table.rows.end() ? nullptr : &found->second;
}

// Where a metric stands among those that were read of the table; none where it is not there.
std::optional<std::size_t> place_of(const ReplicationTable& table, const std::string& metric) {
  const auto found = std::find(table.metrics.begin(), table.metrics.end(), metric);
  if (found == table.metrics.end()) return std::nullopt;
  return static_cast<std::size_t>(found - table.metrics.begin());
}

// The values of one metric in some replications; why there is no sample otherwise.
struct SampleValues {
  std::vector<double> values;
  std::vector<double> least, most;  // what they could be; empty: unbounded
  std::string reason;
  bool bounds = false;  // `reason` is that some values are bounds
  Certainty mean_is = Certainty::exact;
};

const char* in_words(Certainty certainty) {
  return certainty == Certainty::at_least  ? "a lower bound"
         : certainty == Certainty::at_most ? "an upper bound"
                                           : "open because of unfinished or killed jobs";
}

// Of a mean of values that are so.
Certainty together(Certainty one, Certainty other) {
  if (one == Certainty::exact || one == other) return other;
  return other == Certainty::exact ? one : Certainty::rough;
}

// Empty if one of them is unknown.
std::vector<double> known_ends(const std::vector<BoundedValue>& values, double BoundedValue::*end) {
  std::vector<double> ends;
  for (const BoundedValue& value : values) {
    if (std::isinf(value.*end)) return {};
    ends.push_back(value.*end);
  }
  return ends;
}

SampleValues sample_values(const ComparedSide& side, const SampleRows& sample,
                           const std::set<std::uint32_t>& compared, std::size_t place) {
  SampleValues out;
  std::vector<BoundedValue> values;
  std::size_t missing = 0, bounds = 0;
  std::set<std::string> starved;
  for (const auto& [replication, row] : sample) {
    if (compared.count(replication) == 0) continue;
    if (const auto& value = row.values[place]) {
      values.push_back(*value);
      out.values.push_back(value->value);
      if (value->certainty() == Certainty::exact) continue;
      ++bounds;
      out.mean_is = together(out.mean_is, value->certainty());
      continue;
    }
    ++missing;
    if (!row.starved.empty()) starved.insert(row.starved);
  }
  const auto in = [&](std::size_t count) {
    return fmt::format("in {} of {} replications of {}", count, compared.size(), side.name);
  };
  if (!starved.empty())
    out.reason = fmt::format("{} finished nothing {}", fmt::join(starved, ", "), in(missing));
  else if (missing > 0)
    out.reason = fmt::format("no value {}", in(missing));
  else if (bounds > 0) {
    out.reason = fmt::format("{} {}", in_words(out.mean_is), in(bounds));
    out.bounds = true;
  }
  out.least = known_ends(values, &BoundedValue::least);
  out.most = known_ends(values, &BoundedValue::most);
  return out;
}

SampleMean sample_mean(const SampleValues& sample, std::size_t compared) {
  if (sample.values.empty() || sample.values.size() < compared)
    return {sample.values.size(), {}, Certainty::exact, {}};
  return {sample.values.size(), mean(sample.values), sample.mean_is, half_width_95(sample.values)};
}

std::set<std::uint32_t> replication_numbers(const SampleRows& sample) {
  std::set<std::uint32_t> numbers;
  for (const auto& [number, row] : sample) numbers.insert(number);
  return numbers;
}

std::set<std::uint32_t> in_both(const std::set<std::uint32_t>& a, const std::set<std::uint32_t>& b) {
  std::set<std::uint32_t> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::inserter(both, both.end()));
  return both;
}

class Tester {
 public:
  Tester(Differences& out, ComparedSide a, ComparedSide b, const std::vector<std::string>& metrics)
      : out_(out), a_(std::move(a)), b_(std::move(b)), metrics_(metrics) {}

  // `point` under the policy `in_a` on the one side, `in_b` on the other.
  void compare(std::uint32_t point, const std::string& in_a, const std::string& in_b) {
    note_understated(a_, point, in_a);
    note_understated(b_, point, in_b);
    tables(a_.samples->points, b_.samples->points, {point, in_a, ""}, {point, in_b, ""});
    const ReplicationTable &services_a = a_.samples->services, &services_b = b_.samples->services;
    for (auto row = services_a.rows.lower_bound({point, in_a, ""}); row != services_a.rows.end(); ++row) {
      const auto& [at, policy, client] = row->first;
      if (at != point || policy != in_a) break;
      if (find_sample(services_b, {point, in_b, client}) != nullptr)
        tables(services_a, services_b, row->first, {point, in_b, client});
    }
  }

 private:
  void note_understated(const ComparedSide& side, std::uint32_t point, const std::string& policy) {
    const SampleRows* const sample = find_sample(side.samples->points, {point, policy, ""});
    if (sample == nullptr) return;
    for (const auto& [replication, row] : *sample) {
      if (row.understated.empty()) continue;
      auto& clients = out_.understated[side.name == policy ? policy : side.name + ", " + policy];
      for (std::size_t at = 0; at < row.understated.size();) {
        const std::size_t bar = std::min(row.understated.find('|', at), row.understated.size());
        clients.insert(row.understated.substr(at, bar - at));
        at = bar + 1;
      }
    }
  }

  void tables(const ReplicationTable& table_a, const ReplicationTable& table_b, const SampleKey& key_a,
              const SampleKey& key_b) {
    const SampleRows *sample_a = find_sample(table_a, key_a), *sample_b = find_sample(table_b, key_b);
    for (const std::string& metric : metrics_) {
      const auto at_a = place_of(table_a, metric), at_b = place_of(table_b, metric);
      if (!at_a || !at_b) continue;
      MetricDifference row;
      std::tie(row.point, row.policy, row.client) = key_b;
      row.metric = metric;
      if (sample_a == nullptr || sample_b == nullptr) {
        row.reason = fmt::format("no results in {}", (sample_a == nullptr ? a_ : b_).name);
        out_.rows.push_back(std::move(row));
      } else if (test(row, *sample_a, *sample_b, *at_a, *at_b)) {
        out_.rows.push_back(std::move(row));
      }
    }
  }

  // False where neither side can have a value: nobody was evicted, a client has no objective.
  bool test(MetricDifference& row, const SampleRows& sample_a, const SampleRows& sample_b, std::size_t at_a,
            std::size_t at_b) const {
    std::set<std::uint32_t> compared_a = replication_numbers(sample_a),
                            compared_b = replication_numbers(sample_b);
    if (out_.paired) compared_a = compared_b = in_both(compared_a, compared_b);
    const SampleValues a = sample_values(a_, sample_a, compared_a, at_a);
    const SampleValues b = sample_values(b_, sample_b, compared_b, at_b);
    // Who finishes nothing could have a latency, but need not have an objective, nor evictions.
    const bool of_finished =
        row.client.empty() ? row.metric != "eviction_delay_ns_mean" : row.metric.starts_with("latency");
    const bool starved = of_finished && (a.reason + b.reason).find("finished nothing") != std::string::npos;
    if (a.values.empty() && b.values.empty() && !starved) return false;
    row.a = sample_mean(a, compared_a.size());
    row.b = sample_mean(b, compared_b.size());
    row.reason = !a.reason.empty() ? a.reason : b.reason;
    if ((a.reason.empty() || a.bounds) && (b.reason.empty() || b.bounds) && !row.reason.empty())
      test_bounds(row, a, b);
    if (!row.reason.empty() || row.test) return true;
    row.difference = *row.b.mean - *row.a.mean;
    for (const ComparedSide* side : {&a_, &b_})
      if (!side->samples->kept) row.reason = side->name + " has no replications.csv";
    if (row.reason.empty() && std::min(a.values.size(), b.values.size()) < 2) row.reason = "one replication";
    if (!row.reason.empty()) return true;
    row.test = t_test(a.values, b.values);
    if (row.test)
      row.difference = row.test->difference;
    else
      row.finding = is_zero(row) ? Finding::equal : Finding::exact;
    return true;
  }

  std::optional<TTest> t_test(const std::vector<double>& a, const std::vector<double>& b) const {
    return out_.paired ? paired_t_test(a, b) : welch_t_test(a, b);
  }

  // Each side with its least values and with its most, if all agree on who is larger: the p value of the
  // least significant of these tests, and the least difference. A side without a most may be larger still,
  // one without a least smaller.
  void test_bounds(MetricDifference& row, const SampleValues& a, const SampleValues& b) const {
    std::optional<TTest> worst, least;
    double from = 0;
    bool higher = !a.most.empty() && !b.least.empty(), lower = !a.least.empty() && !b.most.empty();
    for (const auto* of_a : {&a.least, &a.most})
      for (const auto* of_b : {&b.least, &b.most}) {
        if (of_a->empty() || of_b->empty()) continue;
        const std::optional<TTest> test = t_test(*of_a, *of_b);
        if (!test) return;
        higher = higher && test->difference > 0;
        lower = lower && test->difference < 0;
        if (!worst || test->p > worst->p) worst = test;
        if (least && std::abs(test->difference) >= std::abs(least->difference)) continue;
        least = test;
        from = mean(*of_a);
      }
    if (!worst || (!higher && !lower)) return;
    worst->difference = least->difference;
    worst->low = least->low;
    worst->high = least->high;
    row.test = worst;
    row.difference = worst->difference;
    row.from = from;
    row.at_least = true;
    row.reason.clear();
  }

  // But for rounding, as t_test.hpp has it.
  static bool is_zero(MetricDifference& row) {
    const double size = std::max(std::abs(*row.a.mean), std::abs(*row.b.mean));
    if (std::abs(*row.difference) > 1e-12 * size) return false;
    row.difference = 0;
    return true;
  }

  Differences& out_;
  ComparedSide a_, b_;
  const std::vector<std::string>& metrics_;
};

void correct_for_many(Differences& out) {
  std::vector<double> p;
  for (const MetricDifference& row : out.rows)
    if (row.test) p.push_back(row.test->p);
  const std::vector<double> corrected = holm(p);
  std::size_t next = 0;
  for (MetricDifference& row : out.rows) {
    if (!row.test) continue;
    row.p_holm = corrected[next++];
    row.finding = *row.p_holm < kSignificance ? Finding::significant : Finding::not_significant;
  }
}

ReplicatedFolder replicated(const fs::path& path, const ReplicationSamples& samples) {
  const Manifest& manifest = samples.manifest;
  return {{path.string(), manifest.experiment, manifest.key.world, manifest.has_jobs},
          manifest.seed,
          manifest.replications,
          samples.kept};
}

// Those asked for, of which each is a column in every folder; or the usual ones.
std::vector<std::string> checked_metrics(const std::vector<std::string>& asked,
                                         const std::vector<const ReplicationSamples*>& folders) {
  for (const std::string& metric : asked)
    for (const ReplicationSamples* folder : folders) {
      std::vector<std::string> known = folder->points.columns;
      known.insert(known.end(), folder->services.columns.begin(), folder->services.columns.end());
      if (std::find(known.begin(), known.end(), metric) == known.end())
        throw InputError({"--metrics", 0}, "metric", quote(metric), expected_names(metric, known));
    }
  return asked.empty() ? usual_metrics() : asked;
}

}  // namespace

std::vector<std::string> usual_metrics() {
  std::vector<std::string> usual;
  for (const Level level : {Level::point, Level::service}) {
    const auto names = metric_names(level, [](const Metric& m) { return m.tested; });
    usual.insert(usual.end(), names.begin(), names.end());
  }
  return usual;
}

std::optional<double> MetricDifference::relative() const {
  const std::optional<double> base = from ? from : a.mean;
  if (!difference || !base || *base == 0) return std::nullopt;
  return *difference / std::abs(*base);
}

std::size_t Differences::count(Finding finding) const {
  return static_cast<std::size_t>(std::count_if(
      rows.begin(), rows.end(), [&](const MetricDifference& row) { return row.finding == finding; }));
}

std::size_t Differences::tests() const {
  return count(Finding::significant) + count(Finding::not_significant);
}

std::optional<Differences> differences_between(const Comparison& comparison,
                                               const std::vector<std::string>& metrics) {
  if (comparison.prediction.world != comparison.measurement.world) {
    if (!metrics.empty())
      throw InputError(
          {"--metrics", 0}, "world",
          fmt::format("{} and {}", quote(comparison.prediction.world), quote(comparison.measurement.world)),
          "two results of one world; a prediction and a measurement are compared by errors");
    return std::nullopt;
  }
  const ReplicationSamples a = read_replications(comparison.prediction.path, metrics);
  const ReplicationSamples b = read_replications(comparison.measurement.path, metrics);
  Differences out;
  out.a = replicated(comparison.prediction.path, a);
  out.b = replicated(comparison.measurement.path, b);
  out.paired = a.manifest.seed ? a.manifest.seed == b.manifest.seed : a.seed_swept && b.seed_swept;
  const std::vector<std::string> compared = checked_metrics(metrics, {&a, &b});
  Tester tester(out, {&a, "A"}, {&b, "B"}, compared);
  for (const GroupComparison& group : comparison.groups)
    tester.compare(group.point, group.policy, group.policy);
  correct_for_many(out);
  return out;
}

Differences differences_to_baseline(const fs::path& folder, const std::string& baseline,
                                    const std::vector<std::string>& metrics) {
  const ReplicationSamples samples = read_replications(folder, metrics);
  Differences out;
  out.a = out.b = replicated(folder, samples);
  out.baseline = baseline;
  out.paired = true;
  const std::vector<std::string> compared = checked_metrics(metrics, {&samples});
  std::map<std::uint32_t, std::vector<std::string>> points;
  std::vector<std::string> policies;
  for (const auto& [point, policy] : samples.groups) {
    points[point].push_back(policy);
    if (std::find(policies.begin(), policies.end(), policy) == policies.end()) policies.push_back(policy);
  }
  if (std::find(policies.begin(), policies.end(), baseline) == policies.end())
    throw InputError({"--baseline", 0}, "policy", quote(baseline), expected_names(baseline, policies));
  if (policies.size() < 2)
    throw InputError({"--baseline", 0}, "policies", "one only in " + folder.string(),
                     "another policy, to be compared with " + quote(baseline));
  for (const auto& [point, own] : points) {
    if (std::find(own.begin(), own.end(), baseline) == own.end()) {
      out.left_out.push_back(fmt::format("point {}", point));
      continue;
    }
    for (const std::string& policy : own)
      if (policy != baseline)
        Tester(out, {&samples, baseline}, {&samples, policy}, compared).compare(point, baseline, policy);
  }
  correct_for_many(out);
  return out;
}

std::vector<std::string> parse_metrics(const std::string& option, std::string_view text) {
  std::vector<std::string> metrics;
  for (bool more = !text.empty(); more;) {
    const std::size_t comma = text.find(',');
    const std::string metric(text.substr(0, comma));
    more = comma != std::string_view::npos;
    if (more) text.remove_prefix(comma + 1);
    if (metric.empty() || std::find(metrics.begin(), metrics.end(), metric) != metrics.end())
      throw InputError({option, 0}, "metric", quote(metric),
                       "distinct names of columns, separated by commas");
    metrics.push_back(metric);
  }
  return metrics;
}

}  // namespace gangway
