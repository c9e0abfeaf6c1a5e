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

// "p99|p999" -> " latency_ns_p99 latency_ns_p999 "
std::string bounds_of_services(std::string_view names) {
  std::string out = " ";
  while (!names.empty()) {
    const std::size_t bar = names.find('|');
    out += "latency_ns_" + std::string(names.substr(0, bar)) + " ";
    names.remove_prefix(bar == std::string_view::npos ? names.size() : bar + 1);
  }
  return out;
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
        percentiles_(table_.column_if_any("percentiles")),
        lower_bounds_(table_.column_if_any("lower_bounds")),
        error_(table_.column_if_any("error")) {
    for (std::size_t c = table_.column(metrics_of(level).front()->name); c < table_.columns().size(); ++c) {
      const std::string& name = table_.columns()[c];
      if (!could_be_metric(level, name)) continue;
      out_.columns.push_back(name);
      if (!asked.empty() && std::find(asked.begin(), asked.end(), name) == asked.end()) continue;
      out_.metrics.push_back(name);
      places_.push_back(c);
      most_places_.push_back(table_.column_if_any(name + "_most"));
    }
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
    for (const std::size_t place : places_) row.values.push_back(table_.number(place));
    for (const std::optional<std::size_t>& place : most_places_)
      row.most.push_back(place ? table_.number(*place) : std::nullopt);
    if (starved_) row.starved = table_.text(*starved_);
    if (client_ && starved_runs_ && table_.index(*starved_runs_) > 0) row.starved = table_.text(*client_);
    if (lower_bounds_) row.lower_bounds = bounds_of_services(table_.text(*lower_bounds_));
    if (percentiles_ && table_.text(*percentiles_) == "lower-bound")  // which of the two is not said
      row.lower_bounds = " p50_response_ns p99_response_ns ";
    return row;
  }

  Table table_;
  std::size_t point_, policy_;
  std::optional<std::size_t> client_, replication_, starved_, starved_runs_, percentiles_, lower_bounds_,
      error_;
  std::vector<std::size_t> places_;
  std::vector<std::optional<std::size_t>> most_places_;
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
