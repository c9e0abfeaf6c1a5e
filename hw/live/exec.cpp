#include "hw/live/exec.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "hw/live/page.hpp"
#include "hw/live/runtime_folder.hpp"
#include "hw/live/socket.hpp"
#include "hw/program.hpp"
#include "models/error.hpp"

namespace gangway::live {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNvtxInjection = "NVTX_INJECTION64_PATH";
constexpr const char* kVisible = "CUDA_VISIBLE_DEVICES";
constexpr const char* kLookalike = "libgangway-lookalike.so";
constexpr const char* kRealDriver = "libgangway-real-cuda.so.1";  // hw/intercept/driver.cpp

// As the loader finds it for any program started here; behind a look-alike, the one behind that.
std::string real_driver() {
  void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) throw RunError(std::string("no CUDA driver found: ") + dlerror());
  if (dlsym(library, "gangway_submission") != nullptr) library = dlopen(kRealDriver, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) throw RunError("the CUDA driver behind Gangway's look-alike is missing");
  return path_of_library(library);
}

void link_to(const fs::path& target, const fs::path& name) {
  std::error_code failed;
  fs::create_symlink(target, name, failed);
  if (failed) throw RunError(name.string() + ": " + failed.message());
}

// A folder in which the loader finds the look-alike as the driver, and the look-alike the real one. One for
// each pair; made elsewhere and renamed, as others may be making it at the same time.
std::string library_folder() {
  const std::string ours = lookalike_library(), real = real_driver();
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

// As the daemon says, whatever CUDA_VISIBLE_DEVICES was.
void show_given(const char* uuid) {
  setenv(kVisible, uuid, 1);
  setenv("GANGWAY_GPU", uuid, 1);
}

// Of the devices that CUDA_VISIBLE_DEVICES lists, or of all.
void show_only(unsigned gpu) {
  const char* listed = std::getenv(kVisible);
  std::string device = std::to_string(gpu);
  if (listed != nullptr) {
    std::istringstream all(listed);
    unsigned place = 0;
    while (std::getline(all, device, ',') && place < gpu) ++place;
    if (!all) throw RunError(std::string("no GPU ") + std::to_string(gpu) + " in " + kVisible + "=" + listed);
  }
  setenv(kVisible, device.c_str(), 1);
}

void make_ready_for_forms(bool wanted, bool notes) {
  setenv("GANGWAY_WANTED", notes ? "1" : "", 1);
  setenv("GANGWAY_FORMS", wanted ? "1" : "", 1);
  // As many queues as the driver gives without MPS. With it the driver gives fewer, too few for any form. A
  // value that is there is kept.
  if (wanted) setenv("CUDA_DEVICE_MAX_CONNECTIONS", "8", 0);
}

void declare_read_only(const ExecSettings& settings) {
  std::string sizes;
  for (const std::uint64_t size : settings.read_only)
    sizes += (sizes.empty() ? "" : ",") + std::to_string(size);
  setenv("GANGWAY_READ_ONLY", sizes.c_str(), 1);
  if (settings.check_read_only)
    setenv("GANGWAY_CHECK_READ_ONLY", "1", 1);
  else
    unsetenv("GANGWAY_CHECK_READ_ONLY");
}

}  // namespace

std::string lookalike_library() { return library_beside_program(kLookalike, "it was built without cuda.h"); }

int execute(const ExecSettings& settings) {
  const std::string& program = settings.command.front();
  if (const int refused = refuse_program(program); refused != 0) return refused;
  const Descriptor socket = connect_to(settings.socket);
  if (!socket)
    throw RunError("no daemon at " + settings.socket + " (" + std::strerror(errno) +
                   "); gangway serve starts one");
  Hello hello;
  hello.version = kVersion;
  hello.priority = settings.priority;
  hello.weight = settings.weight;
  hello.slo_ns = settings.slo.ns;
  if (settings.gpu) hello.gpu = static_cast<std::int32_t>(*settings.gpu);
  const std::string name = settings.name.empty() ? fs::path(program).filename().string() : settings.name;
  std::strncpy(hello.name, name.c_str(), sizeof hello.name - 1);
  std::strncpy(hello.group, settings.group.c_str(), sizeof hello.group - 1);
  Welcome welcome;
  if (!send_record(socket.get(), &hello, sizeof hello) ||
      !receive_record(socket.get(), &welcome, sizeof welcome))
    throw RunError("the daemon at " + settings.socket + " does not answer");
  welcome.why_not[sizeof welcome.why_not - 1] = '\0';
  if (welcome.accepted == 0) throw RunError(std::string("the daemon refuses: ") + welcome.why_not);

  const std::string folder = library_folder();
  put_first("LD_LIBRARY_PATH", folder);
  unsetenv("GANGWAY_GPU");
  welcome.gpu[sizeof welcome.gpu - 1] = '\0';
  if (welcome.gpu[0] != '\0')
    show_given(welcome.gpu);
  else if (settings.gpu)
    show_only(*settings.gpu);
  const std::string jobs = !settings.jobs.empty() ? settings.jobs : welcome.whole != 0 ? "whole" : "sync";
  setenv("GANGWAY_JOBS", jobs.c_str(), 1);
  if (settings.jobs.starts_with("nvtx:")) {
    const std::string ours = folder + "/libcuda.so.1";
    if (const char* other = std::getenv(kNvtxInjection); other != nullptr && *other != '\0' && other != ours)
      throw RunError(std::string("another tool takes the program's NVTX ranges: ") + kNvtxInjection + " is " +
                     other);
    setenv(kNvtxInjection, ours.c_str(), 1);
  }
  if (settings.preload) put_first("LD_PRELOAD", folder + "/libcuda.so.1");
  setenv("GANGWAY_SOCKET", fs::absolute(settings.socket).c_str(), 1);
  if (welcome.memory != MemoryMoves::none && !settings.native_memory)
    setenv("GANGWAY_MEMORY", welcome.memory == MemoryMoves::whole ? "checkpoint" : "managed", 1);
  else
    unsetenv("GANGWAY_MEMORY");
  declare_read_only(settings);
  setenv("GANGWAY_PROGRAM", std::to_string(welcome.program).c_str(), 1);
  make_ready_for_forms(welcome.forms != 0, welcome.notes != 0);
  setenv("GANGWAY_DAEMON", std::to_string(welcome.daemon).c_str(), 1);
  const std::string raised = raised_rights_of(program);
  if (!raised.empty())
    std::fprintf(
        stderr,
        "gangway: %s %s, so it runs without the gate (the loader ignores LD_LIBRARY_PATH), and nothing "
        "of it is scheduled\n",
        program.c_str(), raised.c_str());
  std::fflush(nullptr);
  int refused = 0;
  const int status = run_program(settings.command, refused);
  if (refused != 0) return refused;

  // A daemon that ends its programs waits for this process, and would not answer.
  if (std::getenv("GANGWAY_ENDS_WITH_DAEMON") != nullptr) return end_alike(status);
  const Question question;
  Answer answer;
  if (send_record(socket.get(), &question, sizeof question) &&
      receive_record(socket.get(), &answer, sizeof answer)) {
    answer.why_killed[sizeof answer.why_killed - 1] = '\0';
    if (answer.clients == 0 && raised.empty())
      std::fprintf(stderr,
                   "gangway: %s submitted nothing through libcuda.so.1, so nothing of it was scheduled\n",
                   program.c_str());
    if (answer.why_killed[0] != '\0')
      std::fprintf(stderr, "gangway: the daemon killed %s, because %s\n", program.c_str(), answer.why_killed);
  }
  return end_alike(status);
}

}  // namespace gangway::live
