#include "hw/mps_daemon.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "hw/child_process.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;

// Its exit code, or -1 where it could not be started.
int run_quietly(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                const char* input) {
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  int in[2];
  if (nothing < 0 || pipe2(in, O_CLOEXEC) != 0) return -1;
  pid_t pid = -1;
  const int code = start_child(command, environment, in[0], nothing, pid);
  static_cast<void>(!write(in[1], input, std::strlen(input)));
  for (const int file : {in[0], in[1], nothing}) close(file);
  if (code != 0) return -1;
  int status = 0;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

std::unique_ptr<MpsDaemon> MpsDaemon::start() {
  std::error_code failed;
  std::string folder = (fs::temp_directory_path(failed) / "gangway-mps.XXXXXX").string();
  if (failed || mkdtemp(folder.data()) == nullptr) return nullptr;
  std::unique_ptr<MpsDaemon> daemon(new MpsDaemon(folder));
  if (run_quietly({"nvidia-cuda-mps-control", "-d"}, environment_with(daemon->environment()), "") != 0)
    return nullptr;
  return daemon;
}

MpsDaemon::~MpsDaemon() {
  run_quietly({"nvidia-cuda-mps-control"}, environment_with(environment()), "quit -t 1\n");
  std::error_code failed;
  fs::remove_all(folder_, failed);
}

std::vector<std::string> MpsDaemon::environment() const {
  return {"CUDA_MPS_PIPE_DIRECTORY=" + folder_, "CUDA_MPS_LOG_DIRECTORY=" + folder_};
}

}  // namespace gangway
