#include "models/recording/summary.hpp"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "models/metrics/statistics.hpp"
#include "models/recording/timing.hpp"
#include "models/shown.hpp"

namespace gangway::recording {
namespace {

constexpr std::size_t kMostKernels = 5;
constexpr std::size_t kLongestName = 60;

struct Interval {
  Time begin, end;
};

// Sorted and without overlaps.
std::vector<Interval> joined(std::vector<Interval> intervals) {
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  std::vector<Interval> out;
  for (const Interval& i : intervals) {
    if (!out.empty() && i.begin <= out.back().end)
      out.back().end = std::max(out.back().end, i.end);
    else
      out.push_back(i);
  }
  return out;
}

// By nearest rank: the least value that so large a share of them does not exceed.
template <typename Value>
Value percentile(std::vector<Value> values, double share) {
  if (values.empty()) return {};
  const auto place = static_cast<std::size_t>(rank_of(share, std::ssize(values)) - 1);
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(place), values.end());
  return values[place];
}

Index gpu_of(const Recording& r, const Work& work) { return r.contexts[r.streams[work.stream].context].gpu; }

// When all calls that are under way at a time have returned.
class Returns {
 public:
  explicit Returns(const Recording& r) {
    for (const Call& call : r.calls) calls_.push_back({call.begin, call.end()});
    std::sort(calls_.begin(), calls_.end(),
              [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
    for (std::size_t c = 1; c < calls_.size(); ++c)
      calls_[c].end = std::max(calls_[c].end, calls_[c - 1].end);
  }
  Time after(Time at) const {
    const auto later = std::upper_bound(calls_.begin(), calls_.end(), at,
                                        [](Time time, const Interval& call) { return time < call.begin; });
    return later == calls_.begin() ? at : std::max(at, std::prev(later)->end);
  }

 private:
  std::vector<Interval> calls_;  // by begin; each with the latest end so far
};

// One GPU while jobs are under way: busy, or idle until the host submits, or idle for another reason.
void account(const Recording& r, const Returns& returns, const std::vector<Interval>& under_way,
             Summary::OfGpu& out) {
  std::vector<const Work*> works;
  for (const Work& work : r.works)
    if (gpu_of(r, work) == out.gpu) works.push_back(&work);
  std::stable_sort(works.begin(), works.end(),
                   [](const Work* a, const Work* b) { return a->begin < b->begin; });
  std::size_t next = 0;
  Time busy_until{INT64_MIN};
  for (const Interval& window : under_way) {
    out.under_way += window.end - window.begin;
    for (Time at = window.begin; at < window.end;) {
      while (next < works.size() && works[next]->begin <= at)
        busy_until = std::max(busy_until, works[next++]->end());
      if (busy_until > at) {
        const Time until = std::min(busy_until, window.end);
        out.busy += until - at;
        at = until;
        continue;
      }
      if (next == works.size() || works[next]->begin >= window.end) {
        // Nothing more comes: once the program knows, the rest of the job is the host's.
        out.waits_for_host += window.end - std::min(window.end, returns.after(at));
        break;
      }
      const Time submitted = r.calls[works[next]->call].end(), begins = works[next]->begin;
      if (submitted > at) out.waits_for_host += std::min(submitted, begins) - at;
      at = begins;
    }
  }
}

std::string direction(const Transfer& t) {
  const auto host = [](MemoryKind kind) {
    return kind == MemoryKind::pageable || kind == MemoryKind::pinned;
  };
  if (host(t.from) && host(t.to)) return "on the host";
  if (host(t.from)) return t.from == MemoryKind::pinned ? "to the GPU, pinned" : "to the GPU, pageable";
  if (host(t.to)) return t.to == MemoryKind::pinned ? "from the GPU, pinned" : "from the GPU, pageable";
  return "on the GPU";
}

bool counts(const Recording& r, const Work& work) {
  const Index job = r.calls[work.call].job;
  return job != kNone && !r.jobs[job].warm_up;
}

void add_works(const Recording& r, Summary& out) {
  std::map<std::string, Summary::OfKernel> kernels;
  for (const Work& work : r.works) {
    if (!counts(r, work)) continue;
    if (work.kind == WorkKind::copy) {
      const Transfer& t = r.transfers[work.shape];
      Summary::OfCopies& copies = out.copies[direction(t)];
      ++copies.count;
      copies.bytes += t.bytes;
      copies.total += work.length;
    }
    if (work.kind != WorkKind::kernel && work.kind != WorkKind::graph) continue;
    const std::string name =
        work.kind == WorkKind::graph ? fmt::format("graph {}", work.shape) : r.launches[work.shape].kernel;
    Summary::OfKernel& kernel = kernels[name];
    kernel.name = name;
    ++kernel.launches;
    kernel.total += work.length;
  }
  for (const auto& [name, kernel] : kernels) out.kernels.push_back(kernel);
  std::stable_sort(out.kernels.begin(), out.kernels.end(),
                   [](const auto& a, const auto& b) { return a.total > b.total; });
}

void count_overlaps(const Recording& r, Summary& out) {
  constexpr Time kLongAgo{INT64_MIN / 2};  // the GPU's clock may be behind the recording's origin
  std::vector<Time> job_ends(r.threads.size(), kLongAgo), work_ends(r.streams.size(), kLongAgo);
  for (const Job& job : r.jobs) {
    if (job.thread == kNone) continue;
    Time& end = job_ends[job.thread];
    if (!job.warm_up && job.begin < end) ++out.overlapping_jobs;
    end = std::max(end, job.begin + job.length);
  }
  Duration all;
  for (const Work& work : r.works) {
    Time& end = work_ends[work.stream];
    if (work.begin < end) out.overlapping_work += std::min(end, work.end()) - work.begin;
    end = std::max(end, work.end());
    all += work.length;
  }
  // Some of it is how time stamps are taken.
  if (100 * out.overlapping_work.ns < all.ns) out.overlapping_work = {};
  out.unplayed = unplayed_work(r, take_apart(r).timeline_of);
  if (100 * out.unplayed.ns < all.ns) out.unplayed = {};
}

void add_jobs(const Recording& r, Summary& out) {
  std::vector<std::int64_t> kernels_in(r.graphs.size()), submissions(r.jobs.size()), kernels(r.jobs.size());
  for (const GraphNode& node : r.nodes) kernels_in[node.graph] += node.kind == WorkKind::kernel;
  for (const Work& work : r.works) {
    const Index job = r.calls[work.call].job;
    if (job == kNone) continue;
    ++submissions[job];
    if (work.kind == WorkKind::kernel) ++kernels[job];
    if (work.kind == WorkKind::graph) kernels[job] += kernels_in[work.shape];
  }
  std::vector<std::int64_t> lengths, submissions_of, kernels_of;
  for (std::size_t j = 0; j < r.jobs.size(); ++j) {
    if (r.jobs[j].warm_up) continue;
    lengths.push_back(r.jobs[j].length.ns);
    submissions_of.push_back(submissions[j]);
    kernels_of.push_back(kernels[j]);
  }
  out.jobs = static_cast<std::int64_t>(lengths.size());
  out.warm_up = static_cast<std::int64_t>(r.jobs.size()) - out.jobs;
  out.median = Duration{percentile(lengths, 0.5)};
  out.p90 = Duration{percentile(lengths, 0.9)};
  out.shortest = Duration{percentile(lengths, 0)};
  out.longest = Duration{percentile(lengths, 1)};
  out.outliers = std::count_if(lengths.begin(), lengths.end(),
                               [&](std::int64_t length) { return 2 * length > 3 * out.p90.ns; });
  out.longest_job = std::max_element(lengths.begin(), lengths.end()) - lengths.begin();
  count_overlaps(r, out);
  out.submissions_of_job = static_cast<double>(percentile(submissions_of, 0.5));
  out.kernels_of_job = static_cast<double>(percentile(kernels_of, 0.5));
}

void add_gpus(const Recording& r, Summary& out) {
  std::vector<Interval> windows;
  for (const Job& job : r.jobs)
    if (!job.warm_up) windows.push_back({job.begin, job.begin + job.length});
  windows = joined(std::move(windows));
  const Returns returns(r);
  std::vector<bool> used(r.gpus.size());
  for (const Work& work : r.works) used[gpu_of(r, work)] = true;
  for (Index gpu = 0; gpu < used.size(); ++gpu) {
    if (!used[gpu]) continue;
    Summary::OfGpu& of = out.gpus.emplace_back();
    of.gpu = gpu;
    account(r, returns, windows, of);
    of.most_memory = most_memory(r, gpu);
  }
}

std::string bottleneck(const Summary& s, const Summary::OfGpu& g) {
  if (s.jobs == 0) return "no jobs";
  if (g.busy_most()) return "the GPU is the bottleneck";
  return g.held_up_by_host() ? "the host is the bottleneck" : "latencies are the bottleneck";
}

std::string shortened(const std::string& name) {
  return name.size() <= kLongestName ? name : name.substr(0, kLongestName - 3) + "...";
}

std::string plural(std::int64_t count, const std::string& one, const std::string& many = "") {
  return fmt::format("{} {}", count, count == 1 ? one : many.empty() ? one + "s" : many);
}
std::int64_t count_of(const auto& rows) { return static_cast<std::int64_t>(rows.size()); }

}  // namespace

Bytes most_memory(const Recording& r, Index gpu) {
  Bytes held, most;
  for (const MemoryChange& m : r.memory) {
    if (m.gpu != gpu || m.kind != MemoryKind::device) continue;
    held += Bytes{m.bytes};
    most = std::max(most, held);
  }
  return most;
}

Duration median_of(std::vector<Duration> times) { return percentile(std::move(times), 0.5); }

Duration median_job(const PlayedProgram& program) {
  std::vector<Duration> lengths;
  for (const PlayedJob& job : program.jobs.first(program.job_count())) lengths.push_back(job.length);
  return median_of(std::move(lengths));
}

Summary summarise(const Recording& r) {
  Summary out;
  out.submissions = static_cast<std::int64_t>(r.works.size());
  add_jobs(r, out);
  add_works(r, out);
  add_gpus(r, out);
  std::vector<bool> has_nodes(r.graphs.size());
  for (const GraphNode& node : r.nodes) has_nodes[node.graph] = true;
  out.graphs = static_cast<std::int64_t>(r.graphs.size());
  out.graphs_without_nodes = std::count(has_nodes.begin(), has_nodes.end(), false);
  return out;
}

std::string plain_name(const std::string& mangled) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> plain(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), std::free);
  std::string name = status == 0 && plain != nullptr ? plain.get() : mangled;
  if (name.starts_with("void ")) name = name.substr(5);
  // The parameters begin at the last bracket outside of all others.
  int depth = 0;
  for (std::size_t i = name.size(); i-- > 0;) {
    if (name[i] == ')') ++depth;
    if (name[i] == '(' && --depth == 0) return i > 0 && status == 0 ? name.substr(0, i) : name;
  }
  return name;
}

bool host_is_bottleneck(const Summary& summary) {
  return summary.jobs > 0 && std::any_of(summary.gpus.begin(), summary.gpus.end(),
                                         [](const Summary::OfGpu& gpu) { return gpu.held_up_by_host(); });
}

std::string to_text(const Recording& r, const Summary& s) {
  std::string out;
  const auto line = [&]<typename... Values>(fmt::format_string<Values...> format, Values&&... values) {
    out += fmt::format(format, std::forward<Values>(values)...) + '\n';
  };
  line("{} of {} in {}", plural(s.submissions, "submission"), plural(count_of(r.threads), "thread"),
       plural(count_of(r.processes), "process", "processes"));
  line("{} ({})", plural(s.jobs, "job"), r.about.jobs);
  if (s.warm_up > 0) line("          {} before them left out as warm-up", plural(s.warm_up, "job"));
  if (s.jobs > 0) {
    line("jobs      median {}, 90th percentile {}, {} to {}", rounded_time(s.median), rounded_time(s.p90),
         rounded_time(s.shortest), rounded_time(s.longest));
    if (s.outliers > 0) {
      line("outliers  {} of {} took more than 1.5 times the 90th percentile; the longest is job {}",
           s.outliers, s.jobs, s.longest_job);
      line("          (predictions play them, too: if something disturbed the program, record it again)");
    }
    if (s.overlapping_jobs > 0)
      line(
          "overlap   {} before an earlier one of the same thread has ended; predictions play them one after "
          "the other",
          plural(s.overlapping_jobs, "job begins", "jobs begin"));
    if (r.about.unrecorded > Duration{})
      line("          median {} when nobody records it; predictions scale the host's times to that",
           rounded_time(r.about.unrecorded));
    line("a job     submissions {:.0f}, kernels {:.0f} (medians{})", s.submissions_of_job, s.kernels_of_job,
         s.graphs_without_nodes == 0
             ? std::string()
             : "; the kernels of " + plural(s.graphs_without_nodes, "graph") + " are not known");
  }
  if (s.overlapping_work > Duration{})
    line(
        "overlap   for {} works of a stream run beside each other; predictions play them one after the other",
        rounded_time(s.overlapping_work));
  if (s.unplayed > Duration{})
    line(
        "unplayed  {} of GPU work between the first job and the last belong to no job; predictions leave "
        "them out",
        rounded_time(s.unplayed));
  for (const Summary::OfGpu& g : s.gpus) {
    const double busy = g.share(g.busy), host = g.share(g.waits_for_host);
    line("GPU {}     {}: busy {:.1f} % of the time of jobs, waits for the host {:.1f} %: {}", g.gpu,
         r.gpus[g.gpu].name.empty() ? "not known which" : r.gpus[g.gpu].name, 100 * busy, 100 * host,
         bottleneck(s, g));
    if (!r.memory.empty()) line("memory    at most {} held", rounded_size(g.most_memory));
  }
  Duration total;
  for (const auto& kernel : s.kernels) total += kernel.total;
  for (std::size_t k = 0; k < std::min(kMostKernels, s.kernels.size()); ++k) {
    const auto& kernel = s.kernels[k];
    line("{} {:5.1f} %  {:>9} each, {} times: {}", k == 0 ? "kernels  " : "         ",
         100.0 * static_cast<double>(kernel.total.ns) /
             static_cast<double>(std::max<std::int64_t>(total.ns, 1)),
         rounded_time(Duration{kernel.total.ns / kernel.launches}), kernel.launches,
         shortened(plain_name(kernel.name)));
  }
  bool first = true;
  for (const auto& [where, copies] : s.copies) {
    line("{} {} {}: {} in {}", first ? "copies   " : "         ", copies.count, where,
         rounded_size(copies.bytes), rounded_time(copies.total));
    first = false;
  }
  if (!r.beside.empty())
    line("beside    {} of {} ran beside other work on the GPU", r.beside.size(),
         plural(s.submissions, "submission"));
  if (s.graphs > 0)
    line("graphs    {}{}", s.graphs,
         s.graphs_without_nodes == 0 ? ", with their nodes"
         : s.graphs_without_nodes == s.graphs
             ? r.about.source.empty()
                   ? ", timed as launched (--graph-nodes runs the program once more for their nodes)"
                   : ", timed as launched"
             : fmt::format(", {} of them without nodes", s.graphs_without_nodes));
  return out;
}

}  // namespace gangway::recording
