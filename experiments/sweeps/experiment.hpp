// What an experiment file says, resolved: workload and device read, names looked up, overrides applied.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiments/published/published.hpp"
#include "experiments/sweeps/configuration.hpp"
#include "experiments/sweeps/points.hpp"

namespace gangway {

struct Experiment {
  std::string name;
  std::string title;
  Points points;
  std::uint32_t permutations = 1;
  bool all_permutations = false;
  std::uint32_t replications = 1;
  std::optional<std::uint64_t> seed = 1;  // none where it is swept: each point has its own
  bool write_jobs = true;
  bool standalone_transformed = true;
  bool sample_sigma = false;
  bool by_block = false;                 // simulation: each block is an event
  bool counts_slices = false;            // of clients: some policy moves their memory
  bool counts_evictions_by_gpu = false;  // some policy evicts on several
  bool counts_services = false;          // some client is a service, or the file asks for it
  std::optional<Duration> horizon;
  Duration watchdog{10'000'000'000};  // for worlds in real time
  std::vector<PublishedValue> published;
  std::string configuration;  // the resolved file as JSON
  std::string identity;       // a hash of it
};

// Reads an experiment: a file, the name of one that comes with Gangway, or the manifest.json of a result
// folder, which keeps the resolved mapping. Throws InputError.
Experiment read_experiment(const std::string& given, const std::vector<Override>& overrides);
Experiment read_experiment(Configuration configuration, const std::vector<Override>& overrides);

// Likewise, of a mapping that was read before; paths in it start from its folder.
Experiment read_experiment(Configuration configuration, const std::vector<Override>& overrides);

// Reads any file by its kind and checks it against its schema; returns the kind. Throws InputError.
std::string check_file(const std::string& file);

}  // namespace gangway
