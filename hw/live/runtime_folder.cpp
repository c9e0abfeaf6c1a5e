#include "hw/live/runtime_folder.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "hw/live/socket.hpp"
#include "models/error.hpp"

namespace gangway::live {
namespace {

bool is_own(const std::string& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
         (status.st_mode & 0022) == 0;
}

std::string of_gpu(const std::string& socket, unsigned gpu) {
  return gpu == 0 ? socket : socket + "-" + std::to_string(gpu);
}

std::string not_own(const std::string& path) { return path + " is not a folder of this user alone"; }

}  // namespace

std::string own_folder_path() {
  if (const char* runtime = std::getenv("XDG_RUNTIME_DIR"); runtime != nullptr && *runtime == '/')
    return std::string(runtime) + "/gangway";
  return "/tmp/gangway-" + std::to_string(geteuid());
}

std::string own_folder_problem() {
  const std::string path = own_folder_path();
  struct stat status {};
  if (lstat(path.c_str(), &status) == 0) {
    if (!is_own(path)) return not_own(path);
    return access(path.c_str(), W_OK) == 0 ? "" : path + ": " + std::strerror(errno);
  }
  const std::string parent = path.substr(0, path.rfind('/'));
  return access(parent.c_str(), W_OK) == 0 ? "" : parent + ": " + std::strerror(errno);
}

std::string own_folder() {
  const std::string path = own_folder_path();
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) throw RunError(path + ": " + std::strerror(errno));
  if (!is_own(path)) throw RunError(not_own(path));
  return path;
}

std::string default_socket(unsigned gpu) { return of_gpu(own_folder_path() + "/socket", gpu); }

std::string socket_to_join(unsigned gpu, const std::string& service) {
  const std::string own = default_socket(gpu), others = of_gpu(service, gpu);
  if (access(others.c_str(), F_OK) != 0) return own;
  return connect_to(own) ? own : others;  // a daemon that was killed leaves its socket behind
}

}  // namespace gangway::live
