// A part of results in one file: what `gangway run --points` leaves in a folder's parts/results.sqlite, and
// all that `gangway merge` needs but for timelines.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "experiments/results/manifest.hpp"
#include "experiments/results/part_store.hpp"
#include "experiments/sweeps/point_set.hpp"

namespace gangway {

// What a finished store says of itself, by name.
inline constexpr const char* kPartManifest = "manifest";            // without the configuration and the files
inline constexpr const char* kPartConfiguration = "configuration";  // the resolved file as JSON
inline constexpr const char* kPartContent = "content";              // PartStore::hash()

// Whether the store says that it is finished, and is as it was then.
bool is_finished(PartStore& store);
// Makes a finished store one that goes on.
void reopen(PartStore& store);

// For one thread at a time; nothing is written. Every call throws InputError, with the part's name, where the
// part is damaged. A change inside parts is seen by content_is() alone.
class PartFile {
 public:
  // A folder, or the file by itself, whatever it is called. Throws InputError where there is none, where it
  // is not finished, and where it holds whole results.
  explicit PartFile(const std::filesystem::path& given);
  // The file's bytes, under a name for messages.
  PartFile(std::string bytes, std::string name);
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

  const std::string& name() const { return name_; }
  const std::filesystem::path& folder() const { return folder_; }  // with manifest and timelines; or empty
  const ResultKey& key() const { return key_; }                    // with the points
  const nlohmann::ordered_json& manifest() const { return *manifest_; }
  std::string configuration();  // the resolved file as JSON
  // Of a sweep of so many.
  PointSet points(std::uint32_t of) const { return PointSet::parse(key_.points, of); }

  void each(const VisitPart& visit);  // in the order of their numbers
  void each_text(std::uint64_t number, const std::function<void(std::string_view)>& visit);
  // Whether this is the hash of its parts when it was finished.
  bool content_is(const std::string& hash);

  [[noreturn]] void refuse(const std::string& found, const std::string& expected) const;

 private:
  std::filesystem::path find(const std::filesystem::path& given);
  void read();
  std::string said(const char* name);
  [[noreturn]] void damaged(const std::string& how) const;

  std::string name_;
  std::filesystem::path folder_;
  std::unique_ptr<Database> database_;
  std::shared_ptr<nlohmann::ordered_json> manifest_;
  ResultKey key_;
};

}  // namespace gangway
