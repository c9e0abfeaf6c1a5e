#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <ctime>
#include <memory>
#include <thread>

#include "cli/command_tree.hpp"
#include "cli/commands.hpp"
#include "cli/interrupt.hpp"
#include "hw/transform/cache/cache_folder.hpp"
#include "hw/transform/cache/kernel_cache.hpp"
#include "hw/transform/prepare/preparation.hpp"
#include "models/error.hpp"
#include "models/quantity.hpp"
#include "models/shown.hpp"
#include "models/standard_error.hpp"

namespace gangway {
namespace {

void say(const std::string& line) { to_stderr("note: {}\n", line); }

void show(const transform::PrepareProgress& progress) {
  to_stderr("\r\033[K{}/{} modules, {:.1f} s", progress.done, progress.modules, progress.seconds);
}

void list_entries() {
  transform::KernelCache cache(transform::cache_folder(), say);
  std::uint64_t bytes = 0;
  const auto entries = cache.list();
  for (const transform::ListedEntry& entry : entries) {
    char used[32] = "";
    const std::time_t at = entry.used;
    std::tm broken{};
    std::strftime(used, sizeof used, "%Y-%m-%d %H:%M", localtime_r(&at, &broken));
    fmt::print("{}  {:>7}  {:>5} kernels {:>5} forms  {:>10}  {}{}\n", used, entry.gpu, entry.kernels,
               entry.trouble.empty() ? entry.forms : 0,
               rounded_size(Bytes{static_cast<std::int64_t>(entry.bytes)}), entry.origin,
               entry.trouble.empty() ? "" : " (" + entry.trouble + ")");
    bytes += entry.bytes;
  }
  fmt::print("{} modules, {}, in {}\n", entries.size(), rounded_size(Bytes{static_cast<std::int64_t>(bytes)}),
             transform::cache_folder());
}

std::uint64_t bytes_option(const std::string& text) {
  Bytes bytes;
  ParseFailure why;
  if (!parse(text, bytes, why) || bytes.count <= 0)
    throw InputError({"--limit", 0}, "limit", quote(text), "a size, such as 2 GiB");
  return static_cast<std::uint64_t>(bytes.count);
}

// In the background: when nobody else needs the core or the disk, and not without who started it.
void step_back() {
  setpriority(PRIO_PROCESS, 0, 19);
  syscall(SYS_ioprio_set, 1, 0, 3 << 13);  // of this process: when the disk is idle
  prctl(PR_SET_PDEATHSIG, SIGTERM);
}

int run_wanted(transform::PrepareSettings& settings, bool background) {
  if (background) step_back();
  const transform::PrepareReport report = transform::prepare_wanted(settings, catch_interrupts());
  for (const std::string& note : report.notes) say(note);
  if (report.interrupted) return 130;
  if (report.modules == 0)
    fmt::print("nothing to do: no module waits to be prepared\n");
  else
    fmt::print("{}", transform::to_text(report, settings));
  return 0;
}

int run(transform::PrepareSettings& settings) {
  const bool terminal = isatty(STDERR_FILENO) != 0;
  const transform::PrepareReport report =
      transform::prepare(settings, catch_interrupts(),
                         terminal ? show : std::function<void(const transform::PrepareProgress&)>());
  if (terminal && report.modules > 0) to_stderr("\r\033[K");
  for (const std::string& note : report.notes) say(note);
  if (report.interrupted) {
    to_stderr("interrupted: {} of {} modules are prepared; the same command continues\n",
              report.prepared + report.present, report.modules);
    return 130;
  }
  fmt::print("{}", transform::to_text(report, settings));
  return 0;
}

}  // namespace

void add_prepare(CLI::App& app, int& code) {
  struct Arguments {
    transform::PrepareSettings settings;
    std::string gpu = transform::kUsualGpu.name(), limit = "2 GiB";
    bool list = false, clear = false, wanted = false, background = false;
  };
  auto arguments = std::make_shared<Arguments>();
  transform::PrepareSettings& settings = arguments->settings;
  settings.jobs = std::thread::hardware_concurrency();
  CLI::App* sub = app.add_subcommand("prepare", "compile preemptible forms of programs' kernels");
  sub->add_option("files", settings.files,
                  "programs, shared or static libraries, objects, fatbins and PTX files")
      ->type_name(value_type::kFile);
  sub->add_flag("--libraries", settings.libraries, "include the libraries that they are linked with");
  sub->add_option("--arch", arguments->gpu, "GPU architecture (default sm_90)");
  sub->add_option("--jobs", settings.jobs, "parallel compilations (default: one per core)")
      ->check(CLI::Range(1, 1024));
  sub->add_option("--limit", arguments->limit,
                  "disk limit of the cache (default 2 GiB); evicts the least recently used modules")
      ->type_name(value_type::kSize);
  CLI::Option* list = sub->add_flag("--list", arguments->list, "list prepared modules");
  CLI::Option* clear = sub->add_flag("--clear", arguments->clear, "remove all prepared modules");
  list->excludes(clear);
  CLI::Option* wanted = sub->add_flag(
      "--wanted", arguments->wanted, "prepare modules that programs loaded unprepared under serve --prepare");
  wanted->excludes(list)->excludes(clear);
  sub->add_flag("--background", arguments->background,
                "run at the lowest priority, and end with the parent process")
      ->needs(wanted);
  sub->callback([arguments, &code] {
    transform::PrepareSettings& chosen = arguments->settings;
    code = 0;
    chosen.most_bytes = bytes_option(arguments->limit);
    if (arguments->list || arguments->clear || arguments->wanted) {
      if (!chosen.files.empty())
        throw InputError({"prepare", 0}, "files", quote(chosen.files.front()),
                         "none beside --list, --clear and --wanted");
      if (arguments->wanted) {
        code = run_wanted(chosen, arguments->background);
        return;
      }
      if (arguments->list) return list_entries();
      fmt::print("{} modules removed\n", transform::KernelCache(transform::cache_folder(), say).clear());
      return;
    }
    if (chosen.files.empty())
      throw InputError({"prepare", 0}, "files", "none",
                       "a program or module (--list shows prepared modules)");
    chosen.gpu = transform::gpu_option(arguments->gpu);
    code = run(chosen);
  });
}

}  // namespace gangway
