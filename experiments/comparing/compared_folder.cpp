#include "experiments/comparing/compared_folder.hpp"

#include <algorithm>

#include "experiments/metrics/catalogue.hpp"
#include "experiments/results/bounded_value.hpp"
#include "experiments/results/manifest.hpp"
#include "experiments/results/row.hpp"
#include "experiments/sweeps/swept_columns.hpp"
#include "models/error.hpp"
#include "models/input/table.hpp"

namespace gangway::compared {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_twice(const Table& table) {
  throw InputError({table.file().string(), table.line()}, "row", "the same key as in an earlier row",
                   "each key once");
}

// The metrics of a table that are compared; `predicted` is theirs, whatever the folder.
class ComparedColumns {
 public:
  ComparedColumns(const Table& table, Level level)
      : names_(metric_names(level, [](const Metric& m) { return m.compared; })),
        values_(table, level, places_in(table, names_)) {}

  std::vector<Compared> row(const Table& table) const {
    std::vector<Compared> row;
    for (const auto& value : values_.row(table)) {
      Compared& compared = row.emplace_back(Compared{names_[row.size()], {}, {}});
      if (!value) continue;
      compared.predicted = value->value;
      compared.predicted_is = value->certainty();
    }
    return row;
  }

 private:
  static std::vector<std::size_t> places_in(const Table& table, const std::vector<std::string>& names) {
    std::vector<std::size_t> places;
    for (const std::string& name : names) places.push_back(table.column(name));
    return places;
  }

  std::vector<std::string> names_;
  BoundedColumns values_;
};

// Swept parameters stand between the policy and the first metric.
std::vector<std::size_t> swept_columns(const Table& table) {
  std::vector<std::size_t> swept;
  const std::size_t end = table.column(metrics_of(Level::point).front()->name);
  for (std::size_t c = table.column("policy") + 1; c < end; ++c)
    if (!repeats_in_base_units(table.columns()[c - 1], table.columns()[c])) swept.push_back(c);
  return swept;
}

void read_summary(Folder& folder) {
  Table table(folder.path / "summary.csv");
  const std::size_t point = table.column("point"), policy = table.column("policy");
  const ComparedColumns metrics(table, Level::point);
  const auto starved = table.column_if_any("starved");  // folders of older programs have none
  const auto error = table.column_if_any("error");
  const std::vector<std::size_t> swept = swept_columns(table);
  for (const std::size_t column : swept) folder.swept.push_back(table.columns()[column]);
  while (table.next()) {
    SummaryRow row;
    row.line = table.line();
    for (const std::size_t column : swept) row.swept.emplace_back(table.text(column));
    row.values = metrics.row(table);
    if (starved) row.starved = listed_names(table.text(*starved));
    if (error) row.error = table.text(*error);
    const GroupKey key{table.index(point), std::string(table.text(policy))};
    if (!folder.summary.emplace(key, std::move(row)).second) refuse_twice(table);
  }
}

void read_clients(Folder& folder) {
  Table table(folder.path / "clients.csv");
  const std::size_t point = table.column("point"), policy = table.column("policy"),
                    client = table.column("client");
  const ComparedColumns metrics(table, Level::client);
  while (table.next()) {
    const ClientKey key{table.index(point), std::string(table.text(policy)), std::string(table.text(client))};
    if (!folder.clients.emplace(key, metrics.row(table)).second) refuse_twice(table);
  }
}

}  // namespace

bool SummaryRow::has_result() const {
  return error.empty() &&
         std::any_of(values.begin(), values.end(), [](const Compared& c) { return c.predicted; });
}

std::vector<Compared> both_sides(const std::vector<Compared>& predicted,
                                 const std::vector<Compared>& measured) {
  std::vector<Compared> both = predicted;
  for (std::size_t m = 0; m < both.size(); ++m) {
    both[m].measured = measured[m].predicted;
    both[m].measured_is = measured[m].predicted_is;
  }
  return both;
}

Folder read_folder(const std::filesystem::path& path) {
  const Manifest manifest = read_manifest(path);
  Folder folder;
  folder.path = path;
  folder.about = {path.string(),      manifest.experiment,
                  manifest.key.world, manifest.has_jobs && std::filesystem::exists(path / "jobs.csv"),
                  manifest.sigma,     manifest.standalone};
  read_summary(folder);
  read_clients(folder);
  return folder;
}

}  // namespace gangway::compared
