// Differences for programs.
#include <cmath>
#include <nlohmann/json.hpp>

#include "experiments/comparing/differences.hpp"
#include "experiments/results/bounded_value.hpp"

namespace gangway {
namespace {

using Json = nlohmann::ordered_json;

Json finite(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json();
}

Json json_row(const SampleMean& sample) {
  return {{"replications", sample.replications},
          {"mean", finite(sample.mean)},
          {"is", name_of(sample.is)},
          {"ci95", finite(sample.half_width)}};
}

Json json_row(const ReplicatedFolder& side) {
  return {{"path", side.folder.path},
          {"experiment", side.folder.experiment},
          {"world", side.folder.world},
          {"seed", side.seed ? Json(*side.seed) : Json()},
          {"replications", side.replications}};
}

Json json_row(const MetricDifference& row, const Differences& all) {
  const auto of_test = [&](double TTest::*member) { return row.test ? Json((*row.test).*member) : Json(); };
  return {{"point", row.point},
          {"policy", row.policy},
          {"client", row.client.empty() ? Json() : Json(row.client)},
          {"metric", row.metric},
          {"a", json_row(row.a)},
          {"b", json_row(row.b)},
          {"difference", finite(row.difference)},
          {"relative", finite(row.relative())},
          {"low", of_test(&TTest::low)},
          {"high", of_test(&TTest::high)},
          {"t", of_test(&TTest::t)},
          {"degrees", of_test(&TTest::degrees)},
          {"p", of_test(&TTest::p)},
          {"p_holm", finite(row.p_holm)},
          {"at_least", row.at_least},
          {"finding", name_of(row.finding)},
          {"words", in_words(row, all)}};
}

}  // namespace

Json to_json(const Differences& differences) {
  Json rows = Json::array();
  for (const MetricDifference& row : differences.rows) rows.push_back(json_row(row, differences));
  return {{"a", json_row(differences.a)},
          {"b", json_row(differences.b)},
          {"baseline", differences.baseline.empty() ? Json() : Json(differences.baseline)},
          {"test", differences.paired ? "paired" : "welch"},
          {"tests", differences.tests()},
          {"significant", differences.count(Finding::significant)},
          {"conclusions", conclusions(differences)},
          {"left_out", differences.left_out},
          {"understated", differences.understated},
          {"rows", rows}};
}

}  // namespace gangway
