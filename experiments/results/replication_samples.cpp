#include "experiments/results/replication_samples.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/metrics/catalogue.hpp"
#include "models/error.hpp"
#include "models/input/table.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;

// Of another program it may be one that this program does not know.
bool could_be_metric(Level level, const std::string& column) {
  if (const Metric* metric = find_metric(level, column)) return metric->is_number();
  return !column.ends_with("_ci95") && column != "error";
}

// Reads one table of a level.
class SampleReader {
 public:
  SampleReader(const fs::path& file, Level level, const std::vector<std::string>& asked)
      : table_(file),
        point_(table_.column("point")),
        policy_(table_.column("policy")),
        client_(table_.column_if_any("client")),
        replication_(table_.column_if_any("replication")),
        starved_(table_.column_if_any("starved")),
        starved_runs_(table_.column_if_any("starved_runs")),
        error_(table_.column_if_any("error")),
        understated_(table_.column_if_any("understated")) {
    std::vector<std::size_t> places;
    for (std::size_t c = table_.column(metrics_of(level).front()->name); c < table_.columns().size(); ++c) {
      const std::string& name = table_.columns()[c];
      if (!could_be_metric(level, name)) continue;
      out_.columns.push_back(name);
      if (!asked.empty() && std::find(asked.begin(), asked.end(), name) == asked.end()) continue;
      out_.metrics.push_back(name);
      places.push_back(c);
    }
    values_.emplace(table_, level, std::move(places));
  }

  bool has_swept_seed() const { return table_.column_if_any("seed").has_value(); }

  ReplicationTable read() {
    while (table_.next()) {
      if (error_ && !table_.text(*error_).empty()) continue;
      const SampleKey key{table_.index(point_), std::string(table_.text(policy_)),
                          client_ ? std::string(table_.text(*client_)) : ""};
      const std::uint32_t number = replication_ ? table_.index(*replication_) : 0;
      if (!out_.rows[key].emplace(number, row()).second)
        throw InputError({table_.file().string(), table_.line()}, "row", "the same key as in an earlier row",
                         "each key once");
    }
    return std::move(out_);
  }

 private:
  ReplicationRow row() const {
    ReplicationRow row;
    row.values = values_->row(table_);
    if (understated_) row.understated = table_.text(*understated_);
    if (starved_) row.starved = table_.text(*starved_);
    if (client_ && starved_runs_ && table_.index(*starved_runs_) > 0) row.starved = table_.text(*client_);
    return row;
  }

  Table table_;
  std::size_t point_, policy_;
  std::optional<std::size_t> client_, replication_, starved_, starved_runs_, error_, understated_;
  std::optional<BoundedColumns> values_;  // of ReplicationTable::metrics
  ReplicationTable out_;
};

std::vector<std::pair<std::uint32_t, std::string>> groups_in(const fs::path& file) {
  Table table(file);
  const std::size_t point = table.column("point"), policy = table.column("policy");
  std::vector<std::pair<std::uint32_t, std::string>> groups;
  while (table.next()) groups.emplace_back(table.index(point), table.text(policy));
  return groups;
}

}  // namespace

ReplicationSamples read_replications(const fs::path& folder, const std::vector<std::string>& metrics) {
  ReplicationSamples samples;
  samples.manifest = read_manifest(folder);
  samples.groups = groups_in(folder / "summary.csv");
  const bool several = samples.manifest.replications > 1;
  samples.kept = !several || fs::exists(folder / "replications.csv");
  const bool each = several && samples.kept;
  SampleReader points(folder / (each ? "replications.csv" : "summary.csv"), Level::point, metrics);
  samples.seed_swept = points.has_swept_seed();
  samples.points = points.read();
  const fs::path services = folder / (each ? "service_replications.csv" : "services.csv");
  if (fs::exists(services)) samples.services = SampleReader(services, Level::service, metrics).read();
  return samples;
}

}  // namespace gangway
