// A GPU that runs persistent block-tasks for one owner at a time, with the three commands of the FRS paper
// (III-B): launch, evict, read the pending work. sim/README.md states the arithmetic. The GPU only computes
// when things happen; the world keeps the events.
//
// With the device to itself a launch has all its persistent blocks from its start to its end, and everything
// follows when it is ordered. Where native clients share the device, the world tells how many blocks it has.
#pragma once

#include <optional>

#include "models/mechanism.hpp"
#include "models/policy.hpp"
#include "models/run/client_run.hpp"

namespace gangway {

// How long each block of a kernel runs that is launched as such, `wave` of them at once.
Duration wave_length(const RunningKernel& kernel, std::int64_t wave);

class Gpu {
 public:
  struct Stay {
    LaunchId launch;
    RunningKernel kernel;
    const CommandDelays* delays = nullptr;
    BlockRange range;
    Time started;
    Time gone;        // when the last block ends, as things stand
    BlockCount done;  // of the kernel in all, once gone
    std::optional<Time> evict_ordered;
    bool over = false;  // the last block has ended; the pending work is being read
  };

  bool free() const { return !stay_; }
  Stay& stay() { return *stay_; }
  const Stay& stay() const { return *stay_; }

  // The device must be free; `delays` must outlive the stay. started and gone of the stay are then known.
  // `wait`: until the client's host thread gives the command.
  const Stay& launch(Time now, LaunchId id, const RunningKernel& kernel, const CommandDelays& delays,
                     BlockRange range, Duration wait = {});
  // Returns whether the end of the stay changed. Without effect when it is over, an eviction is under way or
  // nothing can be evicted.
  bool evict(Time now);
  void release() { stay_.reset(); }

  // On a device that is shared: the launch's first blocks come later than its command. Until then it neither
  // starts nor ends.
  void share(std::int64_t blocks);
  // So many of its blocks have places from now on; at least 1. The end of the stay is then known.
  void placed(Time now, std::int64_t running);
  // The blocks see the flag of the eviction that was ordered. Returns whether the end of the stay changed.
  bool flag_seen(Time now);

 private:
  __extension__ using BlockTime = __int128;  // block nanoseconds

  std::optional<Stay> stay_;
  std::int64_t blocks_ = 1;   // of a shared launch, in all
  std::int64_t running_ = 0;  // of those
  BlockTime worked_ = 0;      // up to since_
  Time since_;
};

}  // namespace gangway
