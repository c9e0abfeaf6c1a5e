#include "experiments/comparing/compared_jobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "experiments/comparing/compared_rows.hpp"
#include "experiments/comparing/decisive_runs.hpp"
#include "models/error.hpp"
#include "models/fit/location.hpp"
#include "models/input/table.hpp"
#include "models/metrics/statistics.hpp"

namespace gangway::compared {
namespace {

namespace fs = std::filesystem;

// Policies and clients are numbered in the order of their names over both folders.
struct Job {
  std::uint32_t point, policy, replication, permutation, client, job;
  int line;
  double ntt;  // NaN: unfinished
  auto key() const { return std::tie(point, policy, replication, permutation, client, job); }
};

using Numbers = std::map<std::string, std::uint32_t, std::less<>>;

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
                       "the same key as in an earlier row", "each key once");
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
    if (found == numbers.end()) table_.refuse(column, "a name from clients.csv");
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

// The share of the errors that is at most the result, nearest rank, where `endless` more are infinite.
double rank_among(std::vector<double> absolute, std::size_t endless, double share) {
  const std::int64_t rank = rank_of(share, std::ssize(absolute) + static_cast<std::int64_t>(endless));
  if (rank > std::ssize(absolute)) return std::numeric_limits<double>::infinity();
  const auto place = absolute.begin() + static_cast<std::ptrdiff_t>(rank - 1);
  std::nth_element(absolute.begin(), place, absolute.end());
  return *place;
}

// Beside jobs that finished in one folder only.
JobErrors spread(const std::vector<double>& errors, const Unfinished& unfinished) {
  JobErrors out;
  out.jobs = errors.size();
  std::vector<double> absolute;
  absolute.reserve(errors.size());
  for (double e : errors) absolute.push_back(std::abs(e));
  const std::size_t endless = unfinished.predicted + unfinished.measured + unfinished.absent;
  out.limit_p50 = rank_among(absolute, endless, 0.5);
  out.limit_p90 = rank_among(absolute, endless, 0.9);
  if (errors.empty()) return out;
  const auto count = static_cast<double>(errors.size());
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
        [this](const Job& job) { in_one(job, only_a_); }, [this](const Job& job) { in_one(job, only_b_); });
    only_a_.report(out_.unmatched);
    only_b_.report(out_.unmatched);
    for (GroupComparison& group : out_.groups) {
      const auto found = groups_.find({group.point, group.policy});
      if (found == groups_.end()) continue;
      for (const auto& [run, jobs] : found->second.in_one)  // of other replications nothing was expected
        if (found->second.in_both.count(run) > 0) found->second.unfinished.absent += jobs;
      group.unfinished = found->second.unfinished;
      group.ntt = spread(found->second.errors, group.unfinished);
      if (found->second.errors.size() == found->second.jobs)
        group.decisive = decisive_runs(group, found->second.runs, a.about.sigma == "sample");
      add(group.unfinished);
      all_.insert(all_.end(), found->second.errors.begin(), found->second.errors.end());
    }
    out_.ntt = spread(all_, out_.unfinished);
  }

 private:
  struct Errors {
    std::vector<double> errors;
    std::size_t jobs = 0;  // in either folder
    RunSums runs;
    Unfinished unfinished;
    std::set<Run> in_both;
    std::map<Run, std::size_t> in_one;  // finished jobs that the other folder does not have
  };

  // Jobs come point by point and policy by policy: a group is looked up where it changes.
  Errors& group_of(const Job& job) {
    if (current_ == nullptr || job.point != point_ || job.policy != policy_) {
      point_ = job.point;
      policy_ = job.policy;
      current_ = &groups_[{point_, policy_names_[policy_]}];
    }
    return *current_;
  }

  void both(const Job& in_a, const Job& in_b) {
    Errors& group = group_of(in_a);
    group.in_both.insert(run_of(in_a));
    ++group.jobs;
    const bool left_a = std::isnan(in_a.ntt), left_b = std::isnan(in_b.ntt);
    if (!left_a && !left_b) {
      group.errors.push_back(relative_error(in_a.ntt, in_b.ntt));
      add_to_run(group, in_a, in_b);
    } else {
      ++(left_a && left_b ? group.unfinished.both
         : left_a         ? group.unfinished.predicted
                          : group.unfinished.measured);
    }
  }

  void add_to_run(Errors& group, const Job& in_a, const Job& in_b) {
    std::vector<NttSums>& clients = group.runs[run_of(in_a)];
    clients.resize(clients_.size());
    NttSums& sums = clients[in_a.client];
    sums.predicted += in_a.ntt;
    sums.measured += in_b.ntt;
    ++sums.jobs;
  }

  void in_one(const Job& job, UnmatchedRows& rows) {
    rows.add([&] { return text(job); });
    ++group_of(job).jobs;
    if (!std::isnan(job.ntt)) ++group_of(job).in_one[run_of(job)];
  }

  static Run run_of(const Job& job) { return {job.replication, job.permutation}; }

  void add(const Unfinished& more) {
    out_.unfinished.predicted += more.predicted;
    out_.unfinished.measured += more.measured;
    out_.unfinished.both += more.both;
    out_.unfinished.absent += more.absent;
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

}  // namespace

void match_jobs(const Folder& a, const Folder& b, Comparison& out) { JobMatcher(a, b, out); }

}  // namespace gangway::compared
