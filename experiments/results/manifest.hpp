// What a result folder says about itself.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "experiments/results/recorded_machines.hpp"
#include "experiments/results/scheduler_row.hpp"
#include "models/hash.hpp"
#include "models/world.hpp"

namespace gangway {

// What decides results: those of different keys are never mixed.
struct ResultKey {
  std::string identity;  // a hash of the resolved configuration, all files it names in it
  std::string world;
  std::string program;  // a hash of the executable
  std::string machine;  // that times were measured on; empty for worlds that do not measure
  std::string points;   // of a part: which of the sweep's, as PointSet::parse() takes them; empty: all

  // What these results are, seen from `ours`, for an error message; none where they are the same.
  std::optional<std::string> difference(const ResultKey& ours) const;

  nlohmann::ordered_json json() const;
  static ResultKey from_json(const nlohmann::ordered_json& json);  // what is missing is empty
};

// The key of a configuration in a world of this program, measured on `machine`.
ResultKey key_of(const std::string& identity, const WorldEntry& world, const Machine& machine);

inline constexpr const char* kWholeResult = "result";  // kinds of manifests
inline constexpr const char* kPartOfResult = "part";

using ResultFiles = std::map<std::string, FileFacts>;  // by path in the result folder

struct Manifest {
  std::string experiment;
  ResultKey key;
  bool has_jobs = true;              // the experiment wanted jobs.csv
  std::uint64_t failed = 0;          // groups of results
  std::optional<ResultFiles> files;  // what was written beside the manifest; none in folders of old programs
  double events = 0;                 // of the runs that were played when it was written
  std::optional<std::uint64_t> seed = {};  // none where it is swept
  std::uint32_t replications = 1;
  std::string version = {}, commit = {};  // of Gangway
};

// How this run came about; goes to the manifest.
struct RunAccount {
  std::string command;
  std::string world;
  std::string cpus;  // of the hosts, where it was not this one
  Machine machine;   // of a real world
  unsigned threads = 1;
  std::string start, end;  // UTC, ISO 8601
  double seconds = 0;
  std::uint64_t events = 0;  // of the parts computed now
  std::int64_t jobs = 0;     // likewise
  bool resumed = false;
  SchedulerAccount scheduler;  // of all rows
  std::vector<RecordedMachine> recordings;
  std::vector<std::string> best_cases;  // RecordedMachines::best_cases()
  std::uint64_t failed = 0;             // groups of results that are missing
  std::uint64_t merged_parts = 0;       // that these results were joined from
};

std::string utc_now();  // as a manifest has it

// What every manifest says, as JSON; `configuration` is the resolved file, `seed` none where it is swept.
nlohmann::ordered_json manifest_json(const std::string& name, const ResultKey& key,
                                     std::optional<std::uint64_t> seed, const std::string& configuration,
                                     const RunAccount& account);

// The same with other files beside it.
nlohmann::ordered_json with_files(nlohmann::ordered_json manifest, const ResultFiles& files);

// Lists another file of a finished folder in its manifest.
void list_file(const std::filesystem::path& folder, const std::string& name);

// Reads manifest.json. Throws InputError where `folder` is none that `gangway run` finished, or a part.
Manifest read_manifest(const std::filesystem::path& folder);
Manifest read_manifest_of_any(const std::filesystem::path& folder);  // of a part, too
// The file, whatever it is called and wherever it lies; none where it is no manifest of results.
std::optional<Manifest> read_manifest_file(const std::filesystem::path& file);

}  // namespace gangway
