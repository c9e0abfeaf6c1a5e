// The smallest unit of a sweep: one replication of one policy at one point, over all permutations.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "experiments/metrics/samples.hpp"
#include "experiments/sweeps/experiment.hpp"
#include "models/metrics/replication.hpp"
#include "models/metrics/service_meter.hpp"
#include "models/metrics/slice_meter.hpp"
#include "models/metrics/switch_meter.hpp"
#include "models/run/lateness.hpp"
#include "models/world.hpp"

namespace gangway {

struct UnitResult {
  ReplicationMetrics metrics;
  std::vector<ResponseTimes> responses;  // by client
  std::vector<SliceUse> slices;          // by client, if counted
  std::vector<double> kernel_evictions;  // likewise: inside kernels, per run
  std::vector<ServiceMetrics> services;  // likewise
  std::optional<double> switching;       // share of time; none if no policy launched anything
  std::vector<double> evictions_by_gpu;  // per run, if counted
  std::string job_rows;                  // rows of jobs.csv, sorted; empty if not requested
  std::uint64_t events = 0;
  Lateness lateness;               // of a real-time scheduler
  std::vector<std::string> notes;  // what the world remarked of its runs, one line each, with their place
};

struct Unit {
  std::uint32_t point = 0;
  std::uint32_t policy = 0;
  std::uint32_t replication = 0;
};

// Plays the unit at its point in the given world. Empty if `stop` was set. `first`, if not null, also
// receives the records of permutation 0.
std::optional<UnitResult> play(const Experiment& experiment, const Point& point, const WorldEntry& world,
                               const Unit& unit, const std::atomic<bool>& stop, TraceSink* first = nullptr);

// Plays one run for its trace. False if `stop` was set before its end.
bool play_traced(const Experiment& experiment, const WorldEntry& world, const Unit& unit,
                 std::uint32_t permutation, TraceSink& trace, const std::atomic<bool>& stop);

std::uint32_t permutation_count(const Experiment& experiment, const Point& point);

// Clients in arrival order for a permutation, drawn from the point's seed; the identity if the workload does
// not permute.
std::vector<std::uint32_t> arrival_order(const Experiment& experiment, const Workload& workload,
                                         std::uint64_t seed, std::uint32_t replication,
                                         std::uint32_t permutation);

// A column of jobs.csv. Swept parameters have no kind.
struct JobField {
  std::string name;
  std::optional<JobMetric::Kind> kind;
};
std::vector<JobField> job_fields(const Experiment& experiment);
std::string job_columns(const Experiment& experiment);  // header line

}  // namespace gangway
