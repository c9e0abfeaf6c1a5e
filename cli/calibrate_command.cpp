#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <sstream>

#include "cli/command_tree.hpp"
#include "cli/commands.hpp"
#include "cli/interrupt.hpp"
#include "experiments/calibrating/pairs.hpp"
#include "experiments/library/calibration_files.hpp"
#include "experiments/library/library.hpp"
#include "experiments/results/files.hpp"
#include "hw/calibration/two_processes.hpp"
#include "hw/mps_daemon.hpp"
#include "models/error.hpp"
#include "models/nearest.hpp"
#include "models/standard_error.hpp"
#include "workloads/source.hpp"

namespace gangway {
namespace {

struct CalibrateArguments {
  std::string world = "cuda", out, name, workload, mechanism;
  int device = 0, pairs = 6;
  bool force = false, answer = false;
};

std::vector<Client> clients_of(const std::string& given) {
  const Node name = Node::text(given, Origin{"--workload", 0});
  const Node node = resolve(Field(name, "workload"), "workloads", "");
  const Workload workload = read_clients(Field(node, ""));
  for (const Client& client : workload.clients)
    for (const Kernel& kernel : client.kernels)
      if (!kernel.code)
        throw InputError(kernel.origin, "code", "nothing", "code of the kernel, which is to be measured");
  return workload.clients;
}

// CUDA counts the devices that CUDA_VISIBLE_DEVICES lets it see from 0, and everything here means the first.
void choose_device(const CalibrateArguments& arguments) {
  if (arguments.world != "cuda") {
    if (arguments.device > 0)
      throw InputError({"--device", 0}, "device", std::to_string(arguments.device),
                       "0, the only one of this world");
    return;
  }
  std::vector<std::string> visible;
  if (const char* given = std::getenv("CUDA_VISIBLE_DEVICES"); given != nullptr) {
    std::stringstream list(given);
    for (std::string one; std::getline(list, one, ',');) visible.push_back(one);
    if (static_cast<std::size_t>(arguments.device) >= visible.size() && arguments.device > 0)
      throw InputError(
          {"--device", 0}, "device", std::to_string(arguments.device),
          fmt::format("less than {}, the number of GPUs in CUDA_VISIBLE_DEVICES", visible.size()));
  }
  if (arguments.device == 0) return;
  const auto number = static_cast<std::size_t>(arguments.device);
  setenv("CUDA_VISIBLE_DEVICES", visible.empty() ? std::to_string(number).c_str() : visible[number].c_str(),
         1);
}

// What two processes of this program do to each other, with MPS, where it can be had, and without.
void measure_sharing(const CalibrateArguments& arguments, Calibration& c,
                     const std::function<void(const std::string&)>& progress, const std::atomic<bool>& stop) {
  const std::vector<std::string> command{"/proc/self/exe", "calibrate", "--answer",   "--world",
                                         arguments.world,  "--out",     arguments.out};
  progress("time slices of two processes");
  try {
    measure_time_slices(*start_two_processes(command), c, stop);
    fit_time_slices(c);
  } catch (const RunError& error) {
    if (stop) throw;
    to_stderr("{}note: no time_slice was measured: {}\n", isatty(STDERR_FILENO) != 0 ? "\r\033[K" : "",
              error.what());
  }
  progress("two processes under MPS");
  const auto mps = MpsDaemon::start();
  if (mps == nullptr) return;
  try {
    const ProbeWork busy{1, Duration{40'000'000}};
    c.together_under_mps = time_together(start_two_processes(command, mps->environment())->run({busy, busy}));
  } catch (const RunError& error) {
    to_stderr("{}note: nothing was measured under MPS: {}\n", isatty(STDERR_FILENO) != 0 ? "\r\033[K" : "",
              error.what());
  }
}

// How well it predicts. Leaves that open if interrupted.
void judge(const CalibrateArguments& arguments, const std::string& mechanism, Calibration& c,
           const std::function<void(const std::string&)>& progress, const std::atomic<bool>& stop) {
  if (arguments.pairs == 0) return;
  progress("pairs of kernels");
  PairsPlan plan;
  plan.pairs = static_cast<std::size_t>(arguments.pairs);
  plan.world = arguments.world;
  plan.mechanism = mechanism;
  try {
    c.expected_error = play_pairs(c, plan, arguments.out, stop);
  } catch (const RunError& error) {
    if (stop) return;
    to_stderr("{}note: no expected_error was measured: {}\n", isatty(STDERR_FILENO) != 0 ? "\r\033[K" : "",
              error.what());
  }
}

void print(const Calibration& c) {
  fmt::print("{:<38} {:<12} {:<16} {:>10} {:>6} {:>12} {:>12} {:>12}\n", "quantity", "mechanism", "kernel",
             "parameter", "count", "median/us", "+-", "p99/us");
  for (const Summary& s : c.summaries)
    fmt::print("{:<38} {:<12} {:<16} {:>10} {:>6} {:>12.3f} {:>12.3f} {:>12.3f}\n", s.of.quantity,
               s.of.mechanism, s.of.kernel, s.of.parameter, s.count, s.median.value / 1e3,
               (s.median.high - s.median.low) / 2e3, s.p99 / 1e3);
  for (const Line& l : c.lines)
    fmt::print("{}: {:.6g} ({:.6g} to {:.6g}) + x * {:.6g} ({:.6g} to {:.6g}); {}\n", l.name,
               l.fit.parameters[0].value, l.fit.parameters[0].low, l.fit.parameters[0].high,
               l.fit.parameters[1].value, l.fit.parameters[1].low, l.fit.parameters[1].high, l.meaning);
}

int calibrate(const CalibrateArguments& arguments, const std::string& command) {
  if (arguments.answer) {
    const RealDeviceEntry& device = RealDevices::named(arguments.world, "--world", "world");
    if (device.sharing_probe == nullptr)
      throw InputError({"--answer", 0}, "--world", quote(arguments.world),
                       "one whose processes share a device");
    answer_for_context(device.sharing_probe);
    return 0;
  }
  refuse_file(arguments.out);
  if (!arguments.force && holds_calibration(arguments.out))
    throw InputError({arguments.out, 0}, "--out", "a calibration", "another folder, or --force");
  const RealDeviceEntry& device = RealDevices::named(arguments.world, "--world", "world");
  const bool gpu = arguments.world != "host";
  const std::string workload = !arguments.workload.empty() ? arguments.workload
                               : gpu                       ? "five-kernels"
                                                           : "host-kernels";
  CalibrationPlan plan = usual_plan(clients_of(workload), device);
  if (!arguments.mechanism.empty()) {
    const auto chosen = std::find(plan.mechanisms.begin(), plan.mechanisms.end(), arguments.mechanism);
    if (chosen == plan.mechanisms.end())
      throw InputError({"--mechanism", 0}, "mechanism", quote(arguments.mechanism),
                       expected_names(arguments.mechanism, plan.mechanisms));
    std::rotate(plan.mechanisms.begin(), chosen, plan.mechanisms.end());
  }
  const bool terminal = isatty(STDERR_FILENO) != 0;
  const auto& interrupted = catch_interrupts();
  choose_device(arguments);
  if (!arguments.name.empty()) {
    const Node name = parse_yaml("'" + arguments.name + "'", "--name");
    static_cast<void>(Field(name, "name").identifier());
  }
  device.machine();            // there is one
  make_folder(arguments.out);  // or it would be known only when everything is measured
  try {
    const auto progress = [&](const std::string& what) {
      if (terminal) to_stderr("\r\033[K{}", what);
    };
    Calibration calibration = gangway::calibrate(device, plan, progress, interrupted);
    if (device.sharing_probe != nullptr) {
      measure_sharing(arguments, calibration, progress, interrupted);
      calibration.summaries = summaries_of(calibration.readings);
    }
    const std::string name = arguments.name.empty() ? calibration.device.name : arguments.name;
    // Whole from here on, but for what to expect of it.
    write_descriptions(calibration, name, command, arguments.out);
    write_account(calibration, name, command, arguments.out);
    judge(arguments, plan.mechanisms.front(), calibration, progress, interrupted);
    if (terminal) to_stderr("\r\033[K");
    if (interrupted && !calibration.expected_error && arguments.pairs > 0) {
      to_stderr("interrupted: the calibration in {} is whole, but without an expected error\n",
                arguments.out);
      return 130;
    }
    write_account(calibration, name, command, arguments.out);
    print(calibration);
    fmt::print("useful share of a drain: {} (median), for kernels without one as mechanism.params.useful\n",
               calibration.useful);
    for (const auto& [kernel, share] : calibration.slower_for_a_while)
      fmt::print("{} took up to {:.0f} % longer for a while: the files leave that out\n", kernel,
                 100 * share);
    if (const auto& e = calibration.expected_error)
      fmt::print(
          "expected error of NTT: {:.1f} % (median), {:.1f} % (90th percentile), by {} jobs of {} pair{} of "
          "kernels to which nothing was fitted\n",
          100 * e->ntt_p50, 100 * e->ntt_p90, e->jobs, e->pairs, e->pairs == 1 ? "" : "s");
    if (calibration.together_under_mps)
      fmt::print("under MPS two busy processes were on the GPU at once for {:.0f} % of the time\n",
                 100 * *calibration.together_under_mps);
    fmt::print("device.yaml, workload.yaml, calibration.json and samples.csv are in {}\n", arguments.out);
  } catch (const RunError&) {
    if (!interrupted) throw;
    to_stderr("interrupted: nothing was written\n");
    return 130;
  }
  return 0;
}

}  // namespace

void add_calibrate(CLI::App& app, const std::string& command, int& code) {
  auto arguments = std::make_shared<CalibrateArguments>();
  CLI::App* sub = app.add_subcommand("calibrate", "measure a device and write the files that describe it");
  sub->add_option("--world", arguments->world, "cuda (default) or host")
      ->type_name(fmt::format("{{{}}}", fmt::join(RealDevices::names(), ",")));
  sub->add_option("--device", arguments->device, "GPU number (default 0)")->check(CLI::Range(0, 1023));
  sub->add_option("--out", arguments->out, "folder for the files")
      ->required()
      ->type_name(value_type::kFolder);
  sub->add_option("--name", arguments->name, "device name in the files (default: its own)");
  sub->add_option("--workload", arguments->workload,
                  "workload, file or name, with the kernels to measure (default five-kernels, on CPU "
                  "cores host-kernels)")
      ->type_name(value_type::kWorkload);
  sub->add_option("--mechanism", arguments->mechanism,
                  "mechanism that the files describe (default: the device's first)")
      ->type_name(value_type::kMechanism);
  sub->add_option("--pairs", arguments->pairs,
                  "pairs of kernels to predict and play afterwards, for the expected error (default 6)")
      ->check(CLI::Range(0, 1000));
  sub->add_flag("--force", arguments->force, "replace a calibration");
  sub->add_flag("--answer", arguments->answer, "be one of the processes that share the device")->group("");
  sub->callback([arguments, command, &code] { code = calibrate(*arguments, command); });
}

}  // namespace gangway
