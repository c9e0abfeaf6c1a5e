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

using NamedRows = std::vector<std::pair<std::string, Row>>;

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

double sum(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

}  // namespace

nlohmann::ordered_json GroupRows::json() const {
  nlohmann::ordered_json json{{"summary", row_json(summary)}, {"events", events}, {"jobs", jobs}};
  json["clients"] = json_of(clients);
  if (!services.empty()) json["services"] = json_of(services);
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
  return rows;
}

Group::Group(std::vector<std::string> client_names, bool services)
    : names_(std::move(client_names)),
      responses_(names_.size(),
                 services ? ResponsePercentiles(service_percentiles()) : ResponsePercentiles()) {}

void Group::add(const UnitResult& replication) {
  replications_.push_back(replication.metrics);
  slices_.push_back(replication.slices);
  if (!replication.services.empty()) services_.push_back(replication.services);
  if (replication.switching) switching_.push_back(*replication.switching);
  evictions_.resize(replication.evictions_by_gpu.size());
  for (std::size_t gpu = 0; gpu < evictions_.size(); ++gpu)
    evictions_[gpu] += replication.evictions_by_gpu[gpu];
  lateness_.add(replication.lateness);
  events_ += replication.events;
  ResponseTimes all;
  for (std::size_t c = 0; c < names_.size(); ++c) {
    responses_[c].add(replication.responses[c]);
    all.add(replication.responses[c]);
  }
  all_responses_.add(all);
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
  const auto total = [&](std::int64_t ClientAverages::*member) {
    return sum(over_replications([&](const auto& m) { return m.clients[client].*member; }));
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
          {"jobs", total(&ClientAverages::jobs)},
          {"eviction_delay_ns_mean", mean_of(values(&ClientAverages::eviction_delay_ns))},
          {"response_ns_mean_ci95", half_width_95(response)},
          {"response_ns_p99_ci95", responses.ci95(0.99)},
          {"percentiles", responses.kind()},
          {"unfinished", total(&ClientAverages::unfinished)},
          {"starved_runs", total(&ClientAverages::starved_runs)}};
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

GroupRows Group::rows() const {
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
  GroupRows rows;
  rows.summary = {{"antt", mean_of(antt)},
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
  for (std::size_t c = 0; c < names_.size(); ++c) {
    rows.clients.emplace_back(names_[c], client_row(c));
    const auto of_client = [&](const char* column) {
      return cell(rows.clients.back().second, column).number().value_or(0);
    };
    if (!services_.empty())
      rows.services.emplace_back(names_[c], service_row(services_of(c), responses_[c], of_client("jobs"),
                                                        of_client("unfinished"), of_client("starved_runs")));
  }
  for (auto* const table : {&rows.clients, &rows.services})
    std::sort(table->begin(), table->end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  double shortest = std::numeric_limits<double>::infinity();
  for (const auto& [client, row] : rows.clients)
    shortest = std::min(shortest, cell(row, "standalone_ns").number().value_or(shortest));
  if (!evictions_.empty()) rows.summary.emplace_back("evictions_by_gpu", evictions_by_gpu());
  add_lateness(rows.summary, lateness_, shortest);
  rows.events = events_;
  rows.jobs = static_cast<std::int64_t>(jobs);
  return rows;
}

}  // namespace gangway
