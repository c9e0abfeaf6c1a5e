#include "hw/live/live_trace.hpp"

#include <algorithm>

namespace gangway::live {
namespace {

// A job on the device.
struct Part {
  JobId job;
  Time from;
  std::optional<Time> evicted, to, gone;
  bool first = false, last = false;  // of the job's
  std::uint8_t gpu = 0;
  bool sliced = false;
};

std::vector<Part> parts_of(const LiveHistory& client, ClientId id) {
  std::vector<Part> parts;
  std::size_t span = 0;
  for (std::uint32_t j = 0; j < client.jobs.size(); ++j) {
    const LiveJob& job = client.jobs[j];
    if (!job.begun) continue;
    const std::size_t first = parts.size();
    // Spans that were shut before it began are behind it.
    while (span < client.spans.size() && client.spans[span].shut && *client.spans[span].shut <= *job.begun)
      ++span;
    for (std::size_t s = span; s < client.spans.size(); ++s) {
      const GateSpan& at = client.spans[s];
      if (job.over && at.opened >= *job.over) break;
      Part part{{id, j}, std::max(*job.begun, at.opened), {}, job.over, {}, false, false, client.gpu};
      if (at.shut && (!job.over || *at.shut < *job.over)) {
        part.to = at.shut;
        part.evicted = at.evicted;
        part.gone = at.gone;
        if (job.over && at.gone) part.gone = std::min(*at.gone, *job.over);
        part.sliced = at.sliced;
      }
      if (!part.to || part.from < *part.to) parts.push_back(part);
    }
    if (parts.size() == first)
      parts.push_back({{id, j}, *job.begun, {}, job.over, {}, false, false, client.gpu});
    parts[first].first = true;
    parts.back().last = job.over.has_value();
  }
  return parts;
}

class Writer {
 public:
  Writer(std::size_t clients, Sharing sharing, Time end)
      : sharing_(sharing), end_(end), launch_of_(clients) {}

  void job(const LiveHistory& client, JobId id, const LiveJob& job) {
    note({.time = job.arrived,
          .amount = client.alone.ns,
          .job = id,
          .priority = client.priority,
          .mark = Mark::released});
  }
  void over(JobId id, const LiveJob& job) {
    if (job.over) note({.time = *job.over, .job = id, .mark = job.over_as});
  }

  void departure(ClientId client, const std::vector<LiveJob>& jobs, const Departure& of) {
    JobId job{client, 0};
    while (job.number + 1 < jobs.size() && jobs[job.number + 1].begun &&
           *jobs[job.number + 1].begun <= of.told)
      ++job.number;
    if (jobs.empty()) return;
    note({.time = of.told, .job = job, .mark = Mark::told_to_leave});
    note({.time = of.left, .amount = of.kernels, .job = job, .mark = Mark::kernels_left});
    if (of.again) note({.time = *of.again, .job = job, .mark = Mark::kernels_go_on});
  }

  void part(const Part& part) {
    const bool anew = part.first || sharing_ == Sharing::granted;
    if (anew) launch_of_[part.job.client.index] = {++launches_};
    const LaunchId launch = launch_of_[part.job.client.index];
    const auto at = [&](Time time, Mark mark, Why why = Why::completed) {
      note({.time = time, .launch = launch, .job = part.job, .mark = mark, .why = why, .gpu = part.gpu});
    };
    if (anew) {
      at(part.from, sharing_ == Sharing::granted ? Mark::launch_ordered : Mark::submitted);
      at(part.from, Mark::started);
    } else {
      at(part.from, Mark::resumed);
    }
    if (!part.to) return;
    if (sharing_ != Sharing::granted) return at(*part.to, part.last ? Mark::gone : Mark::paused);
    if (part.evicted) at(*part.evicted, Mark::evict_ordered);
    at(part.gone.value_or(*part.to), Mark::gone);
    at(*part.to, Mark::left,
       part.last      ? Why::completed
       : part.evicted ? Why::evicted
       : part.sliced  ? Why::budget
                      : Why::idle);
  }

  std::vector<Record> take() {
    // What begins at a time follows what ends then.
    std::stable_sort(records_.begin(), records_.end(), [](const Record& a, const Record& b) {
      return std::pair(a.time, rank(a.mark)) < std::pair(b.time, rank(b.mark));
    });
    records_.push_back({.time = end_, .mark = Mark::ended});
    return std::move(records_);
  }

 private:
  static int rank(Mark mark) {
    switch (mark) {
      case Mark::released:
        return 0;
      case Mark::evict_ordered:
      case Mark::told_to_leave:
        return 1;
      case Mark::kernels_left:
      case Mark::gone:
      case Mark::paused:
        return 2;
      case Mark::left:
        return 3;
      case Mark::finished:
      case Mark::killed:
      case Mark::refused:
      case Mark::program_ended:
        return 4;
      case Mark::launch_ordered:
      case Mark::submitted:
        return 5;
      default:
        return 6;
    }
  }
  void note(const Record& record) {
    if (record.time <= end_) records_.push_back(record);
  }

  Sharing sharing_;
  Time end_;
  std::uint64_t launches_ = 0;
  std::vector<LaunchId> launch_of_;  // by client: its latest
  std::vector<Record> records_;
};

}  // namespace

std::vector<Record> live_trace(const std::vector<LiveHistory>& clients, Sharing sharing, Time end) {
  Writer writer(clients.size(), sharing, end);
  std::vector<Part> parts;
  for (std::uint32_t c = 0; c < clients.size(); ++c) {
    for (std::uint32_t j = 0; j < clients[c].jobs.size(); ++j) {
      writer.job(clients[c], {ClientId{c}, j}, clients[c].jobs[j]);
      writer.over({ClientId{c}, j}, clients[c].jobs[j]);
    }
    for (const Departure& departure : clients[c].departures)
      writer.departure(ClientId{c}, clients[c].jobs, departure);
    const std::vector<Part> of = parts_of(clients[c], ClientId{c});
    parts.insert(parts.end(), of.begin(), of.end());
  }
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.from < b.from; });
  for (const Part& part : parts) writer.part(part);
  return writer.take();
}

}  // namespace gangway::live
