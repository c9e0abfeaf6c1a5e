// Where the time of a run went, worked out from its trace alone, by intervals: a second account beside that
// of RunMeter, which follows the trace step by step.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/device.hpp"
#include "models/metrics/run_meter.hpp"

namespace gangway::testing {

class TimeAccount {
 public:
  void record(const Record& record) { records_.push_back(record); }
  void blocks(const BlockSpan& span);

  // Empty, or the first law that is broken: 0 <= utilisation <= 1; of each finished job executing, copying
  // and waiting are what the intervals say and add up to its response; the GPUs' busy time is what they say.
  std::string broken_law(const std::vector<JobResult>& jobs, const RunTotals& totals,
                         const Device& device) const;

 private:
  struct Interval {
    Time from, until;
  };
  using Intervals = std::vector<Interval>;
  struct Busy {
    std::map<JobId, Intervals> launches, copies;
    std::map<std::uint8_t, Intervals> gpus;
    bool whole = true;  // else a launch was still there when the run ended, and its blocks are not all known
  };
  static Duration length(Intervals intervals);
  Intervals of_launch(LaunchId launch, const Intervals& stays, Time until, Duration block_end) const;
  Busy busy(const Device& device) const;

  std::vector<Record> records_;
  std::map<LaunchId, Intervals> spans_;  // of worlds that tell of blocks
};

}  // namespace gangway::testing
