// What result folders of any kind have in common: one process writes at a time, finished parts of a run are
// kept until all are there, a later call with the same key takes them up, and files are known by size and
// hash, so that one that is missing or changed is made anew and one of somebody else's is left alone.
//
// A folder whose key names points holds a part of results. It is complete with its manifest and its store,
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
  // Opens or makes the folder; `files` are those of a complete result beside the manifest and the traces.
  // Refused with InputError, unless `force`: a folder with other results than the key's, whether finished or
  // not, one that holds anything and no results, and a file of somebody else's where one of `files` belongs.
  // `force` removes results and nothing else. Always refused: a file, the root of the file system and the
  // user's home directory with InputError, a folder that another process writes to with RunError.
  ResultParts(std::filesystem::path path, ResultKey key, std::vector<std::string> files, bool force);
  ~ResultParts();
  ResultParts(const ResultParts&) = delete;
  ResultParts& operator=(const ResultParts&) = delete;

  const std::filesystem::path& path() const { return path_; }
  const ResultKey& key() const { return key_; }
  bool complete() const { return complete_; }        // all results are there as they were written
  bool resumed() const { return resumed_; }          // parts of an earlier call are there
  const std::string& note() const { return note_; }  // one line on what is made anew; empty: nothing is

  PartStore& store() { return *store_; }  // not of a complete folder

  // Whether a trace is there as it was written, and whether one was written that is not.
  bool intact(const std::string& name) const;
  bool lacks_traces() const;
  bool lost(const std::string& name) const;                       // written once, and missing or changed
  std::optional<FileFacts> facts(const std::string& name) const;  // as it was written; none where it was not

  // For a file that others write: before, which throws InputError where there is one of somebody else's, and
  // after. May be called from any thread.
  void expect(const std::string& name);
  void list(const std::string& name);

  // Gives a file its name in the folder and lists it. InputError where there is one of somebody else's that
  // holds something else. May be called from any thread.
  void put(const std::string& name, NewFile& file);

  // Writes the manifest with all files listed; with `keep_parts`, parts stay for a later call. Those of a
  // part of results stay always: `keep_parts` says that a later call tries what failed again.
  void finish(const nlohmann::ordered_json& manifest, bool keep_parts);
  static std::filesystem::path store_of(const std::filesystem::path& folder);
  void abandon();     // removes all that was begun; nothing else may be called then
  void list_again();  // the manifest of a complete folder that got more files

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
  ResultFiles files_;              // ours, as they were written
  std::set<std::string> damaged_;  // of these, those that are missing or changed
  mutable std::mutex files_mutex_;
  std::unique_ptr<PartStore> store_;
  std::string note_;
  bool complete_ = false, resumed_ = false;
  int lock_ = -1;
};

}  // namespace gangway
