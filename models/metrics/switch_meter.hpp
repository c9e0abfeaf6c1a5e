// Time lost to changing a GPU's owner: a launch owns it, none of its blocks has come yet or all are gone, and
// nobody else's are there.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "models/device.hpp"
#include "models/trace.hpp"

namespace gangway {

// From the launch order to the first block, and from the last block to the report, without time in which
// others have blocks on the GPU: an earlier owner's, or those of native clients. Draining blocks do not count
// as switching. Sums over any number of runs.
class SwitchMeter {
 public:
  explicit SwitchMeter(std::int64_t gpus) : gpus_(gpus) {}
  void reset();  // before the next run; keeps sums
  void record(const Record& record);
  // Share of the runs' windows (RunTotals), averaged over GPUs, in [0, 1]; none if no policy launched
  // anything.
  std::optional<double> share() const;

 private:
  struct Owner {
    LaunchId launch;  // 0: none
    bool switching = false;
    std::optional<Time> since = {};  // switching, and nobody has blocks there
  };
  void settle(std::size_t gpu, Time now);
  void settle_all(Time now);

  std::int64_t gpus_;
  std::array<Owner, kMostGpus> owners_;  // by GPU
  struct There {
    LaunchId launch;
    JobId job;
  };
  std::array<std::vector<There>, kMostGpus> there_{};  // likewise: launches with blocks
  std::optional<Time> first_release_;
  std::int64_t open_ = 0;    // released jobs that are not over
  double run_ns_ = 0;        // of this run so far
  double at_last_over_ = 0;  // run_ns_ when a job was last over, at:
  Time last_over_;
  bool launched_ = false;
  double switching_ns_ = 0, all_ns_ = 0;
};

}  // namespace gangway
