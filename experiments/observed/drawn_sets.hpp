// Random task sets of calibrated kernels, to be checked against their bounds on the calibrated device.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "models/device.hpp"
#include "models/input/document.hpp"
#include "models/random.hpp"
#include "models/taskset.hpp"

namespace gangway {

// The largest readings of kernels and commands in a `gangway calibrate` folder.
struct MeasuredKernels {
  struct One {
    std::string name, code_text;
    std::shared_ptr<const KernelCode> code;
    std::int64_t run_ns = 0;       // in preemptible form, alone or behind another
    std::int64_t eviction_ns = 0;  // from the order, at any moment, until the last block is gone
  };
  Device device;
  std::vector<One> kernels;
  std::int64_t launch_ns = 0;   // and relaunch; also behind another kernel, and after idle times
  std::int64_t pending_ns = 0;  // after whole launches and evictions

  // For one mechanism; empty: the first measured. Throws InputError if the folder is no calibration or
  // contains no kernels.
  MeasuredKernels(const std::filesystem::path& folder, const std::string& mechanism);
};

struct DrawnSetOptions {
  double slack = 0.02;  // share by which kernels may exceed their measured time
  double margin = 1.5;  // factor by which commands may exceed their measured time
  bool queues = true;   // include sets that share the device block by block
  std::vector<std::pair<std::string, std::string>> costs;  // by key: replace the defaults below, for all sets
};

// Costs that calibration does not measure, unless given in the options. Owners: lateness 50 us, resume 20 us.
// Queues: lateness 50 us, issue 20 us, stream 6 us, refill 2 us, change 15 us, clock 3 us, block 2 us.
class DrawnSets {
 public:
  DrawnSets(MeasuredKernels measured, DrawnSetOptions options, std::uint64_t seed);
  // Set `number`, named set-NUMBER; by turns fixed priorities, round robin and a queue. Deterministic in seed
  // and number; all its tasks have a bound. Throws InputError for costs that its form lacks, RunError if
  // 1,000 draws gave no such set.
  TaskSet draw(std::uint64_t number) const;

 private:
  TaskSet draw_owners(Stream& random, bool ring) const;
  TaskSet draw_queue(Stream& random) const;
  std::vector<const MeasuredKernels::One*> some_kernels(Stream& random) const;
  Node costs(std::vector<std::pair<std::string, std::string>> usual) const;

  MeasuredKernels measured_;
  DrawnSetOptions options_;
  std::uint64_t seed_;
};

}  // namespace gangway
