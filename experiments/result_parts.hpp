// What result folders of any kind have in common: one process writes at a time, finished parts of a run are
// kept until all are there, and a later call with the same configuration takes them up.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace gangway {

class ResultParts {
 public:
  // Opens or makes the folder. `identity` is the configuration's, `key` begins with it and adds what else
  // results depend on; `files` are those of a complete result, the manifest among them. A folder with another
  // configuration is refused with InputError unless `force`, which removes its results, and so is a file; a
  // folder that another process writes to is refused with RunError.
  ResultParts(std::filesystem::path path, std::string identity, std::string key,
              std::vector<std::string> files, bool force);
  ~ResultParts();
  ResultParts(const ResultParts&) = delete;
  ResultParts& operator=(const ResultParts&) = delete;

  const std::filesystem::path& path() const { return path_; }
  const std::string& key() const { return key_; }
  bool complete() const { return complete_; }  // nothing is left to do
  void set_complete() { complete_ = true; }    // the manifest is written; parts go with this object

  // Where a part is kept. Names begin with "group-".
  std::filesystem::path part(const std::string& name) const { return parts_ / name; }

 private:
  void lock();
  void unlock();
  void take_up(bool force);
  void clear() const;
  void clear_parts() const;

  std::filesystem::path path_, parts_;
  std::string identity_, key_;
  std::vector<std::string> files_;
  bool complete_ = false;
  int lock_ = -1;
};

}  // namespace gangway
