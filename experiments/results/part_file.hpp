// A part of results in one file: parts/results.sqlite as left by `gangway run --points`. Contains all that
// `gangway merge` needs except timelines.
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

// Entries of a finished store, by name.
inline constexpr const char* kPartManifest = "manifest";            // without the configuration and the files
inline constexpr const char* kPartConfiguration = "configuration";  // the resolved file as JSON
inline constexpr const char* kPartContent = "content";              // PartStore::hash()

// Whether the store is finished and unchanged since.
bool is_finished(PartStore& store);
// Reopens a finished store for writing.
void reopen(PartStore& store);

// Read-only, not thread-safe. Every call throws InputError, naming the part, if it is damaged. Changes inside
// parts are detected by content_is() only.
class PartFile {
 public:
  // A folder, or the file alone under any name. Throws InputError if it is missing, unfinished, or holds
  // complete results.
  explicit PartFile(const std::filesystem::path& given);
  // From the file's bytes; `name` is for messages.
  PartFile(std::string bytes, std::string name);
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

  const std::string& name() const { return name_; }
  const std::filesystem::path& folder() const {
    return folder_;
  }                                              // with manifest and timelines; may be empty
  const ResultKey& key() const { return key_; }  // with the points
  const nlohmann::ordered_json& manifest() const { return *manifest_; }
  std::string configuration();  // the resolved file as JSON
  // The points, given a sweep of `of` points.
  PointSet points(std::uint32_t of) const { return PointSet::parse(key_.points, of); }

  void each(const VisitPart& visit);  // in numeric order
  void each_text(std::uint64_t number, const std::function<void(std::string_view)>& visit);
  // Whether the hash of its parts at completion was `hash`.
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
