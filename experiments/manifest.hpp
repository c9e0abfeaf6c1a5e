// What a result folder says about itself.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "experiments/scheduler_row.hpp"
#include "models/world.hpp"

namespace gangway {

struct Manifest {
  std::string experiment, world;
  std::string identity;  // of the configuration
  std::string key;       // configuration, world and build
  bool has_jobs = true;  // the experiment wanted jobs.csv
  double events = 0;     // of the runs that were played when it was written
};

// How this run came about; goes to the manifest.
struct RunAccount {
  std::string command;
  std::string world;
  Machine machine;  // of a real world
  unsigned threads = 1;
  std::string start, end;  // UTC, ISO 8601
  double seconds = 0;
  std::uint64_t events = 0;  // of the parts computed now
  std::int64_t jobs = 0;     // likewise
  bool resumed = false;
  SchedulerAccount scheduler;  // of all rows
};

// What every manifest says, as JSON; `configuration` is the resolved file.
nlohmann::ordered_json manifest_json(const std::string& name, const std::string& identity,
                                     const std::string& key, std::uint64_t seed,
                                     const std::string& configuration, const RunAccount& account);

// Reads manifest.json. Throws InputError where `folder` is none that `gangway run` finished.
Manifest read_manifest(const std::filesystem::path& folder);

}  // namespace gangway
