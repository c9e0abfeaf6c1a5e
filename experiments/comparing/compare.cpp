#include "experiments/comparing/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "experiments/comparing/compared_folder.hpp"
#include "experiments/comparing/compared_jobs.hpp"
#include "experiments/comparing/compared_rows.hpp"
#include "experiments/metrics/catalogue.hpp"
#include "models/error.hpp"
#include "models/nearest.hpp"
#include "models/quantity.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;
using namespace compared;

// What a limit may be set to.
std::vector<std::string> limited() {
  std::vector<std::string> names = metric_names(Level::point, [](const Metric& m) { return m.ranked; });
  names.insert(names.begin(), {"ntt_p50", "ntt_p90"});
  names.emplace_back("ranking");
  return names;
}

std::string key_text(const GroupKey& key) { return fmt::format("{} {}", key.first, key.second); }
std::string key_text(const ClientKey& key) {
  return fmt::format("{} {} {}", std::get<0>(key), std::get<1>(key), std::get<2>(key));
}

template <typename Rows, typename Both>
void match(const std::string& file, const Rows& a, const Rows& b, Both both,
           std::vector<Unmatched>& unmatched) {
  UnmatchedRows only_a(file, true), only_b(file, false);
  merge(
      a, b, [](const auto& row) -> const auto& { return row.first; }, both,
      [&](const auto& row) { only_a.add([&] { return key_text(row.first); }); },
      [&](const auto& row) { only_b.add([&] { return key_text(row.first); }); });
  only_a.report(unmatched);
  only_b.report(unmatched);
}

void check_swept(const Folder& a, const Folder& b, const SummaryRow& in_a, const SummaryRow& in_b) {
  for (std::size_t s = 0; s < a.swept.size(); ++s)
    if (in_a.swept[s] != in_b.swept[s])
      throw InputError({(b.path / "summary.csv").string(), in_b.line}, b.swept[s], quote(in_b.swept[s]),
                       fmt::format("{} as in {}", quote(in_a.swept[s]), a.path.string()));
}

// Folders of older programs have none.
void check_names(const Folder& a, const Folder& b) {
  if (a.about.experiment.empty() || b.about.experiment.empty()) return;
  if (a.about.experiment != b.about.experiment)
    throw InputError({(b.path / "manifest.json").string(), 0}, "experiment", quote(b.about.experiment),
                     fmt::format("{} as in {}", quote(a.about.experiment), a.path.string()));
}

// Values of metrics that are defined in another way are others.
void check_definitions(const Folder& a, const Folder& b) {
  for (const auto& [key, in_a, in_b] : {std::tuple("sigma", &a.about.sigma, &b.about.sigma),
                                        std::tuple("standalone", &a.about.standalone, &b.about.standalone)})
    if (*in_a != *in_b)
      throw InputError({(b.path / "manifest.json").string(), 0}, std::string("configuration.") + key,
                       quote(*in_b), fmt::format("{} as in {}", quote(*in_a), a.path.string()));
}

// Points and policies with a result in `there` and none in `here`.
void find_lacking(const Folder& here, const Folder& there, bool in_prediction,
                  std::vector<Lacking>& lacking) {
  for (const auto& [key, row] : there.summary) {
    if (!row.has_result()) continue;
    const auto found = here.summary.find(key);
    if (found != here.summary.end() && found->second.has_result()) continue;
    std::string why = found == here.summary.end() ? "missing" : "failed";
    if (why == "failed" && !found->second.error.empty()) why += ": " + found->second.error;
    lacking.push_back({key.first, key.second, in_prediction, why});
  }
}

std::vector<Lacking> all_lacking(const Folder& a, const Folder& b) {
  std::vector<Lacking> lacking;
  find_lacking(a, b, true, lacking);
  find_lacking(b, a, false, lacking);
  std::sort(lacking.begin(), lacking.end(), [](const Lacking& one, const Lacking& other) {
    return std::tie(one.point, one.policy) < std::tie(other.point, other.policy);
  });
  return lacking;
}

void match_summaries(const Folder& a, const Folder& b, Comparison& out) {
  const std::string file = (b.path / "summary.csv").string();
  if (a.swept != b.swept)
    throw InputError({file, 1}, "columns", fmt::format("swept '{}'", fmt::join(b.swept, ",")),
                     fmt::format("'{}' as in {}", fmt::join(a.swept, ","), a.path.string()));
  match(
      "summary.csv", a.summary, b.summary,
      [&](const auto& in_a, const auto& in_b) {
        check_swept(a, b, in_a.second, in_b.second);
        GroupComparison group;
        std::tie(group.point, group.policy) = in_a.first;
        group.metrics = both_sides(in_a.second.values, in_b.second.values);
        group.starved = {in_a.second.starved, in_b.second.starved};
        out.groups.push_back(std::move(group));
      },
      out.unmatched);
  if (out.groups.empty())
    throw InputError(
        fmt::format("{}: found no point and policy of {}, expected results of the same experiment", file,
                    a.path.string()));
}

void match_clients(const Folder& a, const Folder& b, Comparison& out) {
  match(
      "clients.csv", a.clients, b.clients,
      [&](const auto& in_a, const auto& in_b) {
        ClientComparison client;
        std::tie(client.point, client.policy, client.client) = in_a.first;
        client.metrics = both_sides(in_a.second, in_b.second);
        out.clients.push_back(std::move(client));
      },
      out.unmatched);
}

const Compared& named(const std::vector<Compared>& metrics, const std::string& name) {
  return *std::find_if(metrics.begin(), metrics.end(), [&](const Compared& c) { return c.metric == name; });
}

// ---- limits

constexpr double kInfinite = std::numeric_limits<double>::infinity();

std::optional<double> largest_error(const Comparison& comparison, const std::string& metric) {
  std::optional<double> largest;
  for (const GroupComparison& group : comparison.groups) {
    const Compared& values = group.metric(metric);
    if (!group.starved.equal() || values.predicted.has_value() != values.measured.has_value() ||
        values.bound())
      return kInfinite;
    if (const auto error = values.relative_error()) largest = std::max(largest.value_or(0), std::abs(*error));
  }
  return largest;
}

}  // namespace

double relative_error(double predicted, double measured) {
  if (predicted == measured) return 0;
  if (measured == 0) return std::numeric_limits<double>::infinity();
  return (predicted - measured) / measured;
}

const Compared& GroupComparison::metric(const std::string& name) const { return named(metrics, name); }
const Compared& ClientComparison::metric(const std::string& name) const { return named(metrics, name); }

std::optional<double> Compared::relative_error() const {
  if (!predicted || !measured || bound()) return std::nullopt;
  return gangway::relative_error(*predicted, *measured);
}

Comparison compare_folders(const fs::path& prediction, const fs::path& measurement) {
  const Folder a = read_folder(prediction), b = read_folder(measurement);
  check_names(a, b);
  check_definitions(a, b);
  Comparison out;
  out.prediction = a.about;
  out.measurement = b.about;
  match_summaries(a, b, out);
  match_clients(a, b, out);
  if (a.about.has_jobs && b.about.has_jobs) match_jobs(a, b, out);
  out.rankings = rankings_of(out.groups);
  out.lacking = all_lacking(a, b);
  return out;
}

std::vector<Limit> parse_limits(const std::string& option, std::string_view text) {
  const std::vector<std::string> known = limited();
  std::vector<Limit> limits;
  for (bool more = true; more;) {
    const std::size_t comma = text.find(',');
    const std::string_view entry = text.substr(0, comma);
    more = comma != std::string_view::npos;
    if (more) text.remove_prefix(comma + 1);
    const std::size_t equals = entry.find('=');
    const std::string metric(entry.substr(0, equals));
    if (std::find(known.begin(), known.end(), metric) == known.end())
      throw InputError({option, 0}, "metric", quote(metric), expected_names(metric, known));
    Limit limit{metric, 0};
    ParseFailure why;
    const std::string_view value = equals == std::string_view::npos ? "" : entry.substr(equals + 1);
    if (!parse_share(value, limit.most, why) || !(limit.most >= 0) || !std::isfinite(limit.most))
      throw InputError({option, 0}, metric, quote(std::string(value)), "a number from 0, or a percentage");
    limits.push_back(limit);
  }
  return limits;
}

bool clients_differ(const Comparison& comparison) {
  return std::any_of(comparison.unmatched.begin(), comparison.unmatched.end(),
                     [](const Unmatched& rows) { return rows.file == "clients.csv"; });
}

std::optional<double> value_of(const Comparison& comparison, const std::string& metric) {
  const bool of_jobs = metric == "ntt_p50" || metric == "ntt_p90";
  if (of_jobs && !(comparison.prediction.has_jobs && comparison.measurement.has_jobs)) return std::nullopt;
  if (!comparison.lacking.empty() || clients_differ(comparison)) return kInfinite;
  if (metric == "ranking") {
    if (comparison.rankings.empty()) return std::nullopt;
    return static_cast<double>(std::count_if(comparison.rankings.begin(), comparison.rankings.end(),
                                             [](const RankingComparison& r) { return !r.equal(); }));
  }
  if (!of_jobs) return largest_error(comparison, metric);
  const Unfinished& unfinished = comparison.unfinished;
  if (comparison.ntt.jobs + unfinished.predicted + unfinished.measured + unfinished.absent == 0)
    return std::nullopt;
  return metric == "ntt_p50" ? comparison.ntt.limit_p50 : comparison.ntt.limit_p90;
}

}  // namespace gangway
