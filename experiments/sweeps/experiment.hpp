// A resolved experiment file: workload and device read, names looked up, overrides applied.
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
  std::optional<std::uint64_t> seed = 1;  // none if swept: each point has its own
  bool write_jobs = true;
  bool standalone_transformed = true;
  bool sample_sigma = false;
  bool by_block = false;                 // simulation: one event per block
  bool counts_slices = false;            // per client: some policy moves their memory
  bool counts_evictions_by_gpu = false;  // some policy evicts on several GPUs
  bool counts_services = false;          // some client is a service, or the file requests it
  bool takes_forms = false;              // some policy's grants have kernels take forms
  std::optional<Duration> horizon;
  Duration watchdog{10'000'000'000};  // for real-time worlds
  std::vector<PublishedValue> published;
  std::string configuration;  // the resolved file as JSON
  std::string identity;       // its hash
};

// Reads an experiment: a file, a library entry by name, or the manifest.json of a result folder, which
// contains the resolved mapping. Throws InputError.
Experiment read_experiment(const std::string& given, const std::vector<Override>& overrides);
Experiment read_experiment(Configuration configuration, const std::vector<Override>& overrides);

// The same for a mapping already read; its paths are relative to its folder.
Experiment read_experiment(Configuration configuration, const std::vector<Override>& overrides);

// Checks any file against the schema of its kind; returns the kind. `overrides`: of an experiment or a study.
// `notes` receives lines about what has no effect. Throws InputError.
std::string check_file(const std::string& file, const std::vector<Override>& overrides = {},
                       std::vector<std::string>* notes = nullptr);

}  // namespace gangway
