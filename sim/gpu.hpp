// A GPU that runs persistent block-tasks for one owner at a time, with the three commands of the FRS paper
// (III-B): launch, evict, read the pending work. sim/README.md states the arithmetic. The GPU only computes
// when things happen; the world keeps the events.
//
// With the device to itself a launch has all its persistent blocks from its start to its end, and everything
// follows when it is ordered. Where native clients share the device, the world tells how many blocks it has.
#pragma once

#include <optional>
#include <utility>

#include "models/mechanism.hpp"
#include "models/policy.hpp"
#include "models/run/launch.hpp"

namespace gangway {

// How long each block of a kernel runs that is launched as such, `wave` of them at once.
Duration wave_length(const RunningKernel& kernel, std::int64_t wave);

class Gpu {
 public:
  // What is to come of the launch that the GPU has.
  struct ResidentLaunch {
    const Launch* launch = nullptr;
    const CommandDelays* delays = nullptr;
    Time started;
    Time gone;        // when the last block ends, as things stand
    BlockCount done;  // of its range, the block-tasks before this one, once gone
  };

  bool free() const { return !resident_; }
  ResidentLaunch& resident() { return *resident_; }
  const ResidentLaunch& resident() const { return *resident_; }

  // The device must be free; both references must outlive the launch's time here. started and gone are then
  // known. `wait`: until the client's host thread gives the command.
  const ResidentLaunch& launch(const Launch& launch, const CommandDelays& delays, Duration wait = {});
  // Once for a launch whose last block runs. Returns whether its end changed; not where nothing can be
  // evicted. `drawn`, from 0 to below 1, chooses among measured evictions.
  bool evict(Time now, double drawn);
  void release() { resident_.reset(); }
  // Nothing was on the GPU before.
  void reset();

  // On a device that is shared: the launch's first blocks come later than its command. Until then it neither
  // starts nor ends.
  void share(std::int64_t blocks);
  // So many of its blocks have places from now on; at least 1. The end of the launch is then known.
  void placed(Time now, std::int64_t running);
  // The blocks see the flag of the eviction that was ordered. Returns whether the end of the launch changed.
  bool flag_seen(Time now);

 private:
  Duration claims_of_rest() const;
  bool evict_as_measured(Time now, Time seen, double drawn);

  __extension__ using BlockTime = __int128;  // block nanoseconds

  std::optional<ResidentLaunch> resident_;
  std::optional<std::pair<ClientId, std::uint32_t>> last_;  // the kernel that is or was on it
  std::int64_t blocks_ = 1;                                 // of a shared launch, in all
  std::int64_t running_ = 0;                                // of those
  BlockTime worked_ = 0;                                    // up to since_
  Time since_;
};

}  // namespace gangway
