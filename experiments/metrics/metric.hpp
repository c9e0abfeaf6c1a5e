// The single table of metrics. Each metric is one entry. Columns of result files, names in published values
// and comparisons, rankings, `gangway list metrics`, labels of figures and the reference in README.md follow
// from it.
#pragma once

#include <algorithm>
#include <functional>
#include <list>
#include <map>
#include <source_location>
#include <string>
#include <vector>

#include "experiments/results/row.hpp"
#include "models/registry.hpp"

namespace gangway {

// What a metric describes, and its file: all clients of a point under a policy (summary.csv and
// replications.csv), one client (clients.csv), a client as a service (services.csv and
// service_replications.csv), or a job (jobs.csv).
enum class Level { point, client, service, job };
enum class MetricUnit { ns, per_second, share, ratio, count, text };
enum class Better { neither, lower, higher };
// What the real value is, beside one that unfinished jobs make a bound: at least that, at most, or either.
enum class Certainty { exact, at_least, at_most, rough };

// The description of a metric.
struct Metric {
  std::string name = {};   // the column
  std::string label = {};  // in figures and tables; without unit for times
  MetricUnit unit = MetricUnit::ratio;
  Better better = Better::neither;
  std::string meaning = {};                     // what it is and how it is computed, in one sentence
  std::string heading = {};                     // for a narrow column; empty: the label
  bool compared = false;                        // `gangway compare` shows its error in predictions
  bool tested = false;                          // ... and tests it by default in comparisons of simulations
  bool ranked = false;                          // policies are ranked by it; no value if a client starves
  Certainty if_understated = Certainty::exact;  // what it is where a client is understated (ClientAverages)
  Certainty if_unfinished = Certainty::exact;   // what it is where any job is unfinished

  bool is_number() const { return unit != MetricUnit::text; }
  const std::string& short_label() const { return heading.empty() ? label : heading; }
};

// A metric computed from a Sample (samples.hpp).
template <typename Sample>
struct MetricOf {
  using Value = std::function<Cell(const Sample&)>;
  using Condition = std::function<bool(const Sample&)>;

  // Without `its_ci95` there is no interval.
  MetricOf(Metric says, Value its_value, Value its_ci95 = {}, std::string behind = {},
           Condition if_there = {})
      : about(std::move(says)),
        value(std::move(its_value)),
        ci95(std::move(its_ci95)),
        ci95_behind(std::move(behind)),
        is_there(std::move(if_there)) {}

  Metric about;
  Value value;
  Value ci95;  // half-width of the interval
  // The interval's column follows this metric's column; empty: its own metric's.
  std::string ci95_behind;
  Condition is_there;  // empty: always
};

// All metrics of a kind in column order: Gangway's own, then others.
template <typename Entry>
class Metrics {
 public:
  static const std::list<Entry>& all() { return entries(); }

  // Before main() only. If the name is taken, ends the program: one line on stderr, exit code 1.
  static void add(Entry entry, const std::source_location& where) {
    for (const Entry& there : entries())
      if (there.about.name == entry.about.name) stop_at_start(entry.about.name, place_of_usual(), where);
    entries().push_back(std::move(entry));
  }

 private:
  static std::list<Entry> usual();  // defined beside each kind
  static std::source_location place_of_usual();
  static std::list<Entry>& entries() {
    static std::list<Entry> all = usual();
    return all;
  }
};

template <typename Entry>
struct MetricRegistration {
  explicit MetricRegistration(Entry entry,
                              const std::source_location& where = std::source_location::current()) {
    Metrics<Entry>::add(std::move(entry), where);
  }
};

// Adds the columns of all metrics present in the sample.
template <typename Sample>
void add_metrics(Row& row, const Sample& sample) {
  using Entry = MetricOf<Sample>;
  const std::list<Entry>& all = Metrics<Entry>::all();
  for (const Entry& metric : all) {
    if (metric.is_there && !metric.is_there(sample)) continue;
    row.emplace_back(metric.about.name, metric.value(sample));
    for (const Entry& other : all)
      if (other.ci95 &&
          (other.ci95_behind.empty() ? &other == &metric : other.ci95_behind == metric.about.name))
        row.emplace_back(other.about.name + "_ci95", other.ci95(sample));
  }
}

}  // namespace gangway
