#include "hw/live/runtime_folder.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "models/error.hpp"

namespace gangway::live {
namespace {

std::string folder() {
  if (const char* runtime = std::getenv("XDG_RUNTIME_DIR"); runtime != nullptr && *runtime == '/')
    return std::string(runtime) + "/gangway";
  return "/tmp/gangway-" + std::to_string(geteuid());
}

}  // namespace

std::string own_folder() {
  const std::string path = folder();
  struct stat status {};
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) throw RunError(path + ": " + std::strerror(errno));
  if (lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != geteuid() ||
      (status.st_mode & 0022) != 0)
    throw RunError(path + " is not a folder of this user alone");
  return path;
}

std::string default_socket(unsigned gpu) {
  return folder() + (gpu == 0 ? "/socket" : "/socket-" + std::to_string(gpu));
}

}  // namespace gangway::live
