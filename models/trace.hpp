// The trace: what happened in a run, record by record, in order of time. Every world writes it and every
// metric is computed from it. Storing it is optional; metrics read it as it passes.
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
  copy_begins,  // direction says which engine; amount: bytes, where a policy ordered it
  copy_ends,
  eligible,   // the job's current kernel may be launched
  submitted,  // a client that submits by itself handed the kernel to the device; amount: 1 when it trapped
  access,     // how such a client may submit; amount: Access, or kSampled
  killed,     // the job is over unfinished: its client was stopped
  refused,    // likewise: its client got too few channels
  launch_ordered,  // amount: first block-task of the range
  started,         // first block runs
  paused,          // none of the launch's blocks has room on the device any more, though some are to come
  resumed,         // some have room again
  evict_ordered,
  gone,  // last block has ended; amount: block-tasks this launch did (0 in real worlds: `left` tells)
  left,  // pending work was read, `why` is known; amount: block-tasks of the kernel done in all
  // The device's own queues. `copy` tells copies from kernels.
  issued,  // a native client's operation joined its stream's queue
  queued,  // it joined a primary queue, or a copy engine's
  held,  // a rule keeps it there (amount: the Rule): where it is, or from joining a queue; said once for each
  dequeued,  // all its blocks are assigned and it left the primary queue; or a copy its engine's
  finished,  // the job is over
  holds,     // amount: bytes of a GPU's memory that the job's state has from now on
  merged,    // all versions of what several GPUs wrote are one on the host
  decided,   // real worlds: the policy was told and has decided; amount: ns that took, orders included
  ended,     // the run is over; unfinished jobs stay so
};

inline constexpr std::int64_t kSampled = 3;

struct Record {
  Time time{};
  LaunchId launch{};  // 0 where no launch is meant
  std::int64_t amount = 0;
  JobId job{};
  std::uint32_t kernel = 0;
  std::int32_t priority = 0;  // released: of the client, as this job has it
  Mark mark = Mark::ended;
  Why why = Why::completed;                            // left
  CopyDirection direction = CopyDirection::to_device;  // copies
  bool program_copy = true;  // copies: of the client's program, not ordered by a policy
  bool copy = false;         // issued, queued, held, dequeued: of a copy
  std::uint8_t gpu = 0;      // of launches, copies, `holds`
};

// Blocks of one launch that ran together: they began at once and ended at once.
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
  std::int64_t waves = 1;  // as many more of the same followed without a gap: each ends where the next begins
  std::span<const BlocksOnSm> where{};  // valid during the call
};

class TraceSink {
 public:
  virtual ~TraceSink() = default;
  virtual void record(const Record& record) = 0;
  // Blocks have ended; told at the end of the last wave, by worlds that know blocks, if the sink wants to
  // know.
  virtual void blocks(const BlockSpan&) {}
  virtual bool wants_blocks() const { return false; }
  // Times that a device's clock told are this near the run's clock; told by worlds that have two clocks.
  virtual void uncertain(Duration) {}
  // How late the scheduler was in this run; told once, at its end, by worlds in real time.
  virtual void late(const Lateness&) {}
  // Whether nobody wants the rest of the run. Worlds ask for it now and then, since records may come late or
  // far between.
  virtual bool stopped() const { return false; }
};

// One line for people: "1250000 ns  VA job 0 kernel 0 launch 3: evict ordered".
std::string describe(const Record& record, const std::string& client);
std::string name_of(Mark mark);
std::string name_of(Why why);

}  // namespace gangway
