// A GPU that runs persistent block-tasks for one owner at a time, with the FRS paper's three commands
// (III-B): launch, evict, read pending work. Arithmetic: sim/README.md. The GPU only computes when things
// happen; the world keeps the events.
//
// With the device to itself, a launch keeps all its persistent blocks from start to end, so its times follow
// from the order. On a device shared with native clients, the world reports how many blocks it has.
#pragma once

#include <optional>
#include <utility>

#include "models/mechanism.hpp"
#include "models/policy.hpp"
#include "models/run/launch.hpp"

namespace gangway {

// Duration of each block of a kernel launched as a plain grid, with `wave` blocks at once.
Duration wave_length(const RunningKernel& kernel, std::int64_t wave);

class Gpu {
 public:
  // The expected course of the GPU's launch.
  struct ResidentLaunch {
    const Launch* launch = nullptr;
    const CommandDelays* delays = nullptr;
    Time started;
    Time gone;        // when the last block ends, as currently known
    BlockCount done;  // once gone: block-tasks of its range before this one are done
  };

  bool free() const { return !resident_; }
  ResidentLaunch& resident() { return *resident_; }
  const ResidentLaunch& resident() const { return *resident_; }

  // The device must be free; references must outlive the launch's time here. Sets started and gone. `wait`:
  // delay until the client's host thread gives the command.
  const ResidentLaunch& launch(const Launch& launch, const CommandDelays& delays, Duration wait = {});
  // Orders an eviction, once per launch whose last block runs. Returns whether its end changed; false if it
  // cannot be evicted. `drawn`, from 0 to below 1, chooses among measured evictions.
  bool evict(Time now, double drawn);
  void release() { resident_.reset(); }
  // Nothing was on the GPU before.
  void reset();

  // On a shared device: the launch's first blocks come later than its command. Until then it neither starts
  // nor ends.
  void share(std::int64_t blocks);
  // This many of its blocks, at least 1, have places from now on. Its end is then known.
  void placed(Time now, std::int64_t running);
  // The blocks see the flag of the ordered eviction. Returns whether the launch's end changed.
  bool flag_seen(Time now);

 private:
  Duration claims_of_rest() const;
  bool evict_in_step(Time seen);
  bool evict_as_measured(Time now, Time seen, double drawn);

  __extension__ using BlockTime = __int128;  // block nanoseconds

  std::optional<ResidentLaunch> resident_;
  std::optional<std::pair<ClientId, std::uint32_t>> last_;  // the kernel of the current or last launch
  std::int64_t blocks_ = 1;                                 // of a shared launch, in total
  std::int64_t running_ = 0;                                // of these, now running
  BlockTime worked_ = 0;                                    // up to since_
  Time since_;
};

}  // namespace gangway
