// Measures a real device and its kernels from the scheduler's point of view: each time runs on the
// scheduler's clock from its call until it saw the effect, so `notice` is included. Kernels are measured
// alone; nothing is learnt from runs that are to be predicted.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hw/real_device.hpp"
#include "models/fit/estimate.hpp"
#include "models/fit/line.hpp"

namespace gangway {

// One reading. `parameter`: the varied quantity: a nominal block-task length in ns, bytes of a copy, polling
// blocks, pieces of work; else 0.
struct Reading {
  std::string quantity, mechanism, kernel;
  std::int64_t parameter = 0;
  double value = 0;  // ns
};

// All readings of one quantity, mechanism, kernel and parameter.
struct Summary {
  Reading of;  // value: unused
  std::size_t count = 0;
  Estimate median;  // ns, with its 95% interval
  double p99 = 0;   // ns, nearest rank
};

struct Line {
  std::string name, meaning;
  LinearFit fit;  // parameters {intercept, slope}
};

// For a kernel on a device with SMs.
struct FormsOfKernel {
  std::string kernel;  // as in readings
  BlockCount block_tasks;
  std::int64_t threads = 0;  // of a block
  KernelForms forms;
};

// Expected error of predictions from this calibration, for runs to which nothing was fitted: relative errors
// of their jobs' NTT, as in experiments/comparing/compare.hpp.
struct ExpectedError {
  std::size_t pairs = 0, jobs = 0;
  double ntt_p50 = 0, ntt_p90 = 0, ntt_bias = 0;
};

struct Calibration {
  Device device;
  std::string mechanism;  // which the device's commands and the kernels' evictions are of
  std::vector<FormsOfKernel> forms;
  // Persistent blocks of a launch, by kernel as in readings.
  std::map<std::string, std::int64_t> persistent_blocks;
  // Kernels whose jobs took longer for a while, by this share at most; models leave that out (drift.hpp).
  std::map<std::string, double> slower_for_a_while;
  std::vector<Client> clients;  // measured kernels with their times; one client per given client
  double useful = 0.5;          // share of a drain that does useful work, over all kernels
  std::vector<Reading> readings;
  std::vector<Summary> summaries;
  std::vector<Line> lines;
  std::optional<double> together_under_mps;  // time_together() of two busy contexts
  Machine machine;
  std::optional<ExpectedError> expected_error;  // none: not measured
};

struct CalibrationPlan {
  // Clients whose kernels are measured; every kernel must name its code.
  std::vector<Client> clients;
  std::vector<std::string> mechanisms;  // at least one; files describe the first
  std::vector<Duration> lengths;        // nominal block-task lengths for eviction delays
  int most = 60;                        // readings of a kernel's time, unless settled earlier
  int launches = 24;      // of each kernel, after another kernel: whole launches, and launches of the rest
  int evictions = 120;    // of each kernel, at moments spread over its time
  int beside_copies = 4;  // launches of each kernel, in each direction
  int commands = 300;     // launches and evictions of throttle kernels
  std::vector<Duration> idle;  // for which nothing is on the device before a launch, increasing
  int after_idle = 15;         // launches after each of these
  int polls = 15;              // per number of blocks and of pieces of work
  double settled = 0.003;      // stop when half the median's interval is below this share of it
  Duration warm_up{500'000'000};
  std::int64_t largest_copy = 256 << 20;  // bytes
  std::uint64_t seed = 1;
};

// The usual plan: every mechanism of the device, except duplicates.
CalibrationPlan usual_plan(std::vector<Client> clients, const RealDeviceEntry& device);

// `progress` is told what is measured. Throws RunError if the device fails or `stop` is set.
Calibration calibrate(const RealDeviceEntry& device, const CalibrationPlan& plan,
                      const std::function<void(const std::string&)>& progress, const std::atomic<bool>& stop);

// Readings by quantity, mechanism, kernel and parameter.
std::vector<Summary> summaries_of(const std::vector<Reading>& readings);

}  // namespace gangway
