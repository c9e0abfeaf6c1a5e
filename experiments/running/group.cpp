#include "experiments/running/group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "experiments/metrics/over_replications.hpp"

namespace gangway {
namespace {

nlohmann::ordered_json json_of(const NamedRows& rows) {
  auto json = nlohmann::ordered_json::object();
  for (const auto& [name, row] : rows) json[name] = row_json(row);
  return json;
}

NamedRows named_rows_from(const nlohmann::ordered_json& json) {
  NamedRows rows;
  for (const auto& [name, row] : json.items()) rows.emplace_back(name, row_from(row));
  return rows;
}

// Rows of the same columns as {"columns": [...], "rows": [[...], ...]}: there may be many.
nlohmann::ordered_json table_json(const std::vector<Row>& rows) {
  auto columns = nlohmann::ordered_json::array(), values = nlohmann::ordered_json::array();
  for (const auto& [name, value] : rows.front()) columns.push_back(name);
  for (const Row& row : rows) {
    auto& cells = values.emplace_back(nlohmann::ordered_json::array());
    for (const auto& [name, value] : row) cells.push_back(value.json());
  }
  return {{"columns", columns}, {"rows", values}};
}

std::vector<Row> table_from(const nlohmann::ordered_json& json) {
  const auto names = json.at("columns").get<std::vector<std::string>>();
  std::vector<Row> rows;
  for (const auto& cells : json.at("rows")) {
    Row& row = rows.emplace_back();
    for (std::size_t c = 0; c < names.size(); ++c) row.emplace_back(names[c], Cell::from_json(cells.at(c)));
  }
  return rows;
}

// A row of one replication: its number first; of one value there is no interval.
Row numbered(std::size_t replication, Row row) {
  std::erase_if(row, [](const auto& column) { return column.first.ends_with("_ci95"); });
  row.emplace(row.begin(), "replication", static_cast<double>(replication));
  return row;
}

}  // namespace

nlohmann::ordered_json GroupRows::json() const {
  nlohmann::ordered_json json{{"summary", row_json(summary)}, {"events", events}, {"jobs", jobs}};
  json["clients"] = json_of(clients);
  if (!services.empty()) json["services"] = json_of(services);
  if (!replications.empty()) json["replications"] = table_json(replications);
  for (const auto& [client, own] : service_replications)
    json["service_replications"][client] = table_json(own);
  if (!notes.empty()) json["notes"] = notes;
  return json;
}

GroupRows GroupRows::from_json(const nlohmann::ordered_json& json) {
  GroupRows rows;
  rows.summary = row_from(json.at("summary"));
  rows.events = json.at("events").get<std::uint64_t>();
  rows.jobs = json.at("jobs").get<std::int64_t>();
  rows.clients = named_rows_from(json.at("clients"));
  if (const auto services = json.find("services"); services != json.end())
    rows.services = named_rows_from(*services);
  if (const auto each = json.find("replications"); each != json.end()) rows.replications = table_from(*each);
  if (const auto each = json.find("service_replications"); each != json.end())
    for (const auto& [client, own] : each->items())
      rows.service_replications.emplace_back(client, table_from(own));
  if (const auto notes = json.find("notes"); notes != json.end())
    rows.notes = notes->get<std::vector<std::string>>();
  return rows;
}

Group::Group(std::vector<std::string> client_names, bool services, bool each)
    : names_(std::move(client_names)),
      each_(each),
      responses_(names_.size(),
                 services ? ResponsePercentiles(service_percentiles()) : ResponsePercentiles()) {}

// A group of this replication alone: what is none, starved or a lower bound is so by the same rules.
void Group::keep_alone(const UnitResult& replication, const ResponseTimes& all) {
  Group alone(names_, !replication.services.empty());
  alone.take(replication, all);
  const std::size_t number = replications_.size();
  each_replication_.push_back(numbered(number, alone.summary_row(alone.point_sample())));
  if (replication.services.empty()) return;
  alone.take_responses(replication);
  const NamedRows services = alone.service_rows();
  each_service_.resize(services.size());
  for (std::size_t c = 0; c < services.size(); ++c) {
    each_service_[c].first = services[c].first;
    each_service_[c].second.push_back(numbered(number, services[c].second));
  }
}

void Group::add(const UnitResult& replication) {
  ResponseTimes all;
  for (const ResponseTimes& client : replication.responses) all.add(client);
  if (each_) keep_alone(replication, all);
  take(replication, all);
  take_responses(replication);
}

// What makes the summary's row; `all`: response times of all clients.
void Group::take(const UnitResult& replication, const ResponseTimes& all) {
  replications_.push_back(replication.metrics);
  slices_.push_back(replication.slices);
  kernel_evictions_.push_back(replication.kernel_evictions);
  if (!replication.services.empty()) services_.push_back(replication.services);
  if (replication.switching) switching_.push_back(*replication.switching);
  evictions_.resize(replication.evictions_by_gpu.size());
  for (std::size_t gpu = 0; gpu < evictions_.size(); ++gpu)
    evictions_[gpu] += replication.evictions_by_gpu[gpu];
  lateness_.add(replication.lateness);
  notes_.insert(notes_.end(), replication.notes.begin(), replication.notes.end());
  events_ += replication.events;
  all_responses_.add(all);
}

void Group::take_responses(const UnitResult& replication) {
  for (std::size_t c = 0; c < names_.size(); ++c) responses_[c].add(replication.responses[c]);
}

double Group::total(std::size_t client, std::int64_t ClientAverages::*member) const {
  return sum_of(over_replications(replications_,
                                  [&](const ReplicationMetrics& m) { return m.clients[client].*member; }));
}

PointSample Group::point_sample() const {
  return {names_, replications_, all_responses_, switching_, evictions_};
}

Row Group::summary_row(const PointSample& sample) const {
  Row row;
  add_metrics(row, sample);
  return row;
}

Row Group::client_row(std::size_t client) const {
  const ResponsePercentiles none;
  ClientSample sample{client, replications_, responses_[client], slices_, kernel_evictions_};
  Row row;
  if (sample.starved())
    add_metrics(row, ClientSample{client, replications_, none, slices_, kernel_evictions_});
  else
    add_metrics(row, sample);
  return row;
}

Row Group::service_row(std::size_t client) const {
  std::vector<ServiceMetrics> own;
  for (const std::vector<ServiceMetrics>& replication : services_) own.push_back(replication[client]);
  const double starved_runs = total(client, &ClientAverages::starved_runs);
  const ResponsePercentiles none(service_percentiles());
  Row row;
  add_metrics(row, ServiceSample{own, starved_runs > 0 ? none : responses_[client],
                                 total(client, &ClientAverages::jobs),
                                 total(client, &ClientAverages::unfinished), starved_runs});
  return row;
}

// By client name, sorted; empty where services are not counted.
NamedRows Group::service_rows() const {
  NamedRows rows;
  for (std::size_t c = 0; !services_.empty() && c < names_.size(); ++c)
    rows.emplace_back(names_[c], service_row(c));
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return rows;
}

GroupRows Group::rows() const {
  GroupRows rows;
  for (std::size_t c = 0; c < names_.size(); ++c) rows.clients.emplace_back(names_[c], client_row(c));
  std::sort(rows.clients.begin(), rows.clients.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  rows.services = service_rows();
  double shortest = std::numeric_limits<double>::infinity();
  for (const auto& [client, row] : rows.clients)
    shortest = std::min(shortest, cell(row, "standalone_ns").number().value_or(shortest));
  PointSample sample = point_sample();
  sample.lateness = &lateness_;
  sample.shortest_alone_ns = shortest;
  rows.summary = summary_row(sample);
  rows.replications = each_replication_;
  rows.service_replications = each_service_;
  rows.events = events_;
  rows.notes = notes_;
  rows.jobs = static_cast<std::int64_t>(cell(rows.summary, "jobs").number().value_or(0));
  return rows;
}

}  // namespace gangway
