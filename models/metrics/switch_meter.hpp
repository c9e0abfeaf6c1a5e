// Time lost to changing a GPU's owner: a launch owns it and no block is there.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "models/device.hpp"
#include "models/trace.hpp"

namespace gangway {

// From the launch order to the first block, and from the last block to the report. Draining blocks do not
// count as switching. Sums over any number of runs.
class SwitchMeter {
 public:
  explicit SwitchMeter(std::int64_t gpus) : gpus_(gpus) {}
  void reset();  // before the next run; keeps sums
  void record(const Record& record);
  // Share of the time from the first release to the end of the run, averaged over GPUs, in [0, 1]; none if no
  // policy launched anything.
  std::optional<double> share() const;

 private:
  struct Owner {
    LaunchId launch;            // 0: none
    std::optional<Time> since;  // without blocks
  };
  void account(Owner& owner, Time now);

  std::int64_t gpus_;
  std::array<Owner, kMostGpus> owners_;  // by GPU
  std::optional<Time> first_release_;
  bool launched_ = false;
  double switching_ns_ = 0, all_ns_ = 0;
};

}  // namespace gangway
