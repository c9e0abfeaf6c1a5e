// A comparison for programs.
#include <cmath>
#include <nlohmann/json.hpp>

#include "experiments/comparing/compare.hpp"
#include "experiments/results/bounded_value.hpp"

namespace gangway {
namespace {

using Json = nlohmann::ordered_json;

Json number(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json();
}

Json to_json(const Compared& c) {
  Json json{{"predicted", number(c.predicted)},
            {"measured", number(c.measured)},
            {"relative_error", number(c.relative_error())}};
  if (c.predicted_is != Certainty::exact) json["predicted_is"] = name_of(c.predicted_is);
  if (c.measured_is != Certainty::exact) json["measured_is"] = name_of(c.measured_is);
  return json;
}

Json to_json(const JobErrors& e) {
  if (e.jobs == 0) return {{"jobs", 0}};
  return {{"jobs", e.jobs}, {"p50", e.p50},   {"p90", e.p90},          {"mean", e.mean},
          {"max", e.max},   {"bias", e.bias}, {"bias_p50", e.bias_p50}};
}

Json to_json(const Unfinished& u) {
  return {{"prediction_only", u.predicted}, {"measurement_only", u.measured}, {"both", u.both}};
}

Json to_json(const ComparedFolder& folder) {
  return {{"path", folder.path}, {"experiment", folder.experiment}, {"world", folder.world}};
}

Json to_json(const GroupComparison& group) {
  Json json{{"point", group.point},
            {"policy", group.policy},
            {"ntt_error", to_json(group.ntt)},
            {"unfinished", to_json(group.unfinished)},
            {"starved", {{"predicted", group.starved.predicted}, {"measured", group.starved.measured}}}};
  for (const Compared& c : group.metrics) json[c.metric] = to_json(c);
  for (const DecisiveRun& run : group.decisive)
    json[run.metric]["decisive_run"] = {
        {"replication", run.replication}, {"permutation", run.permutation}, {"without", number(run.without)}};
  return json;
}

Json to_json(const ClientComparison& client) {
  Json json{{"point", client.point}, {"policy", client.policy}, {"client", client.client}};
  for (const Compared& c : client.metrics) json[c.metric] = to_json(c);
  return json;
}

Json to_json(const RankingComparison& ranking) {
  Json swapped = Json::array();
  for (const auto& [one, other] : ranking.swapped) swapped.push_back(Json::array({one, other}));
  return {{"point", ranking.point},
          {"metric", ranking.metric},
          {"equal", ranking.equal()},
          {"predicted", ranking.predicted},
          {"measured", ranking.measured},
          {"starved", {{"predicted", ranking.starved_predicted}, {"measured", ranking.starved_measured}}},
          {"failed", {{"predicted", ranking.failed_predicted}, {"measured", ranking.failed_measured}}},
          {"swapped", swapped}};
}

Json to_json(const Unmatched& unmatched) {
  return {{"file", unmatched.file},
          {"in", unmatched.in_prediction ? "prediction" : "measurement"},
          {"count", unmatched.count},
          {"first", unmatched.first}};
}

Json to_json(const Lacking& lacking) {
  return {{"point", lacking.point},
          {"policy", lacking.policy},
          {"in", lacking.in_prediction ? "prediction" : "measurement"},
          {"why", lacking.why}};
}

template <typename Rows>
Json list(const Rows& rows) {
  Json json = Json::array();
  for (const auto& row : rows) json.push_back(to_json(row));
  return json;
}

}  // namespace

Json to_json(const Comparison& comparison) {
  return {{"prediction", to_json(comparison.prediction)},
          {"measurement", to_json(comparison.measurement)},
          {"ntt_error", to_json(comparison.ntt)},
          {"unfinished", to_json(comparison.unfinished)},
          {"groups", list(comparison.groups)},
          {"clients", list(comparison.clients)},
          {"rankings", list(comparison.rankings)},
          {"unmatched", list(comparison.unmatched)},
          {"lacking", list(comparison.lacking)}};
}

}  // namespace gangway
