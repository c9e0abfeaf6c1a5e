// Common to all result folders: only one process writes at a time; finished parts of a run are kept until all
// exist; a later call with the same key continues them; files are known by size and hash, so that missing or
// changed ones are made again and foreign ones are left alone.
//
// A folder whose key names points is a part of results. It is complete with its manifest and its store,
// parts/results.sqlite, which PartFile reads.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "experiments/results/files.hpp"
#include "experiments/results/manifest.hpp"
#include "experiments/results/part_store.hpp"

namespace gangway {

class ResultParts {
 public:
  // Opens or creates the folder. `files`: those of a complete result, besides the manifest and traces. Throws
  // InputError, unless `force`, for a folder with results of another key, finished or not, for one with other
  // content but no results, and for a foreign file under one of the names. `force` removes results only.
  // Always refused: a file, the root of the file system and the home directory (InputError), and a folder in
  // use by another process (RunError).
  ResultParts(std::filesystem::path path, ResultKey key, std::vector<std::string> files, bool force);
  ~ResultParts();
  ResultParts(const ResultParts&) = delete;
  ResultParts& operator=(const ResultParts&) = delete;

  const std::filesystem::path& path() const { return path_; }
  const ResultKey& key() const { return key_; }
  bool complete() const { return complete_; }        // all results exist, as written
  bool resumed() const { return resumed_; }          // parts of an earlier call exist
  const std::string& note() const { return note_; }  // one line on what is made again; empty: nothing

  PartStore& store() { return *store_; }  // not for a complete folder

  // Whether a trace exists as written; and whether one that was written is missing or changed.
  bool intact(const std::string& name) const;
  bool lacks_traces() const;
  bool lost(const std::string& name) const;                       // written before, and missing or changed
  std::optional<FileFacts> facts(const std::string& name) const;  // as written; none if never written

  // Call before and after another writer creates a file. Throws InputError if a foreign file is there.
  // Thread-safe.
  void expect(const std::string& name);
  void list(const std::string& name);

  // Gives a file its name in the folder and lists it. InputError if a foreign file with other content is
  // there. Thread-safe.
  void put(const std::string& name, NewFile& file);

  // Writes the manifest with all listed files. `keep_parts`: keep parts for a later call. A part of results
  // always keeps them; there `keep_parts` means that a later call retries failures.
  void finish(const nlohmann::ordered_json& manifest, bool keep_parts);
  static std::filesystem::path store_of(const std::filesystem::path& folder);
  void abandon();     // removes everything begun; call nothing afterwards
  void list_again();  // writes the manifest of a complete folder that got more files

 private:
  void lock();
  void unlock();
  void take_up(bool force);
  void refuse_others(const std::vector<ResultKey>& theirs) const;
  void refuse_strangers() const;
  bool is_without_parts() const;
  void find_damage(const ResultFiles& listed);
  void forget_traces();
  ResultFiles intact_files() const;
  bool is_part_of_results() const { return !key_.points.empty(); }
  void finish_store(const nlohmann::ordered_json& manifest);
  void clear() const;
  void clear_parts() const;
  [[noreturn]] void refuse(const std::string& found) const;

  std::filesystem::path path_, parts_;
  ResultKey key_;
  std::vector<std::string> names_;
  bool force_;
  ResultFiles files_;              // ours, as written
  std::set<std::string> damaged_;  // ours, missing or changed
  mutable std::mutex files_mutex_;
  std::unique_ptr<PartStore> store_;
  std::string note_;
  bool complete_ = false, resumed_ = false;
  int lock_ = -1;
};

}  // namespace gangway
