// How much of a run goes to changing what owns a GPU: time in which a launch owns it and no block is there.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "models/device.hpp"
#include "models/trace.hpp"

namespace gangway {

// From the order of a launch to its first block, and from its last block to the report. Blocks that drain are
// still there: that is no switching. Adds up over as many runs as it is fed.
class SwitchMeter {
 public:
  explicit SwitchMeter(std::int64_t gpus) : gpus_(gpus) {}
  void reset();  // before the next run; keeps what was counted
  void record(const Record& record);
  // Of the time from the first release to the end of the run, averaged over GPUs, in [0, 1]; none where no
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
