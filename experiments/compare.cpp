#include "experiments/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

#include "experiments/manifest.hpp"
#include "experiments/metrics/catalogue.hpp"
#include "experiments/swept_columns.hpp"
#include "models/error.hpp"
#include "models/fit/location.hpp"
#include "models/input/table.hpp"
#include "models/nearest.hpp"
#include "models/quantity.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostNamed = 5;

// What a limit may be set to.
std::vector<std::string> limited() {
  std::vector<std::string> names = metric_names(Level::point, [](const Metric& m) { return m.ranked; });
  names.insert(names.begin(), {"ntt_p50", "ntt_p90"});
  names.emplace_back("ranking");
  return names;
}

double relative(double predicted, double measured) {
  if (predicted == measured) return 0;
  if (measured == 0) return std::numeric_limits<double>::infinity();
  return (predicted - measured) / measured;
}

// ---- reading

using GroupKey = std::pair<std::uint32_t, std::string>;  // point, policy
using ClientKey = std::tuple<std::uint32_t, std::string, std::string>;

struct SummaryRow {
  int line = 0;
  std::vector<std::string> swept;
  std::vector<Compared> values;  // of one side only
  std::vector<std::string> starved;
};

// Policies and clients are numbered in the order of their names over both folders.
struct Job {
  std::uint32_t point, policy, replication, permutation, client, job;
  int line;
  double ntt;  // NaN: unfinished
  auto key() const { return std::tie(point, policy, replication, permutation, client, job); }
};

using Numbers = std::map<std::string, std::uint32_t, std::less<>>;

struct Folder {
  fs::path path;
  ComparedFolder about;
  std::vector<std::string> swept;  // columns
  std::map<GroupKey, SummaryRow> summary;
  std::map<ClientKey, std::vector<Compared>> clients;  // of one side only
};

[[noreturn]] void refuse_twice(const Table& table) {
  throw InputError({table.file().string(), table.line()}, "row", "the same key as in a row before",
                   "each key once");
}

std::vector<std::string> names_in(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty()) {
    const std::size_t bar = text.find('|');
    names.emplace_back(text.substr(0, bar));
    text.remove_prefix(bar == std::string_view::npos ? text.size() : bar + 1);
  }
  return names;
}

// The metrics of a table that are compared; `predicted` is theirs, whatever the folder.
class ComparedColumns {
 public:
  ComparedColumns(const Table& table, Level level)
      : names_(metric_names(level, [](const Metric& m) { return m.compared; })) {
    for (const std::string& name : names_) places_.push_back(table.column(name));
  }

  std::vector<Compared> row(const Table& table) const {
    std::vector<Compared> values;
    for (std::size_t m = 0; m < names_.size(); ++m)
      values.push_back({names_[m], table.number(places_[m]), {}});
    return values;
  }

 private:
  std::vector<std::string> names_;
  std::vector<std::size_t> places_;
};

// Both sides of what two folders have of one row.
std::vector<Compared> both_sides(const std::vector<Compared>& predicted,
                                 const std::vector<Compared>& measured) {
  std::vector<Compared> both = predicted;
  for (std::size_t m = 0; m < both.size(); ++m) both[m].measured = measured[m].predicted;
  return both;
}

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
  const std::vector<std::size_t> swept = swept_columns(table);
  for (const std::size_t column : swept) folder.swept.push_back(table.columns()[column]);
  while (table.next()) {
    SummaryRow row;
    row.line = table.line();
    for (const std::size_t column : swept) row.swept.emplace_back(table.text(column));
    row.values = metrics.row(table);
    if (starved) row.starved = names_in(table.text(*starved));
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

Folder read_folder(const fs::path& path) {
  const Manifest manifest = read_manifest(path);
  Folder folder;
  folder.path = path;
  folder.about = {path.string(), manifest.experiment, manifest.key.world, manifest.has_jobs};
  read_summary(folder);
  read_clients(folder);
  return folder;
}

class JobReader {
 public:
  JobReader(const fs::path& file, const Numbers& policies, const Numbers& clients)
      : table_(file), policies_(policies), clients_(clients) {
    for (std::size_t i = 0; i < kColumns.size(); ++i) at_[i] = table_.column(kColumns[i]);
  }

  std::vector<Job> read() {
    std::vector<Job> jobs;
    while (table_.next()) jobs.push_back(row());
    const auto before = [](const Job& a, const Job& b) { return a.key() < b.key(); };
    if (!std::is_sorted(jobs.begin(), jobs.end(), before)) std::sort(jobs.begin(), jobs.end(), before);
    const auto twice = std::adjacent_find(jobs.begin(), jobs.end(),
                                          [](const Job& a, const Job& b) { return a.key() == b.key(); });
    if (twice != jobs.end())
      throw InputError({table_.file().string(), std::max(twice->line, std::next(twice)->line)}, "row",
                       "the same key as in a row before", "each key once");
    return jobs;
  }

 private:
  static constexpr std::array<const char*, 7> kColumns{"point",  "policy", "replication", "permutation",
                                                       "client", "job",    "ntt"};

  Job row() const {
    return {table_.index(at_[0]),    known(at_[1], policies_), table_.index(at_[2]), table_.index(at_[3]),
            known(at_[4], clients_), table_.index(at_[5]),     table_.line(),        ntt()};
  }

  std::uint32_t known(std::size_t column, const Numbers& numbers) const {
    const auto found = numbers.find(table_.text(column));
    if (found == numbers.end()) table_.refuse(column, "a name that stands in clients.csv");
    return found->second;
  }

  double ntt() const {
    const auto value = table_.number(at_[6]);
    if (value && *value <= 0) table_.refuse(at_[6], "a number above 0, or nothing");
    return value.value_or(std::numeric_limits<double>::quiet_NaN());
  }

  Table table_;
  const Numbers& policies_;
  const Numbers& clients_;
  std::array<std::size_t, kColumns.size()> at_{};
};

// ---- matching

// Rows of one folder only, counted and a few named.
class UnmatchedRows {
 public:
  UnmatchedRows(std::string file, bool in_prediction) {
    unmatched_ = {std::move(file), in_prediction, 0, {}};
  }
  template <typename Name>
  void add(Name name) {
    if (++unmatched_.count <= kMostNamed) unmatched_.first.push_back(name());
  }
  void report(std::vector<Unmatched>& to) const {
    if (unmatched_.count > 0) to.push_back(unmatched_);
  }

 private:
  Unmatched unmatched_;
};

// Walks two ranges that are sorted by a key: pairs of equal key, and rows that stand alone.
template <typename Rows, typename Key, typename Both, typename First, typename Second>
void merge(const Rows& a, const Rows& b, Key key, Both both, First only_a, Second only_b) {
  auto i = a.begin();
  auto j = b.begin();
  while (i != a.end() || j != b.end()) {
    if (j == b.end() || (i != a.end() && key(*i) < key(*j)))
      only_a(*i++);
    else if (i == a.end() || key(*j) < key(*i))
      only_b(*j++);
    else
      both(*i++, *j++);
  }
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

// ---- jobs

JobErrors spread(const std::vector<double>& errors) {
  JobErrors out;
  out.jobs = errors.size();
  if (errors.empty()) return out;
  const auto count = static_cast<double>(errors.size());
  std::vector<double> absolute;
  absolute.reserve(errors.size());
  for (double e : errors) absolute.push_back(std::abs(e));
  out.p50 = nearest_rank(absolute, 0.5);
  out.p90 = nearest_rank(absolute, 0.9);
  out.max = nearest_rank(absolute, 1);
  out.mean = std::accumulate(absolute.begin(), absolute.end(), 0.0) / count;
  out.bias = std::accumulate(errors.begin(), errors.end(), 0.0) / count;
  out.bias_p50 = nearest_rank(errors, 0.5);
  return out;
}

Numbers numbered(const Folder& a, const Folder& b, std::string (*name)(const ClientKey&)) {
  Numbers numbers;
  for (const Folder* folder : {&a, &b})
    for (const auto& [key, row] : folder->clients) numbers.emplace(name(key), 0);
  std::uint32_t next = 0;
  for (auto& [text, number] : numbers) number = next++;
  return numbers;
}

std::vector<std::string> names_of(const Numbers& numbers) {
  std::vector<std::string> names;
  for (const auto& [name, number] : numbers) names.push_back(name);
  return names;
}

class JobMatcher {
 public:
  JobMatcher(const Folder& a, const Folder& b, Comparison& out)
      : out_(out),
        policies_(numbered(a, b, [](const ClientKey& key) { return std::get<1>(key); })),
        clients_(numbered(a, b, [](const ClientKey& key) { return std::get<2>(key); })),
        policy_names_(names_of(policies_)),
        client_names_(names_of(clients_)) {
    const auto jobs_a = JobReader(a.path / "jobs.csv", policies_, clients_).read();
    const auto jobs_b = JobReader(b.path / "jobs.csv", policies_, clients_).read();
    merge(
        jobs_a, jobs_b, [](const Job& job) { return job.key(); },
        [this](const Job& in_a, const Job& in_b) { both(in_a, in_b); },
        [this](const Job& job) { only_a_.add([&] { return text(job); }); },
        [this](const Job& job) { only_b_.add([&] { return text(job); }); });
    only_a_.report(out_.unmatched);
    only_b_.report(out_.unmatched);
    for (GroupComparison& group : out_.groups) {
      const auto found = groups_.find({group.point, group.policy});
      if (found == groups_.end()) continue;
      group.ntt = spread(found->second.errors);
      group.unfinished = found->second.unfinished;
      add(group.unfinished);
      all_.insert(all_.end(), found->second.errors.begin(), found->second.errors.end());
    }
    out_.ntt = spread(all_);
  }

 private:
  struct Errors {
    std::vector<double> errors;
    Unfinished unfinished;
  };

  void both(const Job& in_a, const Job& in_b) {
    // Jobs come point by point and policy by policy: a group is looked up where it changes.
    if (current_ == nullptr || in_a.point != point_ || in_a.policy != policy_) {
      point_ = in_a.point;
      policy_ = in_a.policy;
      current_ = &groups_[{point_, policy_names_[policy_]}];
    }
    const bool left_a = std::isnan(in_a.ntt), left_b = std::isnan(in_b.ntt);
    if (!left_a && !left_b)
      current_->errors.push_back(relative(in_a.ntt, in_b.ntt));
    else
      ++(left_a && left_b ? current_->unfinished.both
         : left_a         ? current_->unfinished.predicted
                          : current_->unfinished.measured);
  }

  void add(const Unfinished& more) {
    out_.unfinished.predicted += more.predicted;
    out_.unfinished.measured += more.measured;
    out_.unfinished.both += more.both;
  }

  std::string text(const Job& job) const {
    return fmt::format("{} {} {} {} {} {}", job.point, policy_names_[job.policy], job.replication,
                       job.permutation, client_names_[job.client], job.job);
  }

  Comparison& out_;
  Numbers policies_, clients_;
  std::vector<std::string> policy_names_, client_names_;
  UnmatchedRows only_a_{"jobs.csv", true}, only_b_{"jobs.csv", false};
  std::map<GroupKey, Errors> groups_;
  Errors* current_ = nullptr;
  std::uint32_t point_ = 0, policy_ = 0;
  std::vector<double> all_;
};

const Compared& named(const std::vector<Compared>& metrics, const std::string& name) {
  return *std::find_if(metrics.begin(), metrics.end(), [&](const Compared& c) { return c.metric == name; });
}

// ---- limits

std::optional<double> largest_error(const Comparison& comparison, const std::string& metric) {
  std::optional<double> largest;
  for (const GroupComparison& group : comparison.groups) {
    if (!group.starved.equal()) return std::numeric_limits<double>::infinity();
    if (const auto error = group.metric(metric).relative_error())
      largest = std::max(largest.value_or(0), std::abs(*error));
  }
  return largest;
}

}  // namespace

const Compared& GroupComparison::metric(const std::string& name) const { return named(metrics, name); }
const Compared& ClientComparison::metric(const std::string& name) const { return named(metrics, name); }

std::optional<double> Compared::relative_error() const {
  if (!predicted || !measured) return std::nullopt;
  return relative(*predicted, *measured);
}

Comparison compare_folders(const fs::path& prediction, const fs::path& measurement) {
  const Folder a = read_folder(prediction), b = read_folder(measurement);
  Comparison out;
  out.prediction = a.about;
  out.measurement = b.about;
  match_summaries(a, b, out);
  match_clients(a, b, out);
  if (a.about.has_jobs && b.about.has_jobs) JobMatcher(a, b, out);
  out.rankings = rankings_of(out.groups);
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

std::optional<double> value_of(const Comparison& comparison, const std::string& metric) {
  if (metric == "ranking") {
    if (comparison.rankings.empty()) return std::nullopt;
    return static_cast<double>(std::count_if(comparison.rankings.begin(), comparison.rankings.end(),
                                             [](const RankingComparison& r) { return !r.equal(); }));
  }
  if (metric != "ntt_p50" && metric != "ntt_p90") return largest_error(comparison, metric);
  if (comparison.ntt.jobs == 0) return std::nullopt;
  return metric == "ntt_p50" ? comparison.ntt.p50 : comparison.ntt.p90;
}

}  // namespace gangway
