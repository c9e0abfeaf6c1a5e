#include "hw/record/overhead.hpp"

#include <algorithm>
#include <map>
#include <vector>

namespace gangway::spool {
namespace {

using recording::Call;
using recording::Index;
using recording::Job;
using recording::kNone;
using recording::Recording;

// Calls that a program makes by its own logic, not by chance; the threads in the order of their first.
class Logic {
 public:
  explicit Logic(const Recording& r) : place_(r.calls.size(), kNone) {
    std::map<Index, Index> threads;
    for (Index c = 0; c < r.calls.size(); ++c) {
      const recording::CallKind kind = r.kind(r.calls[c]);
      if (!recording::is_submission(kind) && kind != recording::CallKind::synchronize) continue;
      const auto [thread, is_new] = threads.try_emplace(r.calls[c].thread, static_cast<Index>(calls_.size()));
      if (is_new) calls_.emplace_back();
      place_[c] = static_cast<Index>(calls_[thread->second].size());
      calls_[thread->second].push_back(c);
    }
    for (const auto& [thread, number] : threads) number_[thread] = number;
  }

  // The same one of another run.
  Index in(const Logic& other, const Recording& r, Index call) const {
    return other.calls_[number_.at(r.calls[call].thread)][place_[call]];
  }
  bool has(Index call) const { return place_[call] != kNone; }
  bool same(const Recording& r, const Logic& other, const Recording& others) const {
    const auto name = [](const Recording& of, Index call) {
      return of.functions[of.calls[call].function].name;
    };
    return std::equal(calls_.begin(), calls_.end(), other.calls_.begin(), other.calls_.end(),
                      [&](const auto& mine, const auto& theirs) {
                        return std::equal(mine.begin(), mine.end(), theirs.begin(), theirs.end(),
                                          [&](Index a, Index b) { return name(r, a) == name(others, b); });
                      });
  }

 private:
  std::vector<std::vector<Index>> calls_;  // by thread
  std::vector<Index> place_;               // in that, by call
  std::map<Index, Index> number_;          // of threads
};

Duration median(std::vector<Duration> lengths) {
  const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>((lengths.size() - 1) / 2);
  std::nth_element(lengths.begin(), middle, lengths.end());
  return *middle;
}

}  // namespace

std::optional<JobTimes> compare_jobs(const Recording& r, const Recording& other) {
  const Logic logic(r), others(other);
  if (!logic.same(r, others, other)) return std::nullopt;
  std::vector<Index> first(r.jobs.size(), kNone), last(r.jobs.size(), kNone);
  for (Index c = 0; c < r.calls.size(); ++c) {
    const Index job = r.calls[c].job;
    if (job == kNone || r.calls[c].thread != r.jobs[job].thread) continue;
    if (first[job] == kNone) first[job] = c;
    last[job] = c;
  }
  std::vector<Duration> with, without;
  for (Index j = 0; j < r.jobs.size(); ++j) {
    if (r.jobs[j].warm_up || first[j] == kNone || !logic.has(first[j]) || !logic.has(last[j])) continue;
    const auto length = [](const Recording& of, Index from, Index to) {
      return of.calls[to].end() - of.calls[from].begin;
    };
    with.push_back(length(r, first[j], last[j]));
    without.push_back(length(other, logic.in(others, r, first[j]), logic.in(others, r, last[j])));
  }
  if (with.empty()) return std::nullopt;
  return JobTimes{median(with), median(without)};
}

}  // namespace gangway::spool
