#include "experiments/result_parts.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "experiments/files.hpp"
#include "experiments/manifest.hpp"
#include "models/error.hpp"

namespace gangway {

namespace fs = std::filesystem;

ResultParts::ResultParts(fs::path path, std::string identity, std::string key, std::vector<std::string> files,
                         bool force)
    : path_(std::move(path)),
      parts_(path_ / "parts"),
      identity_(std::move(identity)),
      key_(std::move(key)),
      files_(std::move(files)) {
  refuse_file(path_);
  lock();
  try {
    take_up(force);
  } catch (...) {
    unlock();
    throw;
  }
}

// Decides what of the folder's content can be used.
void ResultParts::take_up(bool force) {
  const bool finished_here = fs::exists(path_ / "manifest.json");
  const Manifest manifest = finished_here && !force ? read_manifest(path_) : Manifest{};
  const std::string whose = fs::exists(parts_ / "key") ? read_file(parts_ / "key") : "";
  const std::string identity = finished_here ? manifest.identity : whose.substr(0, whose.find(' '));
  const bool other = !identity.empty() && identity != identity_;
  if (other && !force)
    throw InputError({path_.string(), 0}, "--out", "results of another configuration",
                     "an empty folder, or --force");
  complete_ = !force && finished_here && manifest.key == key_ && whose.empty();
  if (!complete_ && (force || finished_here || (!whose.empty() && whose != key_))) clear();
  if (!complete_) write_file(parts_ / "key", key_);
}

ResultParts::~ResultParts() {
  if (complete_) clear_parts();
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
    if (name == "key" || name.starts_with("group-") || name.starts_with(".group-"))
      fs::remove(entry.path(), error);
  }
}

void ResultParts::clear() const {
  for (const std::string& name : files_) fs::remove(path_ / name);
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(path_ / "trace", error))
    if (entry.path().filename().string().starts_with("point-")) fs::remove(entry.path(), error);
  clear_parts();
}

}  // namespace gangway
