#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command_tree.hpp"
#include "cli/commands.hpp"
#include "experiments/comparing/compare.hpp"
#include "experiments/comparing/differences.hpp"
#include "experiments/metrics/catalogue.hpp"
#include "experiments/results/bounded_value.hpp"
#include "experiments/results/manifest.hpp"
#include "models/error.hpp"
#include "models/fit/location.hpp"
#include "models/standard_error.hpp"

namespace gangway {
namespace {

constexpr std::size_t kMostRows = 60;
constexpr std::size_t kMostClients = 10;
constexpr double kOffAlone = 0.02;
constexpr std::size_t kMostRankings = 20;
constexpr std::size_t kMostLacking = 10;
constexpr std::size_t kMostNotes = 20;

struct CompareArguments {
  std::string prediction, measurement, limits, baseline, metrics;
  bool json = false;
};

struct Exceeded {
  Limit limit;
  double value;
};

std::vector<Exceeded> exceeded(const Comparison& comparison, const std::vector<Limit>& limits) {
  std::vector<Exceeded> out;
  for (const Limit& limit : limits) {
    for (const ComparedFolder* folder : {&comparison.prediction, &comparison.measurement})
      if (limit.metric.starts_with("ntt_") && !folder->has_jobs)
        throw InputError(
            {folder->path, 0}, "jobs.csv", "no such table",
            fmt::format("one for --fail-above {}, from an experiment without `jobs: false`", limit.metric));
    const auto value = value_of(comparison, limit.metric);
    if (!value)
      throw InputError({"--fail-above", 0}, limit.metric, "no such result in both folders",
                       "folders that have it");
    if (*value > limit.most) out.push_back({limit, *value});
  }
  return out;
}

std::string percent(const std::optional<double>& share) {
  if (!share) return "-";
  return std::isfinite(*share) ? fmt::format("{:+.1f}", 100 * *share) : "inf";
}

void print_job_errors(const JobErrors& errors) {
  if (errors.jobs == 0)
    fmt::print(" {:>8} {:>6} {:>6} {:>6} {:>6}", 0, "-", "-", "-", "-");
  else
    fmt::print(" {:>8} {:>6.1f} {:>6.1f} {:>6.1f} {:>6}", errors.jobs, 100 * errors.p50, 100 * errors.p90,
               100 * errors.max, percent(errors.bias));
}

bool starves(const GroupComparison& group) {
  return !group.starved.predicted.empty() || !group.starved.measured.empty();
}

std::string shown(const GroupComparison& group, const Compared& metric) {
  if (metric_of(Level::point, metric.metric).ranked && starves(group)) return "starved";
  return metric.bound() ? "bound" : percent(metric.relative_error());
}

std::string listed(const std::vector<std::string>& names) {
  return names.empty() ? "nobody" : fmt::format("{}", fmt::join(names, " "));
}

void print_starved(const Comparison& comparison) {
  std::size_t printed = 0;
  for (const GroupComparison& group : comparison.groups) {
    if (!starves(group) || printed++ >= kMostRows) continue;
    fmt::print("starved at point {} under {}: predicted {}; measured {}\n", group.point, group.policy,
               listed(group.starved.predicted), listed(group.starved.measured));
  }
  if (printed > kMostRows) fmt::print("  ... {} more with --json\n", printed - kMostRows);
}

void print_groups(const Comparison& comparison) {
  std::size_t width = 14;
  for (const GroupComparison& group : comparison.groups) width = std::max(width, group.policy.size());
  fmt::print("{:>5}  {:<{}} {:>8} {:>6} {:>6} {:>6} {:>6}", "point", "policy", width, "jobs", "p50", "p90",
             "max", "bias");
  for (const Metric* metric : metrics_of(Level::point))
    if (metric->compared) fmt::print(" {:>9}", metric->short_label());
  fmt::print("\n");
  for (std::size_t i = 0; i < std::min(comparison.groups.size(), kMostRows); ++i) {
    const GroupComparison& group = comparison.groups[i];
    fmt::print("{:>5}  {:<{}}", group.point, group.policy, width);
    print_job_errors(group.ntt);
    for (const Compared& metric : group.metrics)
      fmt::print(" {:>{}}", shown(group, metric),
                 std::max<std::size_t>(9, metric_of(Level::point, metric.metric).short_label().size()));
    fmt::print("\n");
  }
  if (comparison.groups.size() > kMostRows)
    fmt::print("  ... {} more rows with --json\n", comparison.groups.size() - kMostRows);
  fmt::print("{:>5}  {:<{}}", "all", "", width);
  print_job_errors(comparison.ntt);
  fmt::print("\n");
}

// Errors that rest on a single run say little.
void print_decisive(const Comparison& comparison) {
  std::size_t printed = 0;
  for (const GroupComparison& group : comparison.groups)
    for (const DecisiveRun& run : group.decisive) {
      if (printed++ >= kMostRows) continue;
      fmt::print(
          "one run decides: {} under {} at point {} is {} % off, without replication {}, permutation {} {} "
          "%\n",
          metric_of(Level::point, run.metric).label, group.policy, group.point,
          percent(group.metric(run.metric).relative_error()), run.replication, run.permutation,
          percent(run.without));
    }
  if (printed > kMostRows) fmt::print("  ... {} more with --json\n", printed - kMostRows);
}

const Compared& ntt_of(const ClientComparison& client) { return client.metric("ntt"); }

void print_clients(const Comparison& comparison) {
  std::vector<const ClientComparison*> clients;
  for (const ClientComparison& client : comparison.clients)
    if (ntt_of(client).relative_error().value_or(0) != 0) clients.push_back(&client);
  if (clients.empty()) return;
  std::stable_sort(clients.begin(), clients.end(), [](const auto* a, const auto* b) {
    return std::abs(*ntt_of(*a).relative_error()) > std::abs(*ntt_of(*b).relative_error());
  });
  clients.resize(std::min(clients.size(), kMostClients));
  std::size_t policies = 14, names = 14;
  for (const ClientComparison* client : clients) {
    policies = std::max(policies, client->policy.size());
    names = std::max(names, client->client.size());
  }
  fmt::print("\nclients furthest off:\n{:>5}  {:<{}} {:<{}} {:>9} {:>9}", "point", "policy", policies,
             "client", names, "predicted", "measured");
  const auto width = [](const Metric& metric) {
    return std::max<std::size_t>(6, metric.short_label().size() + 1);
  };
  for (const Compared& c : clients.front()->metrics) {
    const Metric& metric = metric_of(Level::client, c.metric);
    fmt::print(" {:>{}}", metric.short_label(), width(metric));
  }
  fmt::print("\n");
  for (const ClientComparison* client : clients) {
    fmt::print("{:>5}  {:<{}} {:<{}} {:>9.3f} {:>9.3f}", client->point, client->policy, policies,
               client->client, names, *ntt_of(*client).predicted, *ntt_of(*client).measured);
    for (const Compared& c : client->metrics)
      fmt::print(" {:>{}}", c.bound() ? "bound" : percent(c.relative_error()),
                 width(metric_of(Level::client, c.metric)));
    fmt::print("\n");
  }
}

// Of every client at every point under every policy, near or far.
void print_all_clients(const Comparison& comparison) {
  std::vector<double> errors;
  std::size_t bounds = 0;
  for (const ClientComparison& client : comparison.clients) {
    const Compared& response = client.metric("response_ns_mean");
    if (response.bound())
      ++bounds;
    else if (const auto error = response.relative_error())
      errors.push_back(std::abs(*error));
  }
  if (errors.empty()) return;
  const auto at = [&](double share) { return 100 * nearest_rank(errors, share); };
  fmt::print(
      "\nmean responses of all clients, {} predictions: {:.1f} % (median), {:.1f} % (90th percentile), "
      "at most {:.1f} %\n",
      errors.size(), at(0.5), at(0.9), at(1));
  if (const std::size_t without = comparison.clients.size() - errors.size() - bounds; without > 0)
    fmt::print("{} more without a mean response in both\n", without);
  if (bounds > 0)
    fmt::print("{} more left out, as unfinished or killed jobs make them lower bounds\n", bounds);
}

// A prediction that is off for a client alone is off for it beside others.
void print_times_alone(const Comparison& comparison) {
  std::map<std::string, std::vector<double>> errors;  // by client
  for (const ClientComparison& client : comparison.clients)
    if (const auto error = client.metric("standalone_ns").relative_error())
      errors[client.client].push_back(*error);
  std::vector<std::string> off;
  for (auto& [client, of] : errors) {
    if (const double error = nearest_rank(of, 0.5); std::abs(error) > kOffAlone)
      off.push_back(fmt::format("{} {}", client, percent(error)));
  }
  if (!off.empty())
    fmt::print("times alone that are off themselves, in % (medians): {}\n", fmt::join(off, ", "));
}

std::string ranked(const std::vector<std::string>& policies, const std::vector<std::string>& starved,
                   const std::vector<std::string>& failed) {
  std::string text = fmt::format("{}", fmt::join(policies, " "));
  for (const auto& [how, those] : {std::pair{"starved", &starved}, std::pair{"failed", &failed}})
    if (!those->empty())
      text += fmt::format("{}({}: {})", text.empty() ? "" : " ", how, fmt::join(*those, " "));
  return text;
}

void print_rankings(const Comparison& comparison) {
  const auto& rankings = comparison.rankings;
  if (rankings.empty()) return;
  std::size_t unequal = 0;
  for (const RankingComparison& ranking : rankings) unequal += ranking.equal() ? 0 : 1;
  fmt::print("\nrankings of policies: {} of {} equal\n", rankings.size() - unequal, rankings.size());
  std::size_t shown = 0;
  for (const RankingComparison& ranking : rankings) {
    if (ranking.equal() || shown++ >= kMostRankings) continue;
    std::string swapped;
    for (const auto& [one, other] : ranking.swapped) swapped += fmt::format(" {}/{}", one, other);
    fmt::print("  {} at point {}: predicted {}; measured {}; swapped{}\n", ranking.metric, ranking.point,
               ranked(ranking.predicted, ranking.starved_predicted, ranking.failed_predicted),
               ranked(ranking.measured, ranking.starved_measured, ranking.failed_measured), swapped);
  }
  if (shown > kMostRankings) fmt::print("  ... {} more with --json\n", shown - kMostRankings);
}

// What no average can be held against.
void print_other_clients(const Comparison& comparison) {
  for (const Unmatched& rows : comparison.unmatched)
    if (rows.file == "clients.csv")
      to_stderr("error: {} rows of clients.csv are only in {}: {}{}\n", rows.count,
                (rows.in_prediction ? comparison.prediction : comparison.measurement).path,
                fmt::join(rows.first, "; "), rows.first.size() < rows.count ? "; ..." : "");
}

// Those with a result in one folder only: to `out` as lines that begin with `begin`.
void print_lacking(const Comparison& comparison, std::FILE* out, const char* begin) {
  const std::vector<Lacking>& all = comparison.lacking;
  for (std::size_t i = 0; i < std::min(all.size(), kMostLacking); ++i)
    fmt::print(out, "{}no result in the {} at point {} under {}: {}\n", begin,
               all[i].in_prediction ? "prediction" : "measurement", all[i].point, all[i].policy, all[i].why);
  if (all.size() > kMostLacking) fmt::print(out, "{}{} more\n", begin, all.size() - kMostLacking);
}

void print_left_out(const Comparison& comparison, const char* a, const char* b) {
  const Unfinished& unfinished = comparison.unfinished;
  if (unfinished.predicted + unfinished.measured + unfinished.both > 0)
    fmt::print("unfinished jobs: {} in {} only, {} in {} only, {} in both\n", unfinished.predicted, a,
               unfinished.measured, b, unfinished.both);
  for (const Unmatched& unmatched : comparison.unmatched)
    fmt::print("in {} only: {} rows of {}: {}{}\n", unmatched.in_prediction ? a : b, unmatched.count,
               unmatched.file, fmt::join(unmatched.first, ", "),
               unmatched.count > unmatched.first.size() ? ", ..." : "");
}

void print(const Comparison& comparison) {
  for (const auto& [role, folder] :
       {std::pair{"predicted", &comparison.prediction}, std::pair{"measured", &comparison.measurement}})
    fmt::print("{:<9}  {} ({}, {})\n", role, folder->path, folder->experiment, folder->world);
  if (comparison.measurement.world == "sim" && comparison.prediction.world != "sim")
    to_stderr("note: the measurement is a simulation, and the prediction is not: are the folders swapped?\n");
  fmt::print(
      "errors in %, (predicted - measured) / measured; p50, p90 and max: NTT of jobs, without sign\n\n");
  print_groups(comparison);
  print_starved(comparison);
  print_decisive(comparison);
  print_lacking(comparison, stdout, "");
  print_clients(comparison);
  print_all_clients(comparison);
  print_times_alone(comparison);
  print_rankings(comparison);
  print_left_out(comparison, "the prediction", "the measurement");
  for (const ComparedFolder* folder : {&comparison.prediction, &comparison.measurement})
    if (!folder->has_jobs) fmt::print("no errors of jobs: {} has no jobs.csv\n", folder->path);
}

// ---- two results of one world, or two policies of one result

// In ms where the metric is a time.
std::string amount(const MetricDifference& row, const std::optional<double>& value, bool with_sign = false) {
  if (!value) return "-";
  const double shown = is_time_metric(row.metric) ? *value / 1e6 : *value;
  return with_sign ? fmt::format("{:+.4g}", shown) : fmt::format("{:.4g}", shown);
}

std::string mean_of(const MetricDifference& row, const SampleMean& side) {
  return sign_of(side.is) + amount(row, side.mean);
}

std::string title(const MetricDifference& row) {
  if (!is_time_metric(row.metric)) return row.metric;
  std::string name = row.metric;
  name.erase(name.find("_ns"), 3);
  return name + " (ms)";
}

std::string p_value(const std::optional<double>& p) {
  if (!p) return "-";
  return *p < 0.0001 ? "<0.0001" : fmt::format("{:.4f}", *p);
}

void print_sides(const Differences& differences) {
  const auto print_one = [](const std::string& name, const ReplicatedFolder& side) {
    fmt::print("{}  {} ({}, {}{}, {} replication{})\n", name, side.folder.path, side.folder.experiment,
               side.folder.world, side.seed ? fmt::format(", seed {}", *side.seed) : "", side.replications,
               side.replications == 1 ? "" : "s");
  };
  if (!differences.baseline.empty()) return print_one("in", differences.a);
  print_one("A", differences.a);
  print_one("B", differences.b);
}

// But those that are equal, which conclusions() counts.
void print_rows(const Differences& differences) {
  std::vector<const MetricDifference*> rows;
  std::size_t policy = 6, client = 6;
  for (const MetricDifference& row : differences.rows) {
    if (row.finding == Finding::equal) continue;
    rows.push_back(&row);
    policy = std::max(policy, row.policy.size());
    client = std::max(client, row.client.size());
  }
  if (rows.empty()) return;
  const bool policies = !differences.baseline.empty();
  const std::string a = policies ? differences.baseline : "A", b = policies ? "policy" : "B";
  fmt::print("{:>5}  {:<{}}  {:<{}}  {:<24} {:>10} {:>10} {:>10}  {:<24} {:>8} {:>8}\n", "point", "policy",
             policy, "client", client, "metric", a, b, fmt::format("{} - {}", b, a), "95 % interval", "p",
             "Holm");
  for (std::size_t i = 0; i < std::min(rows.size(), kMostRows); ++i) {
    const MetricDifference& row = *rows[i];
    const std::string interval = row.test ? fmt::format("[{}, {}]", amount(row, row.test->low, true),
                                                        amount(row, row.test->high, true))
                                          : "-";
    fmt::print("{:>5}  {:<{}}  {:<{}}  {:<24} {:>10} {:>10} {:>10}  {:<24} {:>8} {:>8}  {}\n", row.point,
               row.policy, policy, row.client, client, title(row), mean_of(row, row.a), mean_of(row, row.b),
               sign_of(certainty_of_difference(row)) + amount(row, row.difference, true), interval,
               p_value(row.test ? std::optional(row.test->p) : std::nullopt), p_value(row.p_holm),
               in_words(row, differences));
  }
  if (rows.size() > kMostRows) fmt::print("  ... {} more rows with --json\n", rows.size() - kMostRows);
  fmt::print("\n");
}

void print(const Differences& differences) {
  print_sides(differences);
  fmt::print("\n");
  print_rows(differences);
  for (const std::string& sentence : conclusions(differences)) fmt::print("{}\n", sentence);
  if (!differences.left_out.empty())
    fmt::print("without {}: {}\n", differences.baseline, fmt::join(differences.left_out, ", "));
}

nlohmann::ordered_json json_of(const Comparison& comparison, const std::vector<Limit>& limits) {
  auto json = to_json(comparison);
  json["limits"] = nlohmann::ordered_json::array();
  for (const Limit& limit : limits) {
    const double value = *value_of(comparison, limit.metric);
    json["limits"].push_back({{"metric", limit.metric},
                              {"value", value},  // null when infinite
                              {"most", limit.most},
                              {"exceeded", value > limit.most}});
  }
  return json;
}

// What a folder's own run has said already.
void tell_notes(const std::string& of, const std::vector<std::string>& notes) {
  for (std::size_t n = 0; n < std::min(notes.size(), kMostNotes); ++n)
    to_stderr("note: {}: {}\n", of, notes[n]);
  if (notes.size() > kMostNotes)
    to_stderr("note: {}: {} more in manifest.json\n", of, notes.size() - kMostNotes);
}

void tell_changed(const std::string& folder) {
  for (const std::string& name : changed_tables(folder))
    to_stderr("note: {}/{} is not as it was written (manifest.json)\n", folder, name);
}

void tell(const std::string& folder) {
  tell_notes(folder, read_manifest(folder).notes);
  tell_changed(folder);
}

// What both have said is told once.
void tell(const std::string& a, const std::string& b) {
  std::vector<std::string> of_a = read_manifest(a).notes, of_b = read_manifest(b).notes, of_both;
  const auto has = [](const std::vector<std::string>& notes, const std::string& note) {
    return std::find(notes.begin(), notes.end(), note) != notes.end();
  };
  for (const std::string& note : of_a)
    if (has(of_b, note)) of_both.push_back(note);
  for (std::vector<std::string>* notes : {&of_a, &of_b})
    std::erase_if(*notes, [&](const std::string& note) { return has(of_both, note); });
  tell_notes(fmt::format("{} and {}", a, b), of_both);
  tell_notes(a, of_a);
  tell_changed(a);
  tell_notes(b, of_b);
  tell_changed(b);
}

int compare_policies(const CompareArguments& arguments) {
  for (const auto& [option, value] :
       {std::pair{"DIR_B", &arguments.measurement}, std::pair{"--fail-above", &arguments.limits}})
    if (!value->empty())
      throw InputError({"--baseline", 0}, option, quote(*value),
                       "nothing, because the policies of one folder are compared");
  const Differences differences = differences_to_baseline(arguments.prediction, arguments.baseline,
                                                          parse_metrics("--metrics", arguments.metrics));
  tell(arguments.prediction);
  if (arguments.json)
    fmt::print("{}\n", to_json(differences).dump(1));
  else
    print(differences);
  return 0;
}

int compare(const CompareArguments& arguments) {
  if (!arguments.baseline.empty()) return compare_policies(arguments);
  if (arguments.measurement.empty())
    throw InputError({"compare", 0}, "DIR_B", "nothing", "a second result folder, or --baseline POLICY");
  std::vector<Limit> limits;
  if (!arguments.limits.empty()) limits = parse_limits("--fail-above", arguments.limits);
  const Comparison comparison = compare_folders(arguments.prediction, arguments.measurement);
  const auto differences = differences_between(comparison, parse_metrics("--metrics", arguments.metrics));
  const std::vector<Exceeded> over = exceeded(comparison, limits);
  if (arguments.json) {
    auto json = json_of(comparison, limits);
    json["differences"] = differences ? to_json(*differences) : nlohmann::ordered_json();
    fmt::print("{}\n", json.dump(1));
  } else {
    const bool tests = differences && (limits.empty() || !arguments.metrics.empty());
    if (tests) {
      print(*differences);
      print_left_out(comparison, "A", "B");
    }
    if (!tests || !limits.empty()) print(comparison);
  }
  tell(arguments.prediction, arguments.measurement);
  if (!limits.empty()) {
    print_lacking(comparison, stderr, "error: ");
    if (comparison.lacking.empty()) print_other_clients(comparison);  // else these are among them
  }
  for (const auto& [limit, value] : over)
    to_stderr("error: {} is {}, above {}\n", limit.metric, value, limit.most);
  return over.empty() ? 0 : 1;
}

}  // namespace

void add_compare(CLI::App& app, int& code) {
  auto arguments = std::make_shared<CompareArguments>();
  CLI::App* sub = app.add_subcommand(
      "compare", "errors of a prediction, or whether two simulations differ by more than chance");
  sub->add_option("DIR_A", arguments->prediction, "result folder; if the worlds differ, the prediction")
      ->required()
      ->type_name(value_type::kFolder);
  sub->add_option("DIR_B", arguments->measurement, "result folder of the same experiment")
      ->type_name(value_type::kFolder);
  sub->add_option("--baseline", arguments->baseline,
                  "with one folder: compare its other policies with this one")
      ->type_name(value_type::kPolicy);
  sub->add_option("--metrics", arguments->metrics,
                  "metrics to test: columns of replications.csv and service_replications.csv")
      ->type_name("COLUMN,...");
  sub->add_option(
         "--fail-above", arguments->limits,
         "exit code 1 if an error is larger. ntt_p50, ntt_p90: percentiles of the jobs' absolute relative "
         "error; antt, dntt, stp: the largest of a point and policy; ranking: how many rankings differ; all "
         "of "
         "them also if a policy has a result on one side only. Two simulations are then compared by errors, "
         "too")
      ->type_name("METRIC=MOST,...");
  sub->add_flag("--json", arguments->json, "print everything as JSON");
  sub->callback([arguments, &code] { code = compare(*arguments); });
}

}  // namespace gangway
