// The smallest piece of work of a sweep: one replication of one policy at one point, over all permutations.
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
  std::vector<SliceUse> slices;          // by client, where the experiment counts them
  std::vector<ServiceMetrics> services;  // likewise
  std::optional<double> switching;       // share of the time; none where no policy launched anything
  std::vector<double> evictions_by_gpu;  // per run, where the experiment counts them
  std::string job_rows;                  // of jobs.csv, sorted; empty when the experiment does not write them
  std::uint64_t events = 0;
  Lateness lateness;  // of a scheduler in real time
};

struct Unit {
  std::uint32_t point = 0;
  std::uint32_t policy = 0;
  std::uint32_t replication = 0;
};

// Plays the unit, at its point, in the given world. When `stop` gets set the result is empty. `first` (if
// any) is given the records of permutation 0 as well.
std::optional<UnitResult> play(const Experiment& experiment, const Point& point, const WorldEntry& world,
                               const Unit& unit, const std::atomic<bool>& stop, TraceSink* first = nullptr);

// Plays one run of the unit for its trace. Returns false when `stop` got set before its end.
bool play_traced(const Experiment& experiment, const WorldEntry& world, const Unit& unit,
                 std::uint32_t permutation, TraceSink& trace, const std::atomic<bool>& stop);

std::uint32_t permutation_count(const Experiment& experiment, const Point& point);

// Clients in order of arrival for one permutation (the identity where the workload does not permute), drawn
// from the point's seed.
std::vector<std::uint32_t> arrival_order(const Experiment& experiment, const Workload& workload,
                                         std::uint64_t seed, std::uint32_t replication,
                                         std::uint32_t permutation);

// A column of jobs.csv. Those of swept parameters have no kind.
struct JobField {
  std::string name;
  std::optional<JobMetric::Kind> kind;
};
std::vector<JobField> job_fields(const Experiment& experiment);
std::string job_columns(const Experiment& experiment);  // its first line

}  // namespace gangway
