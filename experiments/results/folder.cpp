#include "experiments/results/folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "experiments/results/equal_replications.hpp"
#include "experiments/results/switching_warning.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::vector<std::string> files_of(const Experiment& experiment) {
  std::vector<std::string> files{"summary.csv", "clients.csv", "published.csv"};
  if (experiment.counts_services) files.emplace_back("services.csv");
  if (experiment.replications > 1) {
    files.emplace_back("replications.csv");
    if (experiment.counts_services) files.emplace_back("service_replications.csv");
  }
  if (experiment.write_jobs) files.emplace_back("jobs.csv");
  return files;
}

Row row_of(const PublishedValue& v, const Verdict& verdict, const std::string& note) {
  return {{"figure", v.figure},
          {"point", static_cast<double>(v.point)},
          {"policy", v.policy},
          {"client", v.who()},
          {"metric", v.quantity()},
          {"relation", v.relation},
          {"published", v.published},
          {"measured", verdict.measured},
          {"relative_error", verdict.relative_error},
          {"class", v.class_name},
          {"group", v.group},
          {"verdict", verdict.verdict},
          {"note", note},
          {"printed", v.printed},
          {"published_to", v.published_to},
          {"as", v.as},
          {"take", v.take},
          {"last_point", v.take.empty() ? Cell() : Cell(static_cast<double>(v.last_point))},
          {"bound", name_of(verdict.certainty)}};
}

// Both are sorted by name.
std::vector<ReportedClient> reported_clients(const GroupRows& rows) {
  std::vector<ReportedClient> clients;
  for (std::size_t c = 0; c < rows.services.size(); ++c)
    clients.push_back({rows.services[c].first, rows.clients[c].second, rows.services[c].second});
  return clients;
}

void tell(TableSink& told, const Part& part, const GroupRows& rows) {
  if (!part.error.empty())
    return told.row(ResultTable::summary, part.point, part.name, "", {{"error", part.error}});
  told.row(ResultTable::summary, part.point, part.name, "", rows.summary);
  for (const auto& [client, row] : rows.clients)
    told.row(ResultTable::clients, part.point, part.name, client, row);
  for (const auto& [client, row] : rows.services)
    told.row(ResultTable::services, part.point, part.name, client, row);
  for (const Row& row : rows.replications)
    told.row(ResultTable::replications, part.point, part.name, "", row);
  for (const auto& [client, own] : rows.service_replications)
    for (const Row& row : own)
      told.row(ResultTable::service_replications, part.point, part.name, client, row);
}

// The points whose values are judged; of others nothing is kept in memory.
std::set<std::uint32_t> judged_points(const std::vector<PublishedValue>& published) {
  std::set<std::uint32_t> points;
  for (const PublishedValue& value : published) {
    for (std::uint32_t point = value.point; point <= value.last_point; ++point) points.insert(point);
    if (value.relative_to_point) points.insert(*value.relative_to_point);
  }
  return points;
}

}  // namespace

ResultFolder::ResultFolder(fs::path path, const Experiment& experiment, ResultKey key, bool force)
    : experiment_(&experiment),
      parts_(std::move(path), key, key.points.empty() ? files_of(experiment) : std::vector<std::string>{},
             force) {}

void ResultFolder::keep_jobs(std::uint64_t group, std::uint32_t replication, const std::string& rows) {
  parts_.store().keep_text(group, replication, rows);
}

void ResultFolder::keep(std::uint64_t group, std::uint32_t point, const std::string& policy,
                        const GroupRows& rows) {
  parts_.store().keep(
      group, {point, policy, rows.json().dump(), "", rows.events, static_cast<std::uint64_t>(rows.jobs)});
}

void ResultFolder::keep_failure(std::uint64_t group, std::uint32_t point, const std::string& policy,
                                const std::string& error) {
  parts_.store().keep(group, {point, policy, "", error});
}

// summary.csv, clients.csv, services.csv, replications.csv, service_replications.csv and jobs.csv, written
// group by group.
class ResultFolder::Tables {
 public:
  // `first` is any group that did not fail: they all have the same columns.
  Tables(const Experiment& experiment, const fs::path& folder, const GroupRows& first)
      : experiment_(experiment),
        summary_(folder / "summary.csv"),
        clients_(folder / "clients.csv"),
        metrics_(first.summary.size()) {
    const std::string key = "point,policy" + experiment.points.sweep().columns();
    summary_.write(fmt::format("{},{},error\n", key, csv_names(first.summary)));
    clients_.write(fmt::format("{},client,{}\n", key, csv_names(first.clients.front().second)));
    if (!first.services.empty()) {
      services_ = std::make_unique<NewFile>(folder / "services.csv");
      services_->write(fmt::format("{},client,{}\n", key, csv_names(first.services.front().second)));
    }
    if (!first.replications.empty()) {
      replications_ = std::make_unique<NewFile>(folder / "replications.csv");
      replications_->write(fmt::format("{},{}\n", key, csv_names(first.replications.front())));
    }
    if (!first.service_replications.empty()) {
      service_replications_ = std::make_unique<NewFile>(folder / "service_replications.csv");
      service_replications_->write(
          fmt::format("{},client,{}\n", key, csv_names(first.service_replications.front().second.front())));
    }
    if (!experiment.write_jobs) return;
    jobs_ = std::make_unique<NewFile>(folder / "jobs.csv");
    jobs_->write(job_columns(experiment));
  }

  void add(const Part& part, const GroupRows& rows) {
    const std::string key = key_of(part);
    if (!part.error.empty()) {
      summary_.write(fmt::format("{}{},{}\n", key, std::string(metrics_, ','), csv_field(part.error)));
      return;
    }
    summary_.write(fmt::format("{},{},\n", key, csv_values(rows.summary)));
    for (const auto& [client, row] : rows.clients)
      clients_.write(fmt::format("{},{},{}\n", key, client, csv_values(row)));
    for (const auto& [client, row] : rows.services)
      services_->write(fmt::format("{},{},{}\n", key, client, csv_values(row)));
    for (const Row& row : rows.replications)
      replications_->write(fmt::format("{},{}\n", key, csv_values(row)));
    for (const auto& [client, own] : rows.service_replications)
      for (const Row& row : own)
        service_replications_->write(fmt::format("{},{},{}\n", key, client, csv_values(row)));
  }

  void add_jobs(std::string_view rows) { jobs_->write(rows); }
  bool wants_jobs() const { return jobs_ != nullptr; }

  void put(ResultParts& parts) {
    parts.put("summary.csv", summary_);
    parts.put("clients.csv", clients_);
    if (services_) parts.put("services.csv", *services_);
    if (replications_) parts.put("replications.csv", *replications_);
    if (service_replications_) parts.put("service_replications.csv", *service_replications_);
    if (jobs_) parts.put("jobs.csv", *jobs_);
  }

 private:
  std::string key_of(const Part& part) const {
    return fmt::format("{},{}{}", part.point, part.name, experiment_.points.sweep().cells(part.point));
  }

  const Experiment& experiment_;
  NewFile summary_, clients_;
  std::unique_ptr<NewFile> services_, replications_, service_replications_, jobs_;
  std::size_t metrics_;
};

void ResultFolder::write_tables(Measured& measured, UnfinishedCells& unfinished, Findings& findings,
                                RunAccount& account, TableSink* told) {
  const auto parsed = [](const Part& part) { return GroupRows::from_json(Json::parse(part.rows)); };
  Tables tables(*experiment_, parts_.path(), parsed(*parts_.store().first()));
  const auto judged = judged_points(experiment_->published);
  SwitchingWarning switching;
  EqualReplications equal;
  parts_.store().each([&](std::uint64_t group, const Part& part) {
    const GroupRows rows = part.error.empty() ? parsed(part) : GroupRows{};
    tables.add(part, rows);
    if (told != nullptr) tell(*told, part, rows);
    if (part.error.empty()) {
      switching.add(part.point, part.name, rows.summary);
      equal.add(rows);
      account.scheduler.add(rows.summary);
      account.notes.insert(account.notes.end(), rows.notes.begin(), rows.notes.end());
      unfinished.add(part.point, part.name, rows);
    }
    if (findings.rows.size() < kMostReported)
      findings.rows.push_back({part.point, part.name, experiment_->points.sweep().values(part.point),
                               rows.summary, part.error, reported_clients(rows)});
    if (part.error.empty() && tables.wants_jobs())
      parts_.store().each_text(group, [&](std::string_view text) {
        tables.add_jobs(text);
        if (told != nullptr) told->jobs(text);
      });
    if (judged.count(part.point) == 0) return;
    for (const auto& [name, value] : rows.summary)
      measured.put(part.point, part.name, "", name, bounded_value(rows.summary, Level::point, name));
    for (const auto& [level, table] :
         {std::pair{Level::service, &rows.services}, std::pair{Level::client, &rows.clients}})
      for (const auto& [client, row] : *table)
        for (const auto& [name, value] : row)
          measured.put(part.point, part.name, client, name, bounded_value(row, level, name));
  });
  tables.put(parts_);
  for (const auto& warning : {switching.text(*experiment_), equal.text()})
    if (warning) findings.warnings.push_back(*warning);
  account.warnings = findings.warnings;
  if (std::string late = account.scheduler.warning(); !late.empty())
    account.warnings.push_back(std::move(late));
}

Findings ResultFolder::finish(RunAccount& account, TableSink* tables) {
  Findings findings;
  if (!parts_.store().first()) throw RunError("nothing could be played");
  Measured measured;
  UnfinishedCells unfinished;
  write_tables(measured, unfinished, findings, account, tables);
  findings.verdicts = judge(experiment_->published, measured);
  NewFile published(parts_.path() / "published.csv");
  published.write(csv_names(row_of({}, {}, "")) + "\n");
  for (std::size_t i = 0; i < findings.verdicts.size(); ++i) {
    const PublishedValue& value = experiment_->published[i];
    const Row row = row_of(value, findings.verdicts[i], unfinished.note(value, findings.verdicts[i]));
    published.write(csv_values(row) + "\n");
    if (tables != nullptr) tables->published(row);
  }
  parts_.put("published.csv", published);
  parts_.finish(manifest_of(account), account.failed > 0);
  return findings;
}

void ResultFolder::finish_part(const RunAccount& account) {
  parts_.finish(manifest_of(account), account.failed > 0);
}

Json ResultFolder::manifest_of(const RunAccount& account) const {
  Json manifest =
      manifest_json(experiment_->name, parts_.key(), experiment_->seed, experiment_->configuration, account);
  manifest["replications"] = experiment_->replications;
  return manifest;
}

}  // namespace gangway
