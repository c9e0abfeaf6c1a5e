// The trace: the records of a run in time order. Every world writes it, and every metric is computed from it
// as it passes. Storing it is optional.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "models/copy_direction.hpp"
#include "models/identity.hpp"
#include "models/policy.hpp"
#include "models/quantity.hpp"

namespace gangway {

class Lateness;

enum class Mark : std::uint8_t {
  released,     // a job exists; amount: its standalone time in ns
  copy_begins,  // direction: the engine; amount: bytes, if ordered by a policy
  copy_ends,
  eligible,        // the job's current kernel may be launched
  submitted,       // a self-submitting client passed the kernel to the device; amount: 1 if it trapped
  access,          // how such a client may submit; amount: Access, or kSampled
  killed,          // the job ended unfinished: its client was stopped
  refused,         // likewise: its client got too few channels
  program_ended,   // likewise: its client's program ended by itself
  launch_ordered,  // amount: first block-task of the range
  started,         // first block runs
  paused,          // no block of the launch runs, though some remain
  resumed,         // blocks run again
  evict_ordered,
  gone,  // last block ended; amount: block-tasks done by this launch (0 in real worlds: see `left`)
  left,  // pending work was read, `why` is known; amount: block-tasks of the kernel done in total
  // The device's own queues. `copy` distinguishes copies from kernels.
  issued,    // a native client's operation joined its stream's queue
  queued,    // it joined a primary queue or a copy engine's queue
  held,      // a rule delays it (amount: the Rule), in place or from joining a queue; written once per rule
  dequeued,  // all its blocks are assigned and it left the primary queue; or a copy left its engine's
  finished,  // the job is over
  holds,     // amount: GPU memory that the job's state occupies from now on, bytes
  merged,    // all GPUs' written versions are merged on the host
  // Kernels of unmodified programs, which have no launches of their own.
  told_to_leave,  // kernels under way must leave
  kernels_left,   // amount: how many left with blocks to do
  kernels_go_on,  // their remaining blocks are launched again
  // Of recorded programs, while they neither run kernels nor copy.
  on_host,     // their hosts work
  awaits_gpu,  // a submission waits at the gate, or a kernel could run if others did not have the GPU
  decided,     // real worlds: the policy was told and has decided; amount: duration in ns, orders included
  ended,       // the run is over; unfinished jobs remain unfinished
};

inline constexpr std::int64_t kSampled = 3;

struct Record {
  Time time{};
  LaunchId launch{};  // 0 if no launch is concerned
  std::int64_t amount = 0;
  JobId job{};
  std::uint32_t kernel = 0;
  std::int32_t priority = 0;  // released: the client's, for this job
  Mark mark = Mark::ended;
  Why why = Why::completed;                            // left
  CopyDirection direction = CopyDirection::to_device;  // copies
  bool program_copy = true;  // copies: of the client's program, not ordered by a policy
  bool copy = false;         // issued, queued, held, dequeued: of a copy
  std::uint8_t gpu = 0;      // of launches, copies, `holds`
};

// Blocks of one launch that began and ended together.
struct BlocksOnSm {
  std::uint32_t sm = 0;
  std::uint32_t count = 0;
  friend constexpr auto operator<=>(const BlocksOnSm&, const BlocksOnSm&) = default;
};
struct BlockSpan {
  LaunchId launch{};
  JobId job{};
  std::uint32_t kernel = 0;
  Time began{};
  Duration length{};
  std::int64_t waves = 1;               // number of identical waves in a row without gaps
  std::span<const BlocksOnSm> where{};  // valid during the call
};

class TraceSink {
 public:
  virtual ~TraceSink() = default;
  virtual void record(const Record& record) = 0;
  // Blocks have ended. Told at the end of their last wave, by worlds that know blocks, if the sink wants it.
  virtual void blocks(const BlockSpan&) {}
  virtual bool wants_blocks() const { return false; }
  // Whether it wants Mark::on_host and awaits_gpu. No history in a message has them.
  virtual bool wants_off_gpu() const { return false; }
  // Error bound between device and run clock; told by worlds with two clocks.
  virtual void uncertain(Duration) {}
  // How late the scheduler was in this run; told once, at the end, by real-time worlds.
  virtual void late(const Lateness&) {}
  // A line for people about this run; told once it is over, by worlds whose clients are programs.
  virtual void remark(const std::string&) {}
  // Whether the rest of the run is not wanted. Worlds poll this, because records may be late or rare.
  virtual bool stopped() const { return false; }
};

// One readable line: "1250000 ns  VA job 0 kernel 0 launch 3: evict ordered".
std::string describe(const Record& record, const std::string& client);
std::string name_of(Mark mark);
std::string name_of(Why why);

}  // namespace gangway
