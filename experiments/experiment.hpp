// What an experiment file says, resolved: workload and device read, names looked up, overrides applied, the
// sweep expanded.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiments/configuration.hpp"
#include "experiments/published.hpp"
#include "models/device.hpp"
#include "models/mechanism.hpp"
#include "models/policy.hpp"
#include "workloads/source.hpp"

namespace gangway {

// The experiment's device as one policy changes it, and the workload as read for that device.
struct OwnDevice {
  Device device;
  WorkloadSource workload;
};

// A policy as it is played: under the experiment's mechanism and on its device, or on ones of its own.
struct Contender : ChosenPolicy {
  ChosenMechanism mechanism;
  std::optional<OwnDevice> own;
};

// One combination of the swept parameters, ready to run.
struct Point {
  std::vector<std::string> values;         // as text, one per swept path
  Device device;                           // of the policies that have none of their own
  std::optional<WorkloadSource> workload;  // likewise; clients' names and arrivals are everybody's
  ChosenMechanism mechanism;
  std::vector<Contender> policies;  // sorted by label; labels are unique

  const Device& device_of(const Contender& policy) const { return policy.own ? policy.own->device : device; }
  const WorkloadSource& workload_of(const Contender& policy) const {
    return policy.own ? policy.own->workload : *workload;
  }
};

struct Experiment {
  std::string name;
  std::string title;
  std::vector<std::string> swept;  // paths
  std::vector<Point> points;
  std::uint32_t permutations = 1;
  bool all_permutations = false;
  std::uint32_t replications = 1;
  std::uint64_t seed = 1;
  bool write_jobs = true;
  bool standalone_transformed = true;
  bool sample_sigma = false;
  bool by_block = false;       // simulation: each block is an event
  bool counts_slices = false;  // of clients: some policy moves their memory
  std::optional<Duration> horizon;
  Duration watchdog{10'000'000'000};  // for worlds in real time
  std::vector<PublishedValue> published;
  std::string configuration;  // the resolved file as JSON
  std::string identity;       // a hash of it
};

// Reads an experiment: a file, the name of one that comes with Gangway, or the manifest.json of a result
// folder, which keeps the resolved mapping. Throws InputError.
Experiment read_experiment(const std::string& given, const std::vector<Override>& overrides);

// Reads any file by its kind and checks it against its schema; returns the kind. Throws InputError.
std::string check_file(const std::string& file);

}  // namespace gangway
