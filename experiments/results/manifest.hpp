// The description of a result folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/results/recorded_machines.hpp"
#include "experiments/results/scheduler_row.hpp"
#include "models/hash.hpp"
#include "models/world.hpp"

namespace gangway {

// What determines results. Results of different keys are never mixed.
struct ResultKey {
  std::string identity;  // hash of the resolved configuration, including all named files
  std::string world;
  std::string program;               // hash of the executable
  std::string machine;               // on which times were measured; empty for simulations
  std::string points;                // of a part: its points, as for PointSet::parse(); empty: all
  std::string client_programs = {};  // hash of the files that clients run; empty for simulations

  // How these results differ from `ours`, for an error message; none if equal.
  std::optional<std::string> difference(const ResultKey& ours) const;

  nlohmann::ordered_json json() const;
  static ResultKey from_json(const nlohmann::ordered_json& json);  // missing values are empty
};

// The key of a configuration in a world of this program, measured on `machine`.
ResultKey key_of(const std::string& identity, const WorldEntry& world, const Machine& machine);

inline constexpr const char* kWholeResult = "result";  // kinds of manifests
inline constexpr const char* kPartOfResult = "part";

using ResultFiles = std::map<std::string, FileFacts>;  // by path in the result folder

struct Manifest {
  std::string experiment;
  ResultKey key;
  bool has_jobs = true;              // the experiment requested jobs.csv
  std::uint64_t failed = 0;          // result groups
  std::optional<ResultFiles> files;  // files written beside the manifest; none in folders of older programs
  double events = 0;                 // of the runs played when it was written
  std::optional<std::uint64_t> seed = {};  // none if swept
  std::uint32_t replications = 1;
  std::string sigma = "population", standalone = "transformed";  // how metrics are defined
  std::string version = {}, commit = {};                         // of Gangway
  std::vector<std::string> notes = {};                           // RunAccount::notes
};

// How a run came about, for the manifest.
struct RunAccount {
  std::string command;
  std::string world;
  std::string cpus;  // of other hosts
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
  std::uint64_t failed = 0;             // missing result groups
  std::uint64_t merged_parts = 0;       // number of joined parts
  // One line each: notes_of() the experiment, then GroupRows::notes of single runs.
  std::vector<std::string> notes = {};
  std::vector<std::string> warnings = {};  // Findings::warnings, and of the scheduler
};

std::string utc_now();  // as a manifest has it

// The common content of manifests as JSON; `configuration`: the resolved file; `seed`: none if swept.
nlohmann::ordered_json manifest_json(const std::string& name, const ResultKey& key,
                                     std::optional<std::uint64_t> seed, const std::string& configuration,
                                     const RunAccount& account);

// The same with other files.
nlohmann::ordered_json with_files(nlohmann::ordered_json manifest, const ResultFiles& files);

// Adds a file to the manifest of a finished folder.
void list_file(const std::filesystem::path& folder, const std::string& name);

// Reads manifest.json. Throws InputError if `folder` is not a finished result folder, or is a part.
Manifest read_manifest(const std::filesystem::path& folder);
// Tables of the folder that are not there any more, or not as they were written.
std::vector<std::string> changed_tables(const std::filesystem::path& folder);
Manifest read_manifest_of_any(const std::filesystem::path& folder);  // of a part, too
// Reads a file of any name and place; none if it is no result manifest.
std::optional<Manifest> read_manifest_file(const std::filesystem::path& file);

}  // namespace gangway
