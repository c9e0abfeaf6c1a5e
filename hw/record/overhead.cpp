#include "hw/record/overhead.hpp"

#include <algorithm>
#include <map>
#include <vector>

namespace gangway::spool {
namespace {

namespace rec = recording;

// Calls that a program makes by its own logic, not by chance; the threads in the order of their first.
class Logic {
 public:
  explicit Logic(const rec::Recording& r) : place_(r.calls.size(), rec::kNone) {
    std::map<rec::Index, rec::Index> threads;
    for (rec::Index c = 0; c < r.calls.size(); ++c) {
      const rec::CallKind kind = r.kind(r.calls[c]);
      if (!rec::is_submission(kind) && kind != rec::CallKind::synchronize) continue;
      const auto [thread, is_new] =
          threads.try_emplace(r.calls[c].thread, static_cast<rec::Index>(calls_.size()));
      if (is_new) calls_.emplace_back();
      place_[c] = static_cast<rec::Index>(calls_[thread->second].size());
      calls_[thread->second].push_back(c);
    }
    for (const auto& [thread, number] : threads) number_[thread] = number;
  }

  // The same one of another run.
  rec::Index in(const Logic& other, const rec::Recording& r, rec::Index call) const {
    return other.calls_[number_.at(r.calls[call].thread)][place_[call]];
  }
  bool has(rec::Index call) const { return place_[call] != rec::kNone; }
  bool same(const rec::Recording& r, const Logic& other, const rec::Recording& others) const {
    const auto name = [](const rec::Recording& of, rec::Index call) {
      return of.functions[of.calls[call].function].name;
    };
    return std::equal(calls_.begin(), calls_.end(), other.calls_.begin(), other.calls_.end(),
                      [&](const auto& mine, const auto& theirs) {
                        return std::equal(
                            mine.begin(), mine.end(), theirs.begin(), theirs.end(),
                            [&](rec::Index a, rec::Index b) { return name(r, a) == name(others, b); });
                      });
  }

 private:
  std::vector<std::vector<rec::Index>> calls_;  // by thread
  std::vector<rec::Index> place_;               // in that, by call
  std::map<rec::Index, rec::Index> number_;     // of threads
};

Duration median(std::vector<Duration> lengths) {
  const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>((lengths.size() - 1) / 2);
  std::nth_element(lengths.begin(), middle, lengths.end());
  return *middle;
}

}  // namespace

std::optional<JobTimes> compare_jobs(const rec::Recording& r, const rec::Recording& other) {
  const Logic logic(r), others(other);
  if (!logic.same(r, others, other)) return std::nullopt;
  std::vector<rec::Index> first(r.jobs.size(), rec::kNone), last(r.jobs.size(), rec::kNone);
  for (rec::Index c = 0; c < r.calls.size(); ++c) {
    const rec::Index job = r.calls[c].job;
    if (job == rec::kNone || r.calls[c].thread != r.jobs[job].thread) continue;
    if (first[job] == rec::kNone) first[job] = c;
    last[job] = c;
  }
  std::vector<Duration> with, without;
  for (rec::Index j = 0; j < r.jobs.size(); ++j) {
    if (r.jobs[j].warm_up || first[j] == rec::kNone || !logic.has(first[j]) || !logic.has(last[j])) continue;
    const auto length = [](const rec::Recording& of, rec::Index from, rec::Index to) {
      return of.calls[to].end() - of.calls[from].begin;
    };
    with.push_back(length(r, first[j], last[j]));
    without.push_back(length(other, logic.in(others, r, first[j]), logic.in(others, r, last[j])));
  }
  if (with.empty()) return std::nullopt;
  return JobTimes{median(with), median(without)};
}

}  // namespace gangway::spool
