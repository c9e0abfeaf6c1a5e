#include "models/recording/timing.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "models/recording/stream_order.hpp"

namespace gangway::recording {
namespace {

// Where a recording has no example of one; as on an H100.
constexpr Duration kUsualLaunch{6'000}, kUsualBehind{1'000}, kUsualWake{5'000};
// A helper works beside another thread where one in so many calls overlap.
constexpr std::size_t kOverlaps = 100;
// A stream into which that many submissions fit is no reason to wait.
constexpr std::size_t kLeastDepth = 256;
constexpr Duration kLongCall{20'000};

// When what a stream was given is over: before anything, where it was given nothing.
struct End {
  Time time{INT64_MIN / 2};
};
struct Later {
  void operator()(End& a, End b) const { a.time = std::max(a.time, b.time); }
};

class Samples {
 public:
  void add(Duration value) { values_.push_back(value.ns); }
  bool empty() const { return values_.empty(); }
  std::optional<Duration> median() {
    if (values_.empty()) return std::nullopt;
    const auto middle = values_.begin() + static_cast<std::ptrdiff_t>((values_.size() - 1) / 2);
    std::nth_element(values_.begin(), middle, values_.end());
    return Duration{*middle};
  }

 private:
  std::vector<std::int64_t> values_;
};

// Medians by kind, with one for kinds that have no sample.
template <std::size_t kKinds>
class Medians {
 public:
  void add(std::size_t kind, Duration value) { samples_[kind].add(value), all_.add(value); }
  void settle(Duration usual) {
    const Duration any = all_.median().value_or(usual);
    for (std::size_t k = 0; k < kKinds; ++k) medians_[k] = samples_[k].median().value_or(any);
  }
  Duration of(std::size_t kind) const { return medians_[kind]; }

 private:
  std::array<Samples, kKinds> samples_;
  Samples all_;
  std::array<Duration, kKinds> medians_{};
};

// --- Timelines

class Threads {
 public:
  explicit Threads(const Recording& r) : r_(r), calls_(r.threads.size()), has_jobs_(r.threads.size()) {
    for (const Job& job : r.jobs) begins_.push_back(job.thread);
    for (const Call& call : r.calls)  // a job of the whole program has no thread of its own
      if (call.job != kNone && begins_[call.job] == kNone) begins_[call.job] = call.thread;
    for (Index j = 0; j < r.jobs.size(); ++j)
      if (!r.jobs[j].warm_up && begins_[j] != kNone) has_jobs_[begins_[j]] = true;
    count();
  }

  void divide(Timing& out) const {
    std::vector<Index> leaders;
    for (Index t = 0; t < calls_.size(); ++t) leaders.push_back(leader(t));
    out.timeline_of.assign(calls_.size(), kNone);
    for (Index c = 0; c < r_.calls.size(); ++c) {
      const Index thread = r_.calls[c].thread;
      Index& place = out.timeline_of[leaders[thread]];
      if (place == kNone) {
        place = static_cast<Index>(out.timelines.size());
        out.timelines.push_back({r_.threads[thread].process, {}});
      }
      out.timeline_of[thread] = place;
      out.timelines[place].calls.push_back(c);
    }
    // Others may call for a thread that has jobs.
    for (Index t = 0; t < has_jobs_.size(); ++t)
      if (has_jobs_[t] && out.timeline_of[t] == kNone) {
        out.timeline_of[t] = static_cast<Index>(out.timelines.size());
        out.timelines.push_back({r_.threads[t].process, {}});
      }
  }

 private:
  using Pair = std::pair<Index, Index>;
  struct Overlaps {
    std::size_t calls = 0;
    Index last = kNone;  // the last of them
  };

  // Calls of jobs that are played.
  void count() {
    std::vector<Index> last(calls_.size(), kNone);
    std::map<Index, std::vector<Index>> of_process;
    for (Index t = 0; t < calls_.size(); ++t) of_process[r_.threads[t].process].push_back(t);
    for (Index c = 0; c < r_.calls.size(); ++c) {
      const Call& call = r_.calls[c];
      if (call.job == kNone || r_.jobs[call.job].warm_up) continue;
      const Index t = call.thread;
      const Index home = begins_[call.job];
      ++calls_[t];
      if (home != t) helped_[t].insert(home);
      for (const Index other : of_process[r_.threads[t].process])
        if (other != t && last[other] != kNone && r_.calls[last[other]].end() > call.begin) {
          overlap(t, other, c);
          overlap(other, t, last[other]);
        }
      last[t] = c;
    }
  }

  void overlap(Index thread, Index other, Index call) {
    Overlaps& overlaps = overlaps_[{thread, other}];
    if (std::exchange(overlaps.last, call) != call) ++overlaps.calls;
  }

  // A thread without jobs of its own belongs to the only one that it helps, where they take turns.
  Index leader(Index thread) const {
    const auto helped = helped_.find(thread);
    if (has_jobs_[thread] || helped == helped_.end() || helped->second.size() > 1) return thread;
    const Index home = *helped->second.begin();
    if (r_.threads[home].process != r_.threads[thread].process) return thread;
    const auto [few, many] = calls_[thread] < calls_[home] ? Pair{thread, home} : Pair{home, thread};
    const auto overlaps = overlaps_.find({few, many});
    const bool silent = overlaps == overlaps_.end() || overlaps->second.calls * kOverlaps < calls_[few];
    return silent ? home : thread;
  }

  const Recording& r_;
  std::vector<std::size_t> calls_;  // in jobs, by thread
  std::vector<Index> begins_;       // by job: a thread
  std::vector<bool> has_jobs_;
  std::map<Index, std::set<Index>> helped_;  // by helper: whose jobs
  std::map<Pair, Overlaps> overlaps_;        // of the first one's calls with the second one's
};

// --- Dependencies

struct Follows {
  std::vector<Time> work;                    // by work: the end of what it follows
  std::vector<std::optional<Time>> awaited;  // by call: the end of what its host waits for
  std::vector<std::uint32_t> outstanding;    // by call: works before its first one in that one's stream
};

Follows dependencies(const Recording& r) {
  Follows out{std::vector<Time>(r.works.size()), std::vector<std::optional<Time>>(r.calls.size()),
              std::vector<std::uint32_t>(r.calls.size())};
  StreamOrder<End, Later> order(r);
  std::vector<std::deque<Time>> queued(r.streams.size());
  std::size_t work = 0, next = 0;
  for (Index c = 0; c < r.calls.size(); ++c) {
    const Call& call = r.calls[c];
    std::optional<Time> awaited;
    const auto await = [&](Time end) { awaited = std::max(awaited.value_or(end), end); };
    for (bool first = true; work < r.works.size() && r.works[work].call == c; ++work, first = false) {
      const Work& w = r.works[work];
      std::deque<Time>& queue = queued[w.stream];
      while (!queue.empty() && queue.front() <= call.begin) queue.pop_front();
      if (first) out.outstanding[c] = static_cast<std::uint32_t>(queue.size());
      End& end = order.follows(w.stream);
      out.work[work] = end.time;
      Later()(end, {w.end()});
      queue.push_back(end.time);
      const bool synchronous = w.kind == WorkKind::copy && !r.transfers[w.shape].asynchronous;
      if (host_waits_for(r, w) || (synchronous && call.end() >= w.end())) await(w.end());
    }
    for (; next < r.orders.size() && r.orders[next].call == c; ++next) {
      order.note(r.orders[next]);
      if (r.orders[next].kind <= OrderKind::event) await(order.of(r.orders[next]).time);
    }
    out.awaited[c] = awaited;
  }
  return out;
}

// --- Works

std::vector<WorkTiming> time_works(const Recording& r, const std::vector<Time>& follows) {
  Medians<kWorkKinds> launch, behind;
  const auto kind = [&](Index w) { return static_cast<std::size_t>(r.works[w].kind); };
  const auto begin = [&](Index w) { return r.calls[r.works[w].call].begin; };
  for (Index w = 0; w < r.works.size(); ++w)
    if (follows[w] <= begin(w)) launch.add(kind(w), std::max(Duration{}, r.works[w].begin - begin(w)));
  launch.settle(kUsualLaunch);
  for (Index w = 0; w < r.works.size(); ++w)
    if (follows[w] >= begin(w) + launch.of(kind(w)) && r.works[w].begin >= follows[w])
      behind.add(kind(w), r.works[w].begin - follows[w]);
  behind.settle(kUsualBehind);
  std::vector<WorkTiming> out(r.works.size());
  for (Index w = 0; w < r.works.size(); ++w) {
    const Duration from_call = std::max(Duration{}, r.works[w].begin - begin(w)),
                   from_end = std::max(Duration{}, r.works[w].begin - follows[w]);
    if (follows[w] + behind.of(kind(w)) >= begin(w) + launch.of(kind(w)))
      out[w] = {std::min(launch.of(kind(w)), from_call), from_end};
    else
      out[w] = {from_call, std::min(behind.of(kind(w)), from_end)};
  }
  return out;
}

// --- Calls

class CallTimes {
 public:
  CallTimes(const Recording& r, const Follows& follows, Timing& out)
      : r_(r), follows_(follows), out_(out), own_(r.functions.size()), wake_(r.functions.size()) {}

  void take_apart() {
    std::vector<Samples> own(own_.size()), wake(wake_.size());
    Samples wakes;
    std::vector<std::uint32_t> depths;
    for (Index c = 0; c < r_.calls.size(); ++c) {
      const Call& call = r_.calls[c];
      if (!waited(c)) own[call.function].add(call.length);
      if (!waited(c) || call.end() < *follows_.awaited[c]) continue;
      wake[call.function].add(call.end() - *follows_.awaited[c]);
      wakes.add(call.end() - *follows_.awaited[c]);
    }
    const Duration usual = wakes.median().value_or(kUsualWake);
    for (std::size_t f = 0; f < own_.size(); ++f) {
      own_[f] = own[f].median();
      wake_[f] = wake[f].median().value_or(usual);
    }
    for (Index c = 0; c < r_.calls.size(); ++c)
      if (found_full(c)) depths.push_back(follows_.outstanding[c]);
    if (!depths.empty()) {
      const auto middle = depths.begin() + static_cast<std::ptrdiff_t>((depths.size() - 1) / 2);
      std::nth_element(depths.begin(), middle, depths.end());
      out_.depth = *middle;
    }
    for (const Timeline& timeline : out_.timelines) {
      std::optional<Time> before;
      for (const Index c : timeline.calls) {
        out_.calls[c] = timing(c, before);
        before = std::max(before.value_or(Time{}), r_.calls[c].end());
      }
    }
  }

 private:
  bool waited(Index c) const { return follows_.awaited[c] && *follows_.awaited[c] > r_.calls[c].begin; }
  // The call had to wait until there was room in a stream.
  bool found_full(Index c) const {
    const Call& call = r_.calls[c];
    return follows_.outstanding[c] >= kLeastDepth && call.length > kLongCall &&
           call.length.ns > 3 * own_[call.function].value_or(call.length).ns;
  }

  CallTiming timing(Index c, std::optional<Time> before) const {
    const Call& call = r_.calls[c];
    const Duration usual = std::min(call.length, own_[call.function].value_or(Duration{}));
    const Duration gap = before ? std::max(Duration{}, call.begin - *before) : Duration{};
    const std::optional<Time>& awaited = follows_.awaited[c];
    if (!awaited) return {gap, found_full(c) ? usual : call.length, {}, false};
    // A program that asks again and again until the answer is yes has waited since its call before.
    if (r_.kind(call) == CallKind::query && before && *awaited > *before)
      return {{}, call.length, std::max(Duration{}, call.end() - *awaited), true};
    if (!waited(c)) return {gap, call.length, std::min(wake_[call.function], call.end() - *awaited), true};
    return {gap, usual, std::max(Duration{}, call.end() - *awaited), true};
  }

  const Recording& r_;
  const Follows& follows_;
  Timing& out_;
  std::vector<std::optional<Duration>> own_;  // by function: the median where nothing was waited for
  std::vector<Duration> wake_;                // likewise, where something was
};

}  // namespace

Duration unplayed_work(const Recording& r, const std::vector<Index>& timeline_of) {
  struct Span {
    Time first = Time::max(), last{INT64_MIN};
    void add(const Job& job) {
      first = std::min(first, job.begin);
      last = std::max(last, job.begin + job.length);
    }
    bool has(Time at) const { return first <= at && at <= last; }
  };
  Span all;
  std::vector<Span> of(r.threads.size());  // by timeline, of which there are no more
  for (const Job& job : r.jobs) {
    if (job.warm_up) continue;
    all.add(job);
    if (job.thread != kNone) of[timeline_of[job.thread]].add(job);
  }
  Duration unplayed;
  for (const Work& work : r.works) {
    const Call& call = r.calls[work.call];
    if (call.job != kNone || !all.has(call.begin) || of[timeline_of[call.thread]].has(call.begin)) continue;
    unplayed += work.length;
  }
  return unplayed;
}

Timing take_apart(const Recording& r) {
  Timing out;
  Threads(r).divide(out);
  out.calls.resize(r.calls.size());
  const Follows follows = dependencies(r);
  out.works = time_works(r, follows.work);
  CallTimes(r, follows, out).take_apart();
  return out;
}

}  // namespace gangway::recording
