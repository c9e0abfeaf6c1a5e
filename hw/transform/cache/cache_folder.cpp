#include "hw/transform/cache/cache_folder.hpp"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "models/error.hpp"

namespace gangway::transform {
namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

std::string cache_folder() {
  if (const std::string chosen = variable("GANGWAY_CACHE"); !chosen.empty())
    return std::filesystem::absolute(chosen).string();
  // The standard has relative ones ignored.
  if (const std::string caches = variable("XDG_CACHE_HOME"); caches.starts_with('/'))
    return caches + "/gangway/kernels";
  std::string home = variable("HOME");
  if (home.empty())
    if (const passwd* const user = getpwuid(geteuid())) home = user->pw_dir;
  if (!home.starts_with('/')) throw RunError("no home folder for the kernel cache: set GANGWAY_CACHE");
  return home + "/.cache/gangway/kernels";
}

bool check_cache_folder(const std::string& folder) {
  struct stat status {};
  if (lstat(folder.c_str(), &status) != 0) {
    if (errno == ENOENT) return false;
    throw RunError(folder + ": " + std::strerror(errno));
  }
  if (!S_ISDIR(status.st_mode)) throw RunError(folder + " is not a folder");
  if (status.st_uid != geteuid())
    throw RunError(folder + " belongs to another user, so its kernels are not used");
  if ((status.st_mode & 0077) != 0)
    throw RunError(folder + " is open to other users, so its kernels are not used (chmod 700 closes it)");
  return true;
}

void make_cache_folder(const std::string& folder) {
  std::error_code problem;
  std::filesystem::create_directories(std::filesystem::path(folder).parent_path(), problem);
  if (problem) throw RunError(folder + ": " + problem.message());
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    throw RunError(folder + ": " + std::strerror(errno));
  check_cache_folder(folder);
}

}  // namespace gangway::transform
