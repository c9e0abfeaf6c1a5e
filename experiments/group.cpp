#include "experiments/group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "experiments/scheduler_row.hpp"
#include "experiments/service_row.hpp"

namespace gangway {
namespace {

std::optional<double> mean_of(const std::vector<double>& values) {
  return values.empty() ? std::nullopt : std::optional<double>(mean(values));
}

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

double sum(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

}  // namespace

nlohmann::ordered_json GroupRows::json() const {
  nlohmann::ordered_json json{{"summary", row_json(summary)}, {"events", events}, {"jobs", jobs}};
  json["clients"] = json_of(clients);
  if (!services.empty()) json["services"] = json_of(services);
  if (!replications.empty()) json["replications"] = table_json(replications);
  for (const auto& [client, own] : service_replications)
    json["service_replications"][client] = table_json(own);
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
  each_replication_.push_back(numbered(number, alone.summary_row()));
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
  if (!replication.services.empty()) services_.push_back(replication.services);
  if (replication.switching) switching_.push_back(*replication.switching);
  evictions_.resize(replication.evictions_by_gpu.size());
  for (std::size_t gpu = 0; gpu < evictions_.size(); ++gpu)
    evictions_[gpu] += replication.evictions_by_gpu[gpu];
  lateness_.add(replication.lateness);
  events_ += replication.events;
  all_responses_.add(all);
}

void Group::take_responses(const UnitResult& replication) {
  for (std::size_t c = 0; c < names_.size(); ++c) responses_[c].add(replication.responses[c]);
}

bool Group::starved(std::size_t client) const {
  return std::any_of(replications_.begin(), replications_.end(),
                     [&](const ReplicationMetrics& m) { return m.clients[client].starved(); });
}

// Names have no '|'.
std::string Group::starved_clients() const {
  std::vector<std::string> starved_names;
  for (std::size_t c = 0; c < names_.size(); ++c)
    if (starved(c)) starved_names.push_back(names_[c]);
  std::sort(starved_names.begin(), starved_names.end());
  return fmt::format("{}", fmt::join(starved_names, "|"));
}

// "1.5|0": of each GPU the mean over runs.
Cell Group::evictions_by_gpu() const {
  std::vector<std::string> means;
  for (const double sum : evictions_)
    means.push_back(Cell(sum / static_cast<double>(replications_.size())).csv());
  return fmt::format("{}", fmt::join(means, "|"));
}

// None where a replication has no value: of the rest alone it would flatter.
template <typename Get>
std::vector<double> Group::over_replications(Get get) const {
  std::vector<double> values;
  for (const ReplicationMetrics& m : replications_) values.push_back(static_cast<double>(get(m)));
  if (!std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); })) return {};
  return values;
}

double Group::total(std::size_t client, std::int64_t ClientAverages::*member) const {
  return sum(over_replications([&](const auto& m) { return m.clients[client].*member; }));
}

// What is averaged over the jobs of a client has no value where it starved.
Row Group::client_row(std::size_t client) const {
  const auto known = [&](double ClientAverages::*member) {
    std::vector<double> out;
    for (const ReplicationMetrics& m : replications_)
      if (m.clients[client].jobs > 0 && std::isfinite(m.clients[client].*member))
        out.push_back(m.clients[client].*member);
    return out;
  };
  const auto values = [&](double ClientAverages::*member) {
    return starved(client) ? std::vector<double>() : known(member);
  };
  const auto ntt = values(&ClientAverages::ntt);
  const auto response = values(&ClientAverages::response_ns);
  const ResponsePercentiles none;
  const ResponsePercentiles& responses = starved(client) ? none : responses_[client];
  Row row{{"ntt", mean_of(ntt)},
          {"ntt_ci95", half_width_95(ntt)},
          {"response_ns_mean", mean_of(response)},
          {"response_ns_p99", responses.percentile(0.99)},
          {"waiting_ns_mean", mean_of(values(&ClientAverages::waiting_ns))},
          {"evictions", mean_of(values(&ClientAverages::evictions))},
          {"standalone_ns", mean_of(known(&ClientAverages::standalone_ns))},
          {"jobs", total(client, &ClientAverages::jobs)},
          {"eviction_delay_ns_mean", mean_of(values(&ClientAverages::eviction_delay_ns))},
          {"response_ns_mean_ci95", half_width_95(response)},
          {"response_ns_p99_ci95", responses.ci95(0.99)},
          {"percentiles", responses.kind()},
          {"unfinished", total(client, &ClientAverages::unfinished)},
          {"starved_runs", total(client, &ClientAverages::starved_runs)}};
  if (slices_.front().empty()) return row;
  const auto over = [&](double SliceUse::*member) {
    std::vector<double> out;
    for (const std::vector<SliceUse>& replication : slices_)
      if (std::isfinite(replication[client].*member)) out.push_back(replication[client].*member);
    return mean_of(out);
  };
  row.emplace_back("slice_share", over(&SliceUse::share));
  row.emplace_back("slices_in_a_row", over(&SliceUse::in_a_row));
  return row;
}

std::vector<ServiceMetrics> Group::services_of(std::size_t client) const {
  std::vector<ServiceMetrics> of_client;
  for (const std::vector<ServiceMetrics>& replication : services_) of_client.push_back(replication[client]);
  return of_client;
}

Row Group::summary_row() const {
  const auto values = [&](auto ReplicationMetrics::*member) {
    return over_replications([&](const auto& m) { return m.*member; });
  };
  const auto averaged = [&](double ReplicationMetrics::*member) { return mean_of(values(member)); };
  const auto antt = values(&ReplicationMetrics::antt);
  const auto dntt = values(&ReplicationMetrics::dntt);
  const auto stp = values(&ReplicationMetrics::stp);
  const double evictions = sum(values(&ReplicationMetrics::eviction_count));
  const double delay = sum(values(&ReplicationMetrics::eviction_delay_ns));
  const double jobs = sum(values(&ReplicationMetrics::jobs));
  Row row{{"antt", mean_of(antt)},
          {"antt_ci95", half_width_95(antt)},
          {"dntt", mean_of(dntt)},
          {"dntt_ci95", half_width_95(dntt)},
          {"stp", mean_of(stp)},
          {"stp_ci95", half_width_95(stp)},
          {"makespan_ns", averaged(&ReplicationMetrics::makespan_ns)},
          {"evictions", averaged(&ReplicationMetrics::evictions)},
          {"eviction_delay_ns_mean", evictions > 0 ? Cell(delay / evictions) : Cell()},
          {"utilisation", averaged(&ReplicationMetrics::utilisation)},
          {"jain", averaged(&ReplicationMetrics::jain)},
          {"p99_response_ns", all_responses_.percentile(0.99)},
          {"p50_response_ns", all_responses_.percentile(0.5)},
          {"waiting_ns_mean", averaged(&ReplicationMetrics::waiting_ns)},
          {"concurrency_efficiency", averaged(&ReplicationMetrics::concurrency_efficiency)},
          {"launches", averaged(&ReplicationMetrics::launches)},
          {"jobs", jobs},
          {"unfinished", sum(values(&ReplicationMetrics::unfinished))},
          {"switching", mean_of(switching_)},
          {"starved", starved_clients()},
          {"percentiles", all_responses_.kind()},
          {"p99_response_ns_ci95", all_responses_.ci95(0.99)}};
  if (!evictions_.empty()) row.emplace_back("evictions_by_gpu", evictions_by_gpu());
  return row;
}

// By client name, sorted; empty where services are not counted.
NamedRows Group::service_rows() const {
  NamedRows rows;
  for (std::size_t c = 0; !services_.empty() && c < names_.size(); ++c)
    rows.emplace_back(names_[c], service_row(services_of(c), responses_[c], total(c, &ClientAverages::jobs),
                                             total(c, &ClientAverages::unfinished),
                                             total(c, &ClientAverages::starved_runs)));
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return rows;
}

GroupRows Group::rows() const {
  GroupRows rows;
  rows.summary = summary_row();
  for (std::size_t c = 0; c < names_.size(); ++c) rows.clients.emplace_back(names_[c], client_row(c));
  std::sort(rows.clients.begin(), rows.clients.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  rows.services = service_rows();
  double shortest = std::numeric_limits<double>::infinity();
  for (const auto& [client, row] : rows.clients)
    shortest = std::min(shortest, cell(row, "standalone_ns").number().value_or(shortest));
  add_lateness(rows.summary, lateness_, shortest);
  rows.replications = each_replication_;
  rows.service_replications = each_service_;
  rows.events = events_;
  rows.jobs = static_cast<std::int64_t>(cell(rows.summary, "jobs").number().value_or(0));
  return rows;
}

}  // namespace gangway
