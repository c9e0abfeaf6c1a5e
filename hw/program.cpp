#include "hw/program.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "models/error.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;

struct Looked {
  int problem;       // 0 where it can be tried
  std::string path;  // then
};

Looked look_for(const std::string& program) {
  const auto usable = [](const std::string& path) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) return kProgramNotFound;
    return S_ISREG(status.st_mode) && access(path.c_str(), X_OK) == 0 ? 0 : kProgramNotExecutable;
  };
  if (program.find('/') != std::string::npos) return {usable(program), program};
  int worst = kProgramNotFound;
  const char* path = std::getenv("PATH");
  const std::string folders = path != nullptr ? path : "/bin:/usr/bin";
  for (std::size_t from = 0; from <= folders.size();) {
    const std::size_t to = std::min(folders.find(':', from), folders.size());
    const std::string folder = to == from ? "." : folders.substr(from, to - from);
    const std::string file = folder + "/" + program;
    const int problem = usable(file);
    if (problem == 0) return {0, file};
    if (problem == kProgramNotExecutable && !fs::is_directory(file)) worst = kProgramNotExecutable;
    from = to + 1;
  }
  return {worst, {}};
}

int report_problem(const std::string& program, int code) {
  std::fprintf(stderr, "error: %s: %s\n", program.c_str(),
               code == kProgramNotFound ? "program not found" : "it cannot be executed");
  return code;
}

volatile pid_t child = 0;
// A terminal sends its signals to the program, too.
void forward(int signal, siginfo_t* info, void*) {
  const bool of_terminal = signal == SIGINT || signal == SIGQUIT || signal == SIGHUP || signal == SIGWINCH;
  if (child <= 0 || (of_terminal && info->si_code > 0)) return;
  const int known = errno;
  if (info->si_code == SI_QUEUE)
    sigqueue(child, signal, info->si_value);
  else
    kill(child, signal);
  errno = known;
}

// Those by which others speak to a program.
std::vector<int> forwarded_signals() {
  std::vector<int> all{SIGINT,  SIGQUIT, SIGTERM, SIGHUP,    SIGUSR1,
                       SIGUSR2, SIGALRM, SIGPROF, SIGVTALRM, SIGWINCH};
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) all.push_back(signal);
  return all;
}

// As long as it lives, signals that only reach this process go on to the program.
class StandingAside {
 public:
  StandingAside() : signals_(forwarded_signals()), before_(signals_.size()) {
    struct sigaction action {};
    action.sa_flags = SA_RESTART | SA_SIGINFO;
    action.sa_sigaction = forward;
    for (std::size_t i = 0; i < signals_.size(); ++i) sigaction(signals_[i], &action, &before_[i]);
  }
  ~StandingAside() {
    for (std::size_t i = 0; i < signals_.size(); ++i) sigaction(signals_[i], &before_[i], nullptr);
  }
  StandingAside(const StandingAside&) = delete;
  StandingAside& operator=(const StandingAside&) = delete;

 private:
  std::vector<int> signals_;
  std::vector<struct sigaction> before_;
};

[[noreturn]] void become(const std::vector<std::string>& command, int failure) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  const int why = errno;
  static_cast<void>(!write(failure, &why, sizeof why));
  _exit(kProgramNotExecutable);
}

void die_alike(int signal) {
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);  // the program has left its own, if any
  std::signal(signal, SIG_DFL);
  raise(signal);
}

}  // namespace

const struct sigaction& await_children() {
  static const struct sigaction before = [] {
    struct sigaction usual {
    }, inherited{};
    usual.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &usual, &inherited);
    return inherited;
  }();
  return before;
}

int refuse_program(const std::string& program) {
  const int problem = look_for(program).problem;
  return problem == 0 ? 0 : report_problem(program, problem);
}

std::string path_of_program(const std::string& program) {
  const Looked looked = look_for(program);
  return looked.problem == 0 ? looked.path : std::string();
}

std::string raised_rights_of(const std::string& program) {
  const std::string path = path_of_program(program);
  struct stat file {};
  struct statvfs mount {};
  if (path.empty() || stat(path.c_str(), &file) != 0 || statvfs(path.c_str(), &mount) != 0) return {};
  if ((mount.f_flag & ST_NOSUID) != 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1) return {};
  char first[2] = {};
  std::ifstream(path).read(first, sizeof first);
  if (first[0] == '#' && first[1] == '!') return {};  // a script runs with its caller's rights
  if ((file.st_mode & S_ISUID) != 0 && file.st_uid != getuid()) return "is set-user-id";
  // Without the group's right to execute, the bit means locks of files.
  if ((file.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && file.st_gid != getgid())
    return "is set-group-id";
  if (getuid() != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0)
    return "has file capabilities";
  return {};
}

std::string output_of_program(const std::vector<std::string>& command) {
  await_children();
  int out[2];
  if (pipe2(out, O_CLOEXEC) != 0) return {};
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions{};
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = -1;
  const int failed = posix_spawnp(&pid, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(out[1]);
  std::string text;
  std::array<char, 4096> part{};
  for (ssize_t size = 0; failed == 0;) {
    size = read(out[0], part.data(), part.size());
    if (size == 0 || (size < 0 && errno != EINTR)) break;
    if (size > 0) text.append(part.data(), static_cast<std::size_t>(size));
  }
  close(out[0]);
  int status = 0;
  while (failed == 0 && waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return {};
  return failed == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? text : std::string();
}

int run_program(const std::vector<std::string>& command, int& refused) {
  const struct sigaction& of_children = await_children();
  int failure[2];
  if (pipe2(failure, O_CLOEXEC) != 0)
    throw RunError(std::string("cannot create a pipe: ") + std::strerror(errno));
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t self = getpid();
  child = fork();
  if (child < 0) throw RunError(std::string("cannot create a process: ") + std::strerror(errno));
  if (child == 0) {
    // Who kills this process, which the program's caller knows, means the program.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != self) _exit(128 + SIGKILL);
    sigaction(SIGCHLD, &of_children, nullptr);
    sigprocmask(SIG_SETMASK, &before, nullptr);
    become(command, failure[1]);
  }
  const StandingAside standing_aside;
  sigprocmask(SIG_SETMASK, &before, nullptr);
  close(failure[1]);
  int why = 0;
  static_cast<void>(!read(failure[0], &why, sizeof why));
  close(failure[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) throw RunError(std::string("cannot await the program: ") + std::strerror(errno));
  child = 0;
  refused = why == 0
                ? 0
                : report_problem(command.front(), why == ENOENT ? kProgramNotFound : kProgramNotExecutable);
  return status;
}

int end_alike(int status) {
  if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
  die_alike(WTERMSIG(status));
  return 128 + WTERMSIG(status);
}

std::string library_beside_program(const std::string& name, const std::string& why) {
  const fs::path program = fs::read_symlink("/proc/self/exe").parent_path();
  for (const fs::path& folder : {program, program / "../lib/gangway"})
    if (fs::exists(folder / name)) return fs::weakly_canonical(folder / name).string();
  throw RunError(name + " is not beside gangway: " + why);
}

std::string path_of_library(void* library) {
  link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) return {};
  return fs::weakly_canonical(map->l_name).string();
}

}  // namespace gangway
