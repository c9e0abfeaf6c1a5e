#include "hw/live/live_programs.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <vector>

#include "hw/child_process.hpp"
#include "models/error.hpp"

namespace gangway::live {
namespace {

constexpr int kPatience = 100;               // looks at a program that has been asked to end
constexpr useconds_t kWhileItEnds = 50'000;  // us

std::string last_line(const std::string& file) {
  std::ifstream in(file);
  std::string line, last;
  while (std::getline(in, line))
    if (line.find_first_not_of(" \t\r") != std::string::npos && !line.starts_with("gangway: ")) last = line;
  if (last.size() > 200) last = last.substr(0, 200) + "...";
  return last;
}

// All of it: what a program leaves behind cannot share the GPU with the next.
void end_group(pid_t process) {
  int status = 0;
  kill(-process, SIGTERM);
  for (int look = 0; look < kPatience; ++look) {
    if (waitpid(process, &status, WNOHANG) != 0) break;
    usleep(kWhileItEnds);
  }
  if (kill(-process, SIGKILL) == 0) waitpid(process, &status, 0);
}

}  // namespace

LivePrograms::LivePrograms(std::string socket, std::string folder)
    : socket_(std::move(socket)), folder_(std::move(folder)) {}

LivePrograms::~LivePrograms() {
  for (auto& [name, program] : programs_) kill(-program.process, SIGTERM);
  while (!programs_.empty()) end(programs_.begin()->first);
}

void LivePrograms::start(const std::string& name, const Command& command, std::optional<unsigned> gpu) {
  Program program{command, 0, folder_ + "/" + name + ".log"};
  std::vector<std::string> words{"gangway", "exec",   "--socket",   socket_, "--name",
                                 name,      "--jobs", command.jobs, "--"};
  if (gpu) words.insert(words.end() - 1, {"--gpu", std::to_string(*gpu)});
  words.insert(words.end(), command.words.begin(), command.words.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  // They end with the daemon (registration.cpp).
  std::vector<std::string> variables = variables_;
  variables.push_back("GANGWAY_ENDS_WITH_DAEMON=1");
  variables = environment_with(variables);
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, program.log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&files, 1, 2);
  posix_spawn_file_actions_addchdir_np(&files, command.folder.c_str());
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  const int failed = posix_spawn(&program.process, "/proc/self/exe", &files, &attributes, arguments.data(),
                                 environment.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0) throw RunError(fmt::format("{} cannot be started: {}", name, std::strerror(failed)));
  programs_[name] = std::move(program);
}

bool LivePrograms::ended(const std::string& name, End& end) {
  const auto program = programs_.find(name);
  if (program == programs_.end()) return false;
  int status = 0;
  if (waitpid(program->second.process, &status, WNOHANG) != program->second.process) return false;
  end.well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  end.how = WIFEXITED(status) ? fmt::format("exit code {}", WEXITSTATUS(status))
                              : fmt::format("signal {}", WTERMSIG(status));
  end.last = last_line(program->second.log);
  kill(-program->second.process, SIGKILL);
  programs_.erase(program);
  return true;
}

void LivePrograms::end(const std::string& name) {
  const auto program = programs_.find(name);
  if (program == programs_.end()) return;
  end_group(program->second.process);
  programs_.erase(program);
}

}  // namespace gangway::live
