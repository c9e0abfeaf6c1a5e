#include "hw/live/exec.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "hw/live/page.hpp"
#include "hw/live/runtime_folder.hpp"
#include "hw/live/socket.hpp"
#include "models/error.hpp"

namespace gangway::live {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLookalike = "libgangway-lookalike.so";
constexpr const char* kRealDriver = "libgangway-real-cuda.so.1";  // hw/intercept/driver.cpp
constexpr int kNotFound = 127, kNotExecutable = 126;

std::string path_of(void* library) {
  link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) return {};
  return fs::weakly_canonical(map->l_name).string();
}

// As the loader finds it for any program started here; behind a look-alike, the one behind that.
std::string real_driver() {
  void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) throw RunError(std::string("there is no CUDA driver here: ") + dlerror());
  if (dlsym(library, "gangway_submission") != nullptr) library = dlopen(kRealDriver, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) throw RunError("the CUDA driver behind Gangway's look-alike is not there");
  return path_of(library);
}

std::string lookalike() {
  const fs::path program = fs::read_symlink("/proc/self/exe").parent_path();
  for (const fs::path& folder : {program, program / "../lib/gangway"})
    if (fs::exists(folder / kLookalike)) return fs::weakly_canonical(folder / kLookalike).string();
  throw RunError(std::string(kLookalike) + " is not beside gangway: it was built without cuda.h");
}

void link_to(const fs::path& target, const fs::path& name) {
  std::error_code failed;
  fs::create_symlink(target, name, failed);
  if (failed) throw RunError(name.string() + ": " + failed.message());
}

// A folder in which the loader finds the look-alike as the driver, and the look-alike the real one. One for
// each pair; made elsewhere and renamed, as others may be making it at the same time.
std::string library_folder() {
  const std::string ours = lookalike(), real = real_driver();
  const fs::path folder =
      fs::path(own_folder()) / ("lib-" + std::to_string(std::hash<std::string>{}(ours + '\n' + real)));
  if (fs::exists(folder / kRealDriver)) return folder.string();
  std::string made = folder.string() + ".XXXXXX";
  if (mkdtemp(made.data()) == nullptr) throw RunError(made + ": " + std::strerror(errno));
  link_to(ours, fs::path(made) / "libcuda.so.1");
  link_to("libcuda.so.1", fs::path(made) / "libcuda.so");
  link_to(real, fs::path(made) / kRealDriver);
  std::error_code exists;
  fs::rename(made, folder, exists);
  if (exists) fs::remove_all(made);
  return folder.string();
}

void put_first(const char* variable, const std::string& path) {
  const char* before = std::getenv(variable);
  setenv(variable, before != nullptr && *before != '\0' ? (path + ":" + before).c_str() : path.c_str(), 1);
}

// 0 where it can be tried.
int problem_of(const std::string& program) {
  const auto usable = [](const std::string& path) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) return kNotFound;
    return S_ISREG(status.st_mode) && access(path.c_str(), X_OK) == 0 ? 0 : kNotExecutable;
  };
  if (program.find('/') != std::string::npos) return usable(program);
  int worst = kNotFound;
  const char* path = std::getenv("PATH");
  const std::string folders = path != nullptr ? path : "/bin:/usr/bin";
  for (std::size_t from = 0; from <= folders.size();) {
    const std::size_t to = std::min(folders.find(':', from), folders.size());
    const std::string folder = to == from ? "." : folders.substr(from, to - from);
    const int problem = usable(folder + "/" + program);
    if (problem == 0) return 0;
    if (problem == kNotExecutable && !fs::is_directory(folder + "/" + program)) worst = kNotExecutable;
    from = to + 1;
  }
  return worst;
}

int report_problem(const std::string& program, int code) {
  std::fprintf(stderr, "error: %s: %s\n", program.c_str(),
               code == kNotFound ? "program not found" : "it cannot be executed");
  return code;
}

volatile pid_t child = 0;
void forward(int signal) {
  if (child > 0) kill(child, signal);
}

// Signals that only reach this process go on to the program; those from the terminal reach it anyway.
void stand_aside() {
  struct sigaction action {};
  action.sa_handler = SIG_IGN;
  for (const int signal : {SIGINT, SIGQUIT}) sigaction(signal, &action, nullptr);
  action.sa_handler = forward;
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) sigaction(signal, &action, nullptr);
}

[[noreturn]] void become(const std::vector<std::string>& command, int failure) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  const int why = errno;
  static_cast<void>(!write(failure, &why, sizeof why));
  _exit(kNotExecutable);
}

// Starts the program and waits for its end. `why` is errno where it could not be executed, else 0.
int run(const std::vector<std::string>& command, int& why) {
  int failure[2];
  if (pipe2(failure, O_CLOEXEC) != 0) throw RunError(std::string("a pipe: ") + std::strerror(errno));
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  child = fork();
  if (child < 0) throw RunError(std::string("a process: ") + std::strerror(errno));
  if (child == 0) {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    become(command, failure[1]);
  }
  stand_aside();
  sigprocmask(SIG_SETMASK, &before, nullptr);
  close(failure[1]);
  why = 0;
  static_cast<void>(!read(failure[0], &why, sizeof why));
  close(failure[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  child = 0;
  return status;
}

void die_alike(int signal) {
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);  // the program has left its own, if any
  std::signal(signal, SIG_DFL);
  raise(signal);
}

}  // namespace

int execute(const ExecSettings& settings) {
  const std::string& program = settings.command.front();
  if (const int problem = problem_of(program); problem != 0) return report_problem(program, problem);
  const Descriptor socket = connect_to(settings.socket);
  if (!socket)
    throw RunError("no daemon at " + settings.socket + " (" + std::strerror(errno) +
                   "); gangway serve starts one");
  Hello hello;
  hello.version = kVersion;
  hello.priority = settings.priority;
  const std::string name = settings.name.empty() ? fs::path(program).filename().string() : settings.name;
  std::strncpy(hello.name, name.c_str(), sizeof hello.name - 1);
  Welcome welcome;
  if (!send_record(socket.get(), &hello, sizeof hello) ||
      !receive_record(socket.get(), &welcome, sizeof welcome))
    throw RunError("the daemon at " + settings.socket + " does not answer");
  welcome.why_not[sizeof welcome.why_not - 1] = '\0';
  if (welcome.accepted == 0) throw RunError(std::string("the daemon refuses: ") + welcome.why_not);

  const std::string folder = library_folder();
  put_first("LD_LIBRARY_PATH", folder);
  if (settings.preload) put_first("LD_PRELOAD", folder + "/libcuda.so.1");
  setenv("GANGWAY_SOCKET", fs::absolute(settings.socket).c_str(), 1);
  setenv("GANGWAY_PROGRAM", std::to_string(welcome.program).c_str(), 1);
  std::fflush(nullptr);
  int why = 0;
  const int status = run(settings.command, why);
  if (why != 0) return report_problem(program, why == ENOENT ? kNotFound : kNotExecutable);

  const Question question;
  Answer answer{1};
  if (send_record(socket.get(), &question, sizeof question) &&
      receive_record(socket.get(), &answer, sizeof answer) && answer.clients == 0)
    std::fprintf(stderr,
                 "gangway: %s submitted nothing through libcuda.so.1, so nothing of it was scheduled\n",
                 program.c_str());
  if (WIFSIGNALED(status)) {
    die_alike(WTERMSIG(status));
    return 128 + WTERMSIG(status);
  }
  return WEXITSTATUS(status);
}

}  // namespace gangway::live
