// Random task sets of kernels as a calibration measured them, to be held against their bounds on the device
// that it measured.
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

// What a folder of `gangway calibrate` says of kernels and commands: the largest readings.
struct MeasuredKernels {
  struct One {
    std::string name, code_text;
    std::shared_ptr<const KernelCode> code;
    std::int64_t run_ns = 0;       // alone, in the preemptible form
    std::int64_t eviction_ns = 0;  // from the order, at any moment, until the last block is gone
  };
  Device device;
  std::vector<One> kernels;
  std::int64_t launch_ns = 0;  // and relaunch
  std::int64_t pending_ns = 0;

  // Of one mechanism; empty: the first that was measured. Throws InputError for what is no calibration, and
  // where no kernel was measured.
  MeasuredKernels(const std::filesystem::path& folder, const std::string& mechanism);
};

struct DrawnSetOptions {
  double slack = 0.02;  // kernels may take this share longer than measured
  double margin = 1.5;  // commands may take so many times as long as measured
  bool queues = true;   // also sets that share the device block by block
  std::vector<std::pair<std::string, std::string>> costs;  // by key: instead of those below, for all sets
};

// Costs that no calibration measures, unless the options give them: of owners, lateness 50 us and resume 20
// us; of queues, lateness 50 us, issue 12 us, stream 4 us, refill 2 us, change 3 us, clock 3 us, block 2 us.
class DrawnSets {
 public:
  DrawnSets(MeasuredKernels measured, DrawnSetOptions options, std::uint64_t seed);
  // Set `number`, named set-NUMBER: in turns fixed priorities, round robin and a queue. The same seed and
  // number always give the same set, whose tasks all have a bound. Throws InputError for costs that its form
  // has not, RunError when 1,000 draws gave no such set.
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
