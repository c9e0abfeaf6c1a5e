#include "models/recording/jobs.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "models/error.hpp"
#include "models/recording/stream_order.hpp"

namespace gangway::recording {
namespace {

constexpr std::string_view kNvtx = "nvtx:";
constexpr std::int64_t kNearlyAll = 10;  // all but one in so many

// The last submission of each stream that is known to be over: an index of a call.
struct Reached : std::map<Index, Index> {
  using map::map;
};

void join(Reached& a, const Reached& b) {
  for (const auto& [stream, call] : b) {
    const auto [place, is_new] = a.try_emplace(stream, call);
    if (!is_new) place->second = std::max(place->second, call);
  }
}

struct Join {
  void operator()(Reached& a, const Reached& b) const { join(a, b); }
};

class SyncJobs {
 public:
  explicit SyncJobs(Recording& r) : r_(r), reaches_(r), threads_(r.threads.size()) {}

  void cut() {
    std::size_t work = 0, order = 0;
    for (Index call = 0; call < r_.calls.size(); ++call) {
      Open& open = threads_[r_.calls[call].thread];
      bool known = false;
      for (; work < r_.works.size() && r_.works[work].call == call; ++work) {
        const Work& w = r_.works[work];
        reaches_.follows(w.stream)[w.stream] = call;
        submitted(open, call, w);
        if (host_waits_for(r_, w)) join(open.known, reaches_.follows(w.stream)), known = true;
      }
      for (; order < r_.orders.size() && r_.orders[order].call == call; ++order) {
        const Order& o = r_.orders[order];
        reaches_.note(o);
        if (o.kind > OrderKind::event) continue;
        join(open.known, reaches_.of(o));
        known = true;
      }
      if (known) synchronised(open, call);
    }
    help();
    for (Open& open : threads_)
      if (!open.ever_synchronised) cut_by_device_time(open);
  }

 private:
  struct Open {
    Index first = kNone;  // call of the job that is under way
    Reached used, known;  // its submissions, and those that are known to be over
    bool ever_synchronised = false;
    std::vector<const Work*> works;  // as long as it never did
  };

  void submitted(Open& open, Index call, const Work& work) {
    if (open.first == kNone) open.first = call;
    open.used[work.stream] = call;
    if (!open.ever_synchronised) open.works.push_back(&work);
  }

  void synchronised(Open& open, Index call) {
    if (open.first == kNone) return;
    for (const auto& [stream, last] : open.used) {
      const auto known = open.known.find(stream);
      if (known == open.known.end() || known->second < last) return;
    }
    close(open, open.first, call, JobKind::sync, r_.calls[call].end());
    open.ever_synchronised = true;
    open.works = {};
  }

  // A thread that never waits works for one that does, for the job of its process that is under way, if
  // nearly all of its work lies in such jobs: the rest is in none.
  void help() {
    std::vector<Help> helps(threads_.size());
    const std::vector<Index> jobs = jobs_under_way(helps);
    for (Index t = 0; t < threads_.size(); ++t)
      if (helps[t].calls > 0 && kNearlyAll * helps[t].within.ns >= (kNearlyAll - 1) * helps[t].all.ns)
        threads_[t].works.clear();  // they are not cut
      else
        helps[t].calls = 0;
    for (Index c = 0; c < jobs.size(); ++c)
      if (jobs[c] != kNone && helps[r_.calls[c].thread].calls > 0) r_.calls[c].job = jobs[c];
  }

  // What a thread that never waits does in others' jobs.
  struct Help {
    std::size_t calls = 0;
    Duration within, all;  // length of its work there, and from its process's first job to its last
  };

  // By call of such a thread.
  std::vector<Index> jobs_under_way(std::vector<Help>& helps) const {
    const auto count = static_cast<Index>(r_.jobs.size());
    std::vector<Index> by_begin(count);
    for (Index j = 0; j < count; ++j) by_begin[j] = j;
    std::stable_sort(by_begin.begin(), by_begin.end(),
                     [&](Index a, Index b) { return r_.jobs[a].begin < r_.jobs[b].begin; });
    std::size_t next = 0, work = 0;
    std::map<Index, Index> under_way;  // by process: the job that began last
    std::map<Index, Time> last_end;    // likewise, of all
    for (const Job& job : r_.jobs) {
      Time& end = last_end.try_emplace(r_.threads[job.thread].process, job.begin).first->second;
      end = std::max(end, job.begin + job.length);
    }
    std::vector<Index> jobs(r_.calls.size(), kNone);
    for (Index c = 0; c < r_.calls.size(); ++c) {
      const Call& call = r_.calls[c];
      for (; next < count && r_.jobs[by_begin[next]].begin <= call.begin; ++next)
        under_way[r_.threads[r_.jobs[by_begin[next]].thread].process] = by_begin[next];
      Duration length;
      for (; work < r_.works.size() && r_.works[work].call == c; ++work) length += r_.works[work].length;
      const Index process = r_.threads[call.thread].process;
      const auto job = under_way.find(process);
      if (threads_[call.thread].ever_synchronised || job == under_way.end() || call.begin > last_end[process])
        continue;
      Help& help = helps[call.thread];
      help.all += length;
      if (call.end() > r_.jobs[job->second].begin + r_.jobs[job->second].length) continue;
      jobs[c] = job->second;
      ++help.calls;
      help.within += length;
    }
    return jobs;
  }

  void cut_by_device_time(Open& open) {
    Duration time;
    Index first = kNone;
    for (const Work* work : open.works) {
      if (first == kNone) first = work->call;
      time += work->length;
      if (time < kDeviceTimeOfCut) continue;
      close(open, first, work->call, JobKind::cut, std::max(work->end(), r_.calls[work->call].end()));
      time = {};
      first = kNone;
    }
  }

  void close(Open& open, Index first, Index last, JobKind kind, Time end) {
    const Index thread = r_.calls[first].thread;
    const Time begin = r_.calls[first].begin;
    const auto job = static_cast<Index>(r_.jobs.size());
    r_.jobs.push_back({kind, thread, begin, end - begin, false});
    for (Index call = first; call <= last; ++call)
      if (r_.calls[call].thread == thread) r_.calls[call].job = job;
    open.first = kNone;
    open.used.clear();
    open.known.clear();
  }

  Recording& r_;
  StreamOrder<Reached, Join> reaches_;
  std::vector<Open> threads_;
};

// Those of a name, but for those within another of their thread; in the order of their beginning.
std::vector<Range> outermost(const Recording& r, const JobRule& rule) {
  std::vector<bool> named(r.range_names.size());
  for (std::size_t n = 0; n < named.size(); ++n) named[n] = is_job(r.range_names[n], rule);
  std::vector<Range> ranges;
  for (const Range& range : r.ranges)
    if (named[range.name] && range.length) ranges.push_back(range);
  std::stable_sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) {
    return a.begin != b.begin ? a.begin < b.begin : *a.length > *b.length;
  });
  std::vector<Time> ends(r.threads.size());
  std::erase_if(ranges, [&](const Range& range) {
    Time& end = ends[range.thread];
    const bool within = range.begin + *range.length <= end;
    end = std::max(end, range.begin + *range.length);
    return within;
  });
  return ranges;
}

void cut_by_ranges(Recording& r, const JobRule& rule) {
  for (const Range& range : outermost(r, rule))
    r.jobs.push_back({JobKind::nvtx, range.thread, range.begin, *range.length, false});
  // Both are in the order of their beginning.
  std::vector<Index> open;
  std::vector<bool> has_jobs(r.threads.size());
  for (const Job& job : r.jobs) has_jobs[job.thread] = true;
  std::size_t next = 0;
  for (Call& call : r.calls) {
    while (next < r.jobs.size() && r.jobs[next].begin <= call.begin)
      open.push_back(static_cast<Index>(next++));
    std::erase_if(open, [&](Index job) { return r.jobs[job].begin + r.jobs[job].length <= call.begin; });
    for (const Index job : open) {
      const Index thread = r.jobs[job].thread;
      const bool helps =
          !has_jobs[call.thread] && r.threads[thread].process == r.threads[call.thread].process;
      if (thread == call.thread || helps) call.job = job;
    }
  }
}

void take_whole(Recording& r) {
  if (r.works.empty()) return;
  const Index first = r.works.front().call;
  const Time begin = r.calls[first].begin;
  Time end = begin;
  for (const Work& work : r.works) end = std::max(end, work.end());
  for (Index call = first; call < r.calls.size(); ++call) {
    if (r.calls[call].begin > end) break;
    r.calls[call].job = 0;
  }
  r.jobs.push_back({JobKind::whole, kNone, begin, end - begin, false});
}

// Jobs of several threads end in another order than they begin.
void sort_jobs(Recording& r) {
  std::vector<Index> order(r.jobs.size()), place(r.jobs.size());
  for (Index i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](Index a, Index b) { return r.jobs[a].begin < r.jobs[b].begin; });
  std::vector<Job> jobs;
  for (const Index i : order) {
    place[i] = static_cast<Index>(jobs.size());
    jobs.push_back(r.jobs[i]);
  }
  r.jobs = std::move(jobs);
  for (Call& call : r.calls)
    if (call.job != kNone) call.job = place[call.job];
}

}  // namespace

JobRule read_job_rule(const std::string& text) {
  JobRule rule;
  if (text == "sync") return rule;
  if (text == "whole") {
    rule.kind = JobKind::whole;
    return rule;
  }
  if (text.starts_with(kNvtx) && text.size() > kNvtx.size()) {
    rule.kind = JobKind::nvtx;
    rule.range = text.substr(kNvtx.size());
    return rule;
  }
  throw InputError({"--jobs", 0}, "jobs", quote(text), "sync, nvtx:NAME or whole");
}

std::string to_text(const JobRule& rule) {
  if (rule.kind == JobKind::nvtx) return std::string(kNvtx) + rule.range;
  return rule.kind == JobKind::whole ? "whole" : "sync";
}

bool is_job(const RangeName& name, const JobRule& rule) {
  const std::string_view wanted = rule.range;
  const auto matches = [](std::string_view text, std::string_view pattern) {
    if (!pattern.ends_with('*')) return text == pattern;
    return text.starts_with(pattern.substr(0, pattern.size() - 1));
  };
  if (matches(name.name, wanted)) return true;
  const std::string domain = name.domain + "/";
  return wanted.starts_with(domain) && matches(name.name, wanted.substr(domain.size()));
}

void cut_jobs(Recording& r, const JobRule& rule) {
  r.jobs.clear();
  for (Call& call : r.calls) call.job = kNone;
  if (rule.kind == JobKind::nvtx)
    cut_by_ranges(r, rule);
  else if (rule.kind == JobKind::whole)
    take_whole(r);
  else
    SyncJobs(r).cut();
  sort_jobs(r);
  r.about.jobs = to_text(rule);
  r.about.skip = std::min(rule.skip, static_cast<std::uint32_t>(r.jobs.size()));
  for (std::size_t job = 0; job < r.about.skip; ++job) r.jobs[job].warm_up = true;
}

}  // namespace gangway::recording
