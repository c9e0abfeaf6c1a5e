#include "experiments/results/result_parts.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "experiments/results/part_file.hpp"
#include "models/error.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kStore = "results.sqlite";
constexpr std::size_t kMostLostNamed = 5;

bool is_trace(const std::string& name) { return name.starts_with("trace/"); }

// What Gangway keeps below parts/, of whatever version.
bool is_part(const std::string& name) {
  return name == "key" || name == "lock" || name.starts_with(kStore) || name.starts_with("group-") ||
         name.starts_with(".group-") || name.starts_with(".key");
}

bool is_empty_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error) && fs::is_empty(path, error);
}

// Whether something there says that results of a run are in the folder, or begun.
bool has_results(const fs::path& path) {
  std::error_code error;
  return fs::exists(path / "parts" / "lock", error) || fs::exists(path / "parts" / "key", error) ||
         fs::exists(path / "manifest.json", error);
}

// Something in a folder that holds no results.
std::optional<std::string> stranger_in(const fs::path& path) {
  if (has_results(path)) return std::nullopt;
  std::error_code error;
  std::optional<std::string> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) {
    const std::string name = entry.path().filename().string();
    const bool left_over = (name == "parts" || name == "trace") && is_empty_folder(entry.path());
    if (!left_over && (!found || name < *found)) found = name;
  }
  // Another process may have begun or finished results meanwhile.
  return has_results(path) ? std::nullopt : found;
}

void refuse_everybodys(const fs::path& path) {
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(fs::absolute(path), error);
  const auto refuse = [&](const char* what) {
    throw InputError({path.string(), 0}, "--out", what, "a separate folder for the results");
  };
  if (error) return;
  if (whole == whole.root_path()) refuse("the root of the file system");
  const char* home = std::getenv("HOME");
  const passwd* user = ::getpwuid(::getuid());
  for (const char* folder : {home, user != nullptr ? static_cast<const char*>(user->pw_dir) : nullptr})
    if (folder != nullptr && *folder != '\0' && whole == fs::weakly_canonical(folder, error))
      refuse("a home directory");
}

// The key of results that were begun; one that no other is like where the file is of an old program.
std::optional<ResultKey> read_key(const fs::path& file) {
  if (!fs::exists(file)) return std::nullopt;
  const std::string text = read_file(file);
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_object()) return ResultKey::from_json(json);
  return ResultKey{text.substr(0, text.find(' ')), "", "", "", ""};
}

}  // namespace

ResultParts::ResultParts(fs::path path, ResultKey key, std::vector<std::string> files, bool force)
    : path_(std::move(path)),
      parts_(path_ / "parts"),
      key_(std::move(key)),
      names_(std::move(files)),
      force_(force) {
  refuse_file(path_);
  refuse_everybodys(path_);
  if (!force) refuse_strangers();
  lock();
  try {
    take_up(force);
  } catch (...) {
    store_.reset();
    unlock();
    throw;
  }
}

void ResultParts::refuse(const std::string& found) const {
  throw InputError({path_.string(), 0}, "--out", found, "an empty folder, or --force");
}

void ResultParts::refuse_strangers() const {
  if (const auto stranger = stranger_in(path_))
    refuse("a folder that holds " + quote(*stranger) + " and no results of gangway");
  if (fs::exists(path_ / "manifest.json")) read_manifest_of_any(path_);
}

void ResultParts::refuse_others(const std::vector<ResultKey>& theirs) const {
  for (const ResultKey& key : theirs)
    if (const auto found = key.difference(key_)) refuse(*found);
}

// Decides what of the folder's content can be used.
void ResultParts::take_up(bool force) {
  if (force) clear();
  std::optional<Manifest> manifest;
  if (!force && fs::exists(path_ / "manifest.json")) manifest = read_manifest_of_any(path_);
  auto begun = read_key(parts_ / "key");
  if (begun && begun->difference(key_) && !manifest && is_without_parts()) {
    clear_parts();
    begun.reset();
  }
  if (begun) refuse_others({*begun});
  if (manifest) refuse_others({manifest->key});
  if (begun) {
    store_ = std::make_unique<PartStore>(parts_ / kStore);
    files_ = store_->files();
  }
  const ResultFiles listed = manifest && manifest->files ? *manifest->files : ResultFiles{};
  files_.insert(listed.begin(), listed.end());
  for (const std::string& name : names_)
    if (!force && files_.count(name) == 0 && fs::exists(path_ / name))
      refuse("the file " + quote(name) + ", which gangway did not write");
  find_damage(files_);
  const bool whole = std::none_of(damaged_.begin(), damaged_.end(), [&](const std::string& name) {
    return !is_trace(name) && listed.count(name) > 0;
  });
  const bool store_lacks = is_part_of_results() && !(store_ && is_finished(*store_));
  complete_ = manifest && manifest->failed == 0 && whole && !store_lacks;
  if (manifest && store_lacks)
    note_ = fmt::format("{}: {} is missing or has changed, so it is made again", path_.string(),
                        store_of("").string());
  resumed_ = !complete_ && store_ && store_->count() > 0;
  if (manifest && !whole) {
    std::vector<std::string> lost;
    for (const std::string& name : damaged_)
      if (listed.count(name) > 0)
        lost.push_back(name + (fs::exists(path_ / name) ? " has changed" : " is missing"));
    const std::size_t more = lost.size() - std::min(lost.size(), kMostLostNamed);
    lost.resize(lost.size() - more);
    note_ = fmt::format("{}: {}{}: made anew", path_.string(), fmt::join(lost, ", "),
                        more > 0 ? fmt::format(" and {} more", more) : "");
  }
  if (complete_ && store_) {  // all that is left to take over is what it says of files
    store_.reset();
    if (!is_part_of_results()) clear_parts();
  }
  if (complete_) return;
  if (store_ && is_part_of_results()) reopen(*store_);
  if (manifest && !resumed_ && !key_.machine.empty()) forget_traces();
  write_file(parts_ / "key", key_.json().dump() + "\n");
  if (!store_) store_ = std::make_unique<PartStore>(parts_ / kStore);
}

// Whether a run that began here finished nothing that is worth keeping.
bool ResultParts::is_without_parts() const {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(parts_, error))
    if (entry.path().filename().string().starts_with("group-")) return false;  // of an old program
  return !fs::exists(parts_ / kStore) || PartStore(parts_ / kStore).count() == 0;
}

void ResultParts::find_damage(const ResultFiles& listed) {
  for (const auto& [name, facts] : listed) {
    std::error_code error;
    const auto size = fs::file_size(path_ / name, error);
    if (error || size != facts.bytes || facts_of(path_ / name) != facts) damaged_.insert(name);
  }
}

// Of a measurement that is made anew: they show other runs than the new tables.
void ResultParts::forget_traces() {
  std::error_code error;
  for (auto file = files_.begin(); file != files_.end();)
    if (is_trace(file->first)) {
      if (damaged_.count(file->first) == 0) fs::remove(path_ / file->first, error);
      damaged_.erase(file->first);
      file = files_.erase(file);
    } else {
      ++file;
    }
}

bool ResultParts::intact(const std::string& name) const {
  const std::lock_guard guard(files_mutex_);
  return files_.count(name) > 0 && damaged_.count(name) == 0;
}

bool ResultParts::lacks_traces() const {
  const std::lock_guard guard(files_mutex_);
  return std::any_of(damaged_.begin(), damaged_.end(), is_trace);
}

bool ResultParts::lost(const std::string& name) const {
  const std::lock_guard guard(files_mutex_);
  return damaged_.count(name) > 0;
}

std::optional<FileFacts> ResultParts::facts(const std::string& name) const {
  const std::lock_guard guard(files_mutex_);
  const auto file = files_.find(name);
  return file == files_.end() ? std::nullopt : std::optional(file->second);
}

void ResultParts::expect(const std::string& name) {
  const std::lock_guard guard(files_mutex_);
  if (!force_ && files_.count(name) == 0 && fs::exists(path_ / name))
    refuse("the file " + quote(name) + ", which gangway did not write");
  if (store_) store_->keep_file(name, {});  // so that it is ours if this process ends in its middle
  files_[name] = {};
  damaged_.insert(name);
}

void ResultParts::list(const std::string& name) {
  const FileFacts facts = facts_of(path_ / name);
  const std::lock_guard guard(files_mutex_);
  if (store_) store_->keep_file(name, facts);
  files_[name] = facts;
  damaged_.erase(name);
}

ResultFiles ResultParts::intact_files() const {
  ResultFiles files = files_;
  for (const std::string& name : damaged_) files.erase(name);
  return files;
}

void ResultParts::put(const std::string& name, NewFile& file) {
  const FileFacts facts = file.facts();
  const fs::path path = path_ / name;
  const std::unique_lock guard(files_mutex_);
  const bool strange = !force_ && files_.count(name) == 0 && fs::exists(path);
  if (strange && facts_of(path) != facts) refuse("the file " + quote(name) + ", which gangway did not write");
  if (store_) store_->keep_file(name, facts);  // before it appears: nobody shall take it for another's
  if (!strange) file.commit();
  files_[name] = facts;
  damaged_.erase(name);
}

void ResultParts::finish(const Json& manifest, bool keep_parts) {
  if (is_part_of_results()) finish_store(manifest);
  // Last: its presence says that the rest is there.
  write_file(path_ / "manifest.json", with_files(manifest, intact_files()).dump(1) + "\n");
  complete_ = !keep_parts;
}

void ResultParts::abandon() {
  store_.reset();
  clear();
  std::error_code ignored;
  fs::remove(path_ / "trace", ignored);  // unless there is more in it
}

void ResultParts::finish_store(const Json& manifest) {
  store_->say(kPartContent, store_->hash());
  store_->say(kPartConfiguration, manifest["configuration"].dump());
  Json rest = manifest;
  rest.erase("configuration");
  rest.erase("files");
  store_->say(kPartManifest, rest.dump());
  store_->settle();
}

fs::path ResultParts::store_of(const fs::path& folder) { return folder / "parts" / kStore; }

void ResultParts::list_again() {
  const fs::path file = path_ / "manifest.json";
  write_file(file, with_files(Json::parse(read_file(file)), intact_files()).dump(1) + "\n");
}

ResultParts::~ResultParts() {
  store_.reset();
  if (complete_ && !is_part_of_results()) clear_parts();
  unlock();
}

void ResultParts::unlock() {
  std::error_code ignored;
  fs::remove(parts_ / "lock", ignored);
  fs::remove(parts_, ignored);  // unless there is more in it
  ::close(lock_);
}

// Locks the folder for this process. A process that finishes removes the lock's file, so what was locked may
// be gone by then.
void ResultParts::lock() {
  constexpr int kAttempts = 100;
  for (int i = 0; i < kAttempts; ++i) {
    make_folder(parts_);
    lock_ = ::open((parts_ / "lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644);
    if (lock_ < 0 && errno == ENOENT) continue;
    if (lock_ < 0) throw RunError("cannot write " + (parts_ / "lock").string() + ": " + std::strerror(errno));
    if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) break;
    struct stat ours {
    }, there{};
    if (::fstat(lock_, &ours) == 0 && ::stat((parts_ / "lock").c_str(), &there) == 0 &&
        ours.st_ino == there.st_ino)
      return;
    ::close(lock_);
    lock_ = -1;
  }
  if (lock_ >= 0) ::close(lock_);
  throw RunError("another run is writing to " + path_.string());
}

// Removes what is ours and nothing else.
void ResultParts::clear_parts() const {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(parts_, error)) {
    const std::string name = entry.path().filename().string();
    if (is_part(name) && name != "lock") fs::remove(entry.path(), error);
  }
}

// Removes the files that a manifest or parts list and that are as they were written. A folder of an old
// program has no list: there it is the files with the names that it gave them.
void ResultParts::clear() const {
  std::error_code error;
  ResultFiles listed;
  const bool begun = fs::exists(parts_ / kStore);
  if (begun) listed = PartStore(parts_ / kStore).files();
  std::optional<Manifest> manifest;
  try {
    if (fs::exists(path_ / "manifest.json")) manifest = read_manifest_of_any(path_);
  } catch (const InputError&) {  // somebody else's
  }
  if (manifest && manifest->files) listed.insert(manifest->files->begin(), manifest->files->end());
  for (const auto& [name, facts] : listed)
    if (fs::file_size(path_ / name, error) == facts.bytes && !error && facts_of(path_ / name) == facts)
      fs::remove(path_ / name, error);
  if (manifest && !manifest->files) {
    for (const std::string& name : names_) fs::remove(path_ / name, error);
    for (const fs::directory_entry& entry : fs::directory_iterator(path_ / "trace", error))
      if (entry.path().filename().string().starts_with("point-")) fs::remove(entry.path(), error);
  }
  if (manifest) fs::remove(path_ / "manifest.json", error);
  clear_parts();
}

}  // namespace gangway
