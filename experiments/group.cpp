#include "experiments/group.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "experiments/scheduler_row.hpp"

namespace gangway {
namespace {

std::optional<double> mean_of(const std::vector<double>& values) {
  return values.empty() ? std::nullopt : std::optional<double>(mean(values));
}

double sum(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

}  // namespace

nlohmann::ordered_json GroupRows::json() const {
  nlohmann::ordered_json json{{"summary", row_json(summary)}, {"events", events}, {"jobs", jobs}};
  json["clients"] = nlohmann::ordered_json::object();
  for (const auto& [name, row] : clients) json["clients"][name] = row_json(row);
  return json;
}

GroupRows GroupRows::from_json(const nlohmann::ordered_json& json) {
  GroupRows rows;
  rows.summary = row_from(json.at("summary"));
  rows.events = json.at("events").get<std::uint64_t>();
  rows.jobs = json.at("jobs").get<std::int64_t>();
  for (const auto& [name, row] : json.at("clients").items()) rows.clients.emplace_back(name, row_from(row));
  return rows;
}

void Group::add(const UnitResult& replication) {
  replications_.push_back(replication.metrics);
  slices_.push_back(replication.slices);
  if (replication.switching) switching_.push_back(*replication.switching);
  lateness_.add(replication.lateness);
  events_ += replication.events;
  for (std::size_t c = 0; c < names_.size(); ++c) {
    responses_[c].add(replication.responses[c]);
    all_responses_.add(replication.responses[c]);
  }
}

// Replications that have no value (no job finished) do not count.
template <typename Get>
std::vector<double> Group::over_replications(Get get) const {
  std::vector<double> values;
  for (const ReplicationMetrics& m : replications_)
    if (const double value = get(m); std::isfinite(value)) values.push_back(value);
  return values;
}

Row Group::client_row(std::size_t client) const {
  const auto values = [&](double ClientAverages::*member) {
    std::vector<double> out;
    for (const ReplicationMetrics& m : replications_)
      if (m.clients[client].jobs > 0 && std::isfinite(m.clients[client].*member))
        out.push_back(m.clients[client].*member);
    return out;
  };
  double jobs = 0;
  for (const ReplicationMetrics& m : replications_) jobs += static_cast<double>(m.clients[client].jobs);
  const auto ntt = values(&ClientAverages::ntt);
  const Percentiles& responses = responses_[client];
  Row row{{"ntt", mean_of(ntt)},
          {"ntt_ci95", half_width_95(ntt)},
          {"response_ns_mean", mean_of(values(&ClientAverages::response_ns))},
          {"response_ns_p99",
           responses.count() > 0 ? std::optional<double>(responses.at(0.99).ns) : std::nullopt},
          {"waiting_ns_mean", mean_of(values(&ClientAverages::waiting_ns))},
          {"evictions", mean_of(values(&ClientAverages::evictions))},
          {"standalone_ns", mean_of(values(&ClientAverages::standalone_ns))},
          {"jobs", jobs},
          {"eviction_delay_ns_mean", mean_of(values(&ClientAverages::eviction_delay_ns))}};
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

GroupRows Group::rows() const {
  const auto antt = over_replications([](const auto& m) { return m.antt; });
  const auto dntt = over_replications([](const auto& m) { return m.dntt; });
  const auto stp = over_replications([](const auto& m) { return m.stp; });
  const auto averaged = [&](double ReplicationMetrics::*member) {
    return mean_of(over_replications([&](const auto& m) { return m.*member; }));
  };
  const double evictions =
      sum(over_replications([](const auto& m) { return static_cast<double>(m.eviction_count); }));
  const double delay = sum(over_replications([](const auto& m) { return m.eviction_delay_ns; }));
  const double jobs = sum(over_replications([](const auto& m) { return static_cast<double>(m.jobs); }));
  const double unfinished =
      sum(over_replications([](const auto& m) { return static_cast<double>(m.unfinished); }));
  const auto percentile = [&](double share) {
    return all_responses_.count() > 0 ? std::optional<double>(all_responses_.at(share).ns) : std::nullopt;
  };
  GroupRows rows;
  rows.summary = {
      {"antt", mean_of(antt)},
      {"antt_ci95", half_width_95(antt)},
      {"dntt", mean_of(dntt)},
      {"dntt_ci95", half_width_95(dntt)},
      {"stp", mean_of(stp)},
      {"stp_ci95", half_width_95(stp)},
      {"makespan_ns", averaged(&ReplicationMetrics::makespan_ns)},
      {"evictions", averaged(&ReplicationMetrics::evictions)},
      {"eviction_delay_ns_mean", evictions > 0 ? std::optional<double>(delay / evictions) : std::nullopt},
      {"utilisation", averaged(&ReplicationMetrics::utilisation)},
      {"jain", averaged(&ReplicationMetrics::jain)},
      {"p99_response_ns", percentile(0.99)},
      {"p50_response_ns", percentile(0.5)},
      {"waiting_ns_mean", averaged(&ReplicationMetrics::waiting_ns)},
      {"concurrency_efficiency", averaged(&ReplicationMetrics::concurrency_efficiency)},
      {"launches", averaged(&ReplicationMetrics::launches)},
      {"jobs", jobs},
      {"unfinished", unfinished},
      {"switching", mean_of(switching_)}};
  for (std::size_t c = 0; c < names_.size(); ++c) rows.clients.emplace_back(names_[c], client_row(c));
  std::sort(rows.clients.begin(), rows.clients.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  double shortest = std::numeric_limits<double>::infinity();
  for (const auto& [client, row] : rows.clients)
    shortest = std::min(shortest, cell(row, "standalone_ns").number().value_or(shortest));
  add_lateness(rows.summary, lateness_, shortest);
  rows.events = events_;
  rows.jobs = static_cast<std::int64_t>(jobs);
  return rows;
}

}  // namespace gangway
