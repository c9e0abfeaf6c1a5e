// Of one job.
#include <fmt/format.h>

#include <iterator>

#include "experiments/metrics/samples.hpp"

namespace gangway {
namespace {

using AppendJob = std::function<void(std::string&, const JobResult&)>;

template <typename Get>
AppendJob always(Get get) {
  return [get](std::string& row, const JobResult& job) {
    fmt::format_to(std::back_inserter(row), "{}", get(job));
  };
}

template <typename Get>
AppendJob if_finished(Get get) {
  return [get](std::string& row, const JobResult& job) {
    if (job.finish) fmt::format_to(std::back_inserter(row), "{}", get(job));
  };
}

void append_start(std::string& row, const JobResult& job) {
  if (job.start) fmt::format_to(std::back_inserter(row), "{}", job.start->ns);
}

}  // namespace

// clang-format off
template <>
std::list<JobMetric> Metrics<JobMetric>::usual() {
  using Kind = JobMetric::Kind;
  return {
      {{.name = "arrival_ns", .label = "release", .unit = MetricUnit::ns, .meaning = "When it was released, from the start of the run."},
       Kind::whole, always([](const JobResult& j) { return j.arrival.ns; })},
      {{.name = "start_ns", .label = "start", .unit = MetricUnit::ns, .meaning = "When the first block of its first kernel ran."},
       Kind::number, append_start},
      {{.name = "finish_ns", .label = "finish", .unit = MetricUnit::ns, .meaning = "When it finished; empty if it did not."},
       Kind::number, if_finished([](const JobResult& j) { return j.finish->ns; })},
      {{.name = "standalone_ns", .label = "time alone", .unit = MetricUnit::ns, .meaning = "Its time alone."},
       Kind::whole, always([](const JobResult& j) { return j.standalone.ns; })},
      {{.name = "response_ns", .label = "response", .unit = MetricUnit::ns, .better = Better::lower,
        .meaning = "From its release to its finish."},
       Kind::number, if_finished([](const JobResult& j) { return j.response().ns; })},
      {{.name = "ntt", .label = "NTT", .better = Better::lower,
        .meaning = "Normalised turnaround time: response over time alone."},
       Kind::number, if_finished([](const JobResult& j) { return j.ntt(); })},
      {{.name = "evictions", .label = "evictions", .unit = MetricUnit::count, .meaning = "Number of its evictions."},
       Kind::whole, always([](const JobResult& j) { return j.evictions; })},
      {{.name = "launches", .label = "launches", .unit = MetricUnit::count, .meaning = "Number of its launches."},
       Kind::whole, always([](const JobResult& j) { return j.launches; })},
      {{.name = "outcome", .label = "outcome", .unit = MetricUnit::text,
        .meaning = "`finished`, `unfinished` when the run ended, `killed` by the policy, `out of resources`, or `program ended`: its client's program ended by itself."},
       Kind::text, always([](const JobResult& j) { return name_of(j.outcome); })},
      {{.name = "priority", .label = "priority", .unit = MetricUnit::count, .meaning = "Its client's priority."},
       Kind::whole, always([](const JobResult& j) { return j.priority; })}};
}
// clang-format on

template <>
std::source_location Metrics<JobMetric>::place_of_usual() {
  return std::source_location::current();
}

}  // namespace gangway
