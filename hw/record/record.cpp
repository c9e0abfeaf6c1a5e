#include "hw/record/record.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "hw/driver_facts.hpp"
#include "hw/live/jobs_alone.hpp"
#include "hw/program.hpp"
#include "hw/record/assemble.hpp"
#include "hw/record/graph_nodes.hpp"
#include "hw/scratch_folder.hpp"
#include "models/error.hpp"
#include "models/recording/file.hpp"
#include "models/recording/summary.hpp"
#include "models/standard_error.hpp"

namespace gangway::spool {
namespace {

namespace fs = std::filesystem;
namespace rec = recording;

constexpr const char* kLibrary = "libgangway-record.so";
constexpr const char* kInjection = "CUDA_INJECTION64_PATH";
constexpr const char* kNvtxInjection = "NVTX_INJECTION64_PATH";
#ifndef GANGWAY_CUPTI_NAME
#define GANGWAY_CUPTI_NAME "libcupti.so"
#endif
constexpr const char* kCuptiName = GANGWAY_CUPTI_NAME;

// Of a library that can be loaded; empty where it cannot.
std::string path_if_loadable(const std::string& name) {
  void* library = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return {};
  const std::string path = path_of_library(library);
  dlclose(library);
  return path;
}

volatile std::sig_atomic_t arrived = 0;  // the last signal that asked for an end

// As long as it lives, a signal that would end this process waits until the spools are gone and the recording
// is whole. The program does not inherit that.
class EndsLater {
 public:
  EndsLater() {
    struct sigaction action {};
    action.sa_flags = SA_RESTART;
    action.sa_handler = [](int signal) { arrived = signal; };
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
      sigaction(kSignals[i], nullptr, &before_[i]);
      if (before_[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
    }
  }
  ~EndsLater() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
  }
  EndsLater(const EndsLater&) = delete;
  EndsLater& operator=(const EndsLater&) = delete;

 private:
  static constexpr std::array kSignals{SIGINT, SIGQUIT, SIGTERM, SIGHUP};
  std::array<struct sigaction, kSignals.size()> before_{};
};

// For the spools of one run of the program.
ScratchFolder spool_folder(const std::string& out) {
  const fs::path file = fs::absolute(out);
  try {
    return ScratchFolder((file.parent_path() / ("." + file.filename().string() + ".spool-")).string());
  } catch (const RunError& error) {
    throw RunError(fmt::format("cannot write beside {}: {}", out, error.what()));
  }
}

// Set as long as this object lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) { setenv(name, value.c_str(), 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

struct Run {
  int status = 0, refused = 0;
  Duration wall;
};

Run run(const std::vector<std::string>& command) {
  Run out;
  const auto begin = std::chrono::steady_clock::now();
  out.status = run_program(command, out.refused);
  out.wall = Duration{(std::chrono::steady_clock::now() - begin) / std::chrono::nanoseconds(1)};
  return out;
}

Run run_recorded(const RecordSettings& settings, const std::string& library, const std::string& cupti,
                 const ScratchFolder& folder, const char* extent) {
  const Variable spools(kFolder, folder.path()), which(kCupti, cupti), how(kExtent, extent),
      injection(kInjection, library), nvtx(kNvtxInjection, library);
  return run(settings.command);
}

void describe(rec::Recording& r, const RecordSettings& settings, const Run& run) {
  rec::About& about = r.about;
  about.command = settings.command;
  about.length = run.wall;
  about.ending = WIFSIGNALED(run.status) ? rec::Ending::killed : rec::Ending::exited;
  about.code = WIFSIGNALED(run.status) ? WTERMSIG(run.status) : WEXITSTATUS(run.status);
  about.gangway = settings.version;
  about.driver = driver_module_version();
  about.cpu = settings.cpu;
  about.cores = std::thread::hardware_concurrency();
  utsname system{};
  if (uname(&system) == 0)
    about.system = fmt::format("{} {} {}", system.sysname, system.release, system.machine);
}

// To what a person reads of it.
Duration rounded(Duration d) {
  std::int64_t unit = 1;
  while (d.ns / unit >= 10'000) unit *= 10;
  return Duration{(d.ns + unit / 2) / unit * unit};
}

void say(const std::string& line) { to_stderr("gangway: {}\n", line); }

std::string how_it_ended(const rec::About& about) {
  return about.ending == rec::Ending::killed
             ? fmt::format("was killed by signal {} ({})", about.code, strsignal(about.code))
             : fmt::format("ended with exit code {}", about.code);
}

// What was seen instead.
std::string range_names(const rec::Recording& r) {
  std::string out;
  std::size_t left = 5;
  for (const rec::RangeName& name : r.range_names) {
    if (left-- == 0) return out + ", ...";
    out += (out.empty() ? "" : ", ") + quote(name.domain.empty() ? name.name : name.domain + "/" + name.name);
  }
  return out.empty() ? "none at all" : out;
}

void report_problems(const rec::Recording& r) {
  if (r.about.ending == rec::Ending::killed || r.about.code != 0)
    say(fmt::format("the program {}; everything until then is recorded", how_it_ended(r.about)));
  const auto unfinished =
      std::count_if(r.processes.begin(), r.processes.end(), [](const auto& p) { return !p.finished; });
  if (unfinished > 0 && r.about.ending == rec::Ending::exited)
    say(fmt::format("{} of {} processes ended without their last records", unfinished, r.processes.size()));
  if (r.about.lost > 0)
    say(fmt::format(
        "{} records are missing: of work that was not over when its process ended, or that found no room",
        r.about.lost));
  if (!r.about.trouble.empty()) say(r.about.trouble);
}

void report_jobs(const rec::Recording& r, const RecordSettings& settings) {
  if (r.jobs.empty() && settings.jobs.kind == rec::JobKind::sync)
    say("no call waited for all outstanding work, so there are no jobs (--jobs whole makes the program one "
        "job)");
  else if (!r.jobs.empty() && r.about.skip == r.jobs.size())
    say(fmt::format("--skip {} leaves none of {} jobs", settings.jobs.skip, r.jobs.size()));
  if (!r.jobs.empty() && r.jobs.front().kind == rec::JobKind::cut)
    say("the program never synchronises: it is cut after 10 ms of device time each, and its jobs have no "
        "latency");
}

double change(Duration with, Duration without) {
  return 100 *
         (static_cast<double>(with.ns) / static_cast<double>(std::max<std::int64_t>(without.ns, 1)) - 1);
}

// Why the jobs of the unrecorded run are no measure of the recorded ones; empty: they are one.
std::string incomparable(const rec::Recording& r, const live::JobsAlone& alone) {
  if (alone.refused != 0 || alone.status != 0) return "the program failed";
  if (alone.jobs.size() <= r.about.skip) return "none was seen";
  // Those of several threads are counted as one program's.
  const double ratio = static_cast<double>(alone.jobs.size()) / static_cast<double>(r.jobs.size());
  if (ratio < 0.9 || ratio > 1.1)
    return fmt::format("there were {} instead of {}", alone.jobs.size(), r.jobs.size());
  return {};
}

// Runs the program once more, at a gate that is always open and with no recorder.
void measure_unrecorded(rec::Recording& r, const RecordSettings& settings) {
  say("run without recording");
  live::JobsAlone alone = live::run_alone(settings.command, rec::to_text(settings.jobs));
  if (r.jobs.size() <= r.about.skip) return;
  if (const std::string why = incomparable(r, alone); !why.empty())
    return to_stderr("overhead  of jobs: unknown, because in the run without recording {}\n", why);
  alone.jobs.erase(alone.jobs.begin(), alone.jobs.begin() + r.about.skip);
  r.about.unrecorded = rec::median_of(alone.jobs);
  const Duration recorded = rec::summarise(r).median;
  to_stderr("overhead  median job: {} recorded, {} alone ({:+.1f} %)\n", to_text(rounded(recorded)),
            to_text(rounded(r.about.unrecorded)), change(recorded, r.about.unrecorded));
}

// Adds what a second run tells of the nodes of graphs, if there are graphs.
void second_pass(rec::Recording& r, const RecordSettings& settings, const std::string& library,
                 const std::string& cupti) {
  if (r.graphs.empty())
    return say("the program launched no graphs, so no second run is needed for their nodes");
  say("second run, for the nodes of graphs");
  const ScratchFolder folder = spool_folder(settings.out);
  const Run second = run_recorded(settings, library, cupti, folder, kGraphNodes);
  const std::size_t without = add_nodes(r, read_spools(folder.path()));
  if (second.status != 0)
    r.about.trouble = "the second run, for the nodes of graphs, failed";
  else if (without > 0)
    r.about.trouble =
        fmt::format("{} of {} graphs were not launched again in the second run", without, r.graphs.size());
}

}  // namespace

std::string recording_library() {
  return library_beside_program(kLibrary,
                                "it was not copied with the program, or built without CUPTI's headers");
}

std::string find_cupti(const std::string& given) {
  if (!given.empty()) {
    if (const std::string path = path_if_loadable(fs::absolute(given)); !path.empty()) return path;
    const char* why = dlerror();
    throw RunError(fmt::format("CUPTI cannot be loaded: {}", why != nullptr ? why : given));
  }
  std::vector<fs::path> candidates{kCuptiName};
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* home = std::getenv(variable); home != nullptr)
      for (const char* folder : {"extras/CUPTI/lib64", "lib64"})
        candidates.push_back(fs::path(home) / folder / kCuptiName);
  for (const char* folder : {"extras/CUPTI/lib64", "lib64"})
    candidates.push_back(fs::path("/usr/local/cuda") / folder / kCuptiName);
  for (const fs::path& candidate : candidates)
    if (const std::string path = path_if_loadable(candidate); !path.empty()) return path;
  throw RunError(
      fmt::format("CUPTI is missing: {} is neither known to the loader nor in CUDA's folders (--cupti says "
                  "where it is)",
                  kCuptiName));
}

int record(const RecordSettings& settings) {
  const std::string& program = settings.command.front();
  if (const int refused = refuse_program(program); refused != 0) return refused;
  if (!settings.replace && fs::exists(settings.out))
    throw InputError({settings.out, 0}, "--out", "a file", "none: --force replaces it");
  for (const char* variable : {kInjection, kNvtxInjection})
    if (const char* other = std::getenv(variable); other != nullptr && *other != '\0')
      throw RunError(fmt::format("another profiler is active: {} is {}", variable, other));
  const std::string library = recording_library();
  const std::string cupti = find_cupti(settings.cupti);

  const EndsLater ends_later;
  rec::Recording r;
  Run first;
  {
    const ScratchFolder folder = spool_folder(settings.out);
    first = run_recorded(settings, library, cupti, folder, kEverything);
    if (first.refused != 0) return first.refused;
    r = assemble(read_spools(folder.path()));
  }
  describe(r, settings, first);
  if (r.processes.empty())
    throw RunError(
        fmt::format("{} never used a GPU: nothing is recorded (it {})", program, how_it_ended(r.about)));
  if (r.works.empty())
    throw RunError(r.about.trouble.empty()
                       ? fmt::format("{} submitted nothing to a GPU: nothing is recorded (it {})", program,
                                     how_it_ended(r.about))
                       : r.about.trouble);
  // Whoever ended it does not want it run again.
  const bool again = arrived == 0 && !WIFSIGNALED(first.status);
  if (settings.graph_nodes && again) second_pass(r, settings, library, cupti);
  cut_jobs(r, settings.jobs);
  if (settings.overhead && again) measure_unrecorded(r, settings);
  write_recording(r, settings.out, settings.replace);

  report_problems(r);
  report_jobs(r, settings);
  const rec::Summary summary = rec::summarise(r);
  to_stderr("{}", to_text(r, summary));
  if (!settings.overhead && rec::host_is_bottleneck(summary))
    say("recording slows the host: with --overhead the program runs once more, unrecorded, and predictions "
        "account for that");
  say(settings.out + " is written");
  if (r.jobs.empty() && settings.jobs.kind == rec::JobKind::nvtx)
    throw RunError(fmt::format("no NVTX range has the name {}: seen were {}", quote(settings.jobs.range),
                               range_names(r)));
  return end_alike(arrived != 0 ? arrived : first.status);
}

}  // namespace gangway::spool
