#include "experiments/comparing/decisive_runs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "models/metrics/statistics.hpp"

namespace gangway::compared {
namespace {

constexpr std::size_t kFewRuns = 10;
constexpr double kWorthSaying = 0.01;  // an error
constexpr double kSameValue = 1e-6;    // relative: the files have that many digits
constexpr double kNothing = 1e-9;      // less is what rounding leaves of 0
constexpr std::array<const char*, 3> kMetrics{"antt", "dntt", "stp"};

using Values = std::array<double, kMetrics.size()>;

struct Sides {
  Values predicted{}, measured{};
};

Values values_of(const std::vector<double>& ntts, bool sample_sigma) {
  double stp = 0;
  for (const double ntt : ntts) stp += 1 / ntt;
  return {mean(ntts), deviation(ntts, sample_sigma), stp};
}

// Of a replication; none: it has no jobs.
std::optional<Sides> sides_of(const std::vector<NttSums>& clients, bool sample_sigma) {
  std::vector<double> predicted, measured;
  for (const NttSums& client : clients) {
    if (client.jobs == 0) continue;
    predicted.push_back(client.predicted / static_cast<double>(client.jobs));
    measured.push_back(client.measured / static_cast<double>(client.jobs));
  }
  if (predicted.empty()) return std::nullopt;
  return Sides{values_of(predicted, sample_sigma), values_of(measured, sample_sigma)};
}

void add(std::vector<NttSums>& sums, const std::vector<NttSums>& more, int sign) {
  sums.resize(std::max(sums.size(), more.size()));
  for (std::size_t c = 0; c < more.size(); ++c) {
    sums[c].predicted += sign * more[c].predicted;
    sums[c].measured += sign * more[c].measured;
    sums[c].jobs += sign * more[c].jobs;
  }
}

class Group {
 public:
  Group(const RunSums& runs, bool sample_sigma) : sample_sigma_(sample_sigma) {
    for (const auto& [run, sums] : runs) add(replications_[run.first].sums, sums, 1);
    for (auto& [number, replication] : replications_) {
      replication.sides = sides_of(replication.sums, sample_sigma);
      if (!replication.sides) continue;
      ++count_;
      for (std::size_t m = 0; m < kMetrics.size(); ++m) {
        sum_.predicted[m] += replication.sides->predicted[m];
        sum_.measured[m] += replication.sides->measured[m];
      }
    }
  }

  // Averages over replications.
  double predicted(std::size_t metric) const { return sum_.predicted[metric] / count_; }
  double measured(std::size_t metric) const { return sum_.measured[metric] / count_; }

  Values errors_without(const Run& run, const std::vector<NttSums>& of_run) const {
    const Replication& replication = replications_.at(run.first);
    std::vector<NttSums> rest = replication.sums;
    add(rest, of_run, -1);
    const std::optional<Sides> sides = sides_of(rest, sample_sigma_);
    Values errors{};
    for (std::size_t m = 0; m < kMetrics.size(); ++m) {
      const auto other = [&](double sum, double before, double after) {
        return sides ? (sum - before + after) / count_ : (sum - before) / (count_ - 1);
      };
      const double predicted =
          other(sum_.predicted[m], replication.sides->predicted[m], sides ? sides->predicted[m] : 0);
      const double measured =
          other(sum_.measured[m], replication.sides->measured[m], sides ? sides->measured[m] : 0);
      errors[m] =
          gangway::relative_error(predicted < kNothing ? 0 : predicted, measured < kNothing ? 0 : measured);
    }
    return errors;
  }

 private:
  struct Replication {
    std::vector<NttSums> sums;
    std::optional<Sides> sides;
  };
  bool sample_sigma_;
  std::map<std::uint32_t, Replication> replications_;
  Sides sum_;
  double count_ = 0;
};

bool same(const std::optional<double>& value, double again) {
  return value && std::abs(*value - again) <= kSameValue * std::abs(*value);
}

}  // namespace

std::vector<DecisiveRun> decisive_runs(const GroupComparison& group, const RunSums& runs, bool sample_sigma) {
  if (runs.size() < kFewRuns) return {};
  const Group all(runs, sample_sigma);
  std::array<std::optional<double>, kMetrics.size()> errors;
  for (std::size_t m = 0; m < kMetrics.size(); ++m) {
    const Compared& metric = group.metric(kMetrics[m]);
    const std::optional<double> error = metric.relative_error();
    if (error && std::isfinite(*error) && same(metric.predicted, all.predicted(m)) &&
        same(metric.measured, all.measured(m)))
      errors[m] = error;
  }
  std::array<std::optional<DecisiveRun>, kMetrics.size()> found;
  for (const auto& [run, sums] : runs) {
    const Values without = all.errors_without(run, sums);
    for (std::size_t m = 0; m < kMetrics.size(); ++m) {
      if (!errors[m] || std::abs(*errors[m]) < kWorthSaying || !std::isfinite(without[m])) continue;
      const double change = std::abs(without[m] - *errors[m]);
      if (change < std::abs(*errors[m]) / 2) continue;
      if (!found[m] || change > std::abs(found[m]->without - *errors[m]))
        found[m] = {kMetrics[m], run.first, run.second, without[m]};
    }
  }
  std::vector<DecisiveRun> out;
  for (const auto& decisive : found)
    if (decisive) out.push_back(*decisive);
  return out;
}

}  // namespace gangway::compared
