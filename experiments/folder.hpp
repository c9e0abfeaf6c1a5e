// A result folder: parts while the run goes on, which a later call with the same configuration takes up, and
// the final files.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "experiments/experiment.hpp"
#include "experiments/files.hpp"
#include "experiments/group.hpp"
#include "models/world.hpp"

namespace gangway {

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
};

class ResultFolder {
 public:
  // Opens or makes the folder and takes up what is there. A folder with another configuration is refused with
  // InputError unless `force`, which removes its results, and so is a file; a folder that another process
  // writes to is refused with RunError.
  ResultFolder(std::filesystem::path path, const Experiment& experiment, const std::string& world,
               bool force);
  ~ResultFolder();
  ResultFolder(const ResultFolder&) = delete;
  ResultFolder& operator=(const ResultFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  bool complete() const { return complete_; }  // nothing is left to do

  std::optional<GroupRows> part(std::size_t group) const;
  std::filesystem::path job_part(std::size_t group) const;
  void keep(std::size_t group, const GroupRows& rows) const;

  // Writes the final files from all groups' rows (point by point, policies in order) and removes the parts.
  // Returns the verdicts on the published values.
  std::vector<Verdict> finish(const std::vector<GroupRows>& groups, const RunAccount& account);

 private:
  void lock();
  void unlock();
  void take_up(bool force);
  void clear() const;
  void clear_parts() const;
  std::string text_of_summary(const std::vector<GroupRows>& groups) const;
  std::string text_of_clients(const std::vector<GroupRows>& groups) const;
  std::string text_of_published(const std::vector<Verdict>& verdicts) const;
  std::string text_of_manifest(const RunAccount& account) const;
  template <typename Visit>
  void each_group(const std::vector<GroupRows>& groups, Visit visit) const;

  std::filesystem::path path_, parts_;
  const Experiment* experiment_;
  std::string key_;  // configuration, world and build
  bool complete_ = false;
  int lock_ = -1;
};

}  // namespace gangway
