// A GPU as a device file describes it.
#pragma once

#include <string>
#include <vector>

#include "models/gpu_rules.hpp"
#include "models/gpu_set.hpp"
#include "models/input/field.hpp"
#include "models/queue_order.hpp"
#include "models/workload.hpp"

namespace gangway {

struct MultiprocessorLimits {
  std::int64_t threads = 2048, blocks = 32, registers = 65536;
  Bytes shared_memory;
  std::int64_t warp = 1;              // blocks take whole multiples of so many threads
  Bytes reserved_shared_memory = {};  // that a block takes in addition to its kernel's
};

struct CopyEngine {
  Bandwidth bandwidth;
  Duration latency;
  // Of a copy that begins when another ends; none: as of any other.
  std::optional<Duration> queued_latency = {};
  double both_ways = 1;  // its speed while the other direction copies, too: above 0, to 1
};

// How commands are delayed while a program's copy is under way on their GPU.
struct BesideCopies {
  Duration launch, evict;   // additional time
  bool reads_wait = false;  // pending work is read when the copy to the host is over
};

// How much longer a launch takes after nothing was on its GPU for so long.
struct AfterIdle {
  Duration idle, longer;
};

// Delays of the scheduler's commands (FRS paper, II and III-B).
struct CommandCosts {
  Duration launch;        // from the order to the first block
  Duration evict;         // from the order until running blocks see the flag
  Duration notice;        // from the last block's end until the scheduler has seen it
  Duration pending_work;  // reading the task counter
  BesideCopies beside_copies = {};
  std::vector<AfterIdle> after_idle = {};  // by increasing idle time; none: that makes no difference

  // By which a launch takes longer after `idle`: linear between the given times and from 0 to the first of
  // them, constant after the last; rounded down.
  Duration longer_after(Duration idle) const;
};

// What reading an eviction flag costs (EffiSha, 6.3).
struct PollCosts {
  Duration host;    // one read of host memory; the reads of all blocks go one after the other
  Duration device;  // one read of device memory, by a block between two block-tasks
  // What an eviction through a proxy takes beside its longest block-task; none: one and a half reads of host
  // memory.
  std::optional<Duration> proxy = {};
};

// Delays of native clients' operations in the device's queues.
struct NativeDelays {
  // From an operation's issue until it may join a queue.
  Duration kernel_issue, copy_issue;
  // From the end of its last block, or of the copy, until an operation leaves its stream.
  Duration kernel_end, copy_end;
  // From a block's end until its room is free.
  Duration block_end;
};

// The channel of a stream's operations. fixed: always the same. dynamic: chosen anew when nothing of the
// stream waits: one in which nothing waits, else the one whose latest issue is longest ago.
enum class ChannelAssignment { fixed, dynamic };

// Which SM with room takes a block; ties go to the first in the device's order.
enum class Placement { most_room_first, lowest_index_first };

// What the device does by itself with several clients' kernels: native-fifo (one primary queue),
// native-priority (one for each of its priorities), native-timeslice (contexts take turns, each with such
// queues), direct (one request at a time, clients' channels in turn), mps (contexts share it as if they were
// one; recorded programs all at once).
enum class Arbitration { fifo, priority, timeslice, direct, mps };

struct TimeSlice {
  Duration length;
  Duration context_switch;  // from the last block of one context to the first of the next
  // Of kernels without a policy (sim/blocks/README.md): the context that has waited for longest follows, or
  // the next one in the order of their creation.
  enum class Order { waiting, creation } order = Order::waiting;
  bool stops_blocks = false;  // likewise, at a turn's end: else they end first
  // Additional, if a kernel or its blocks are stopped, or resumed.
  Duration stop = {}, resume = {};
  // Of recorded programs (sim/recorded/README.md):
  Duration renewal = {};  // length of a further slice, if nobody else is ready
  Duration linger = {};   // after this a context without work gives its slice up
  // From when on, with nothing queued, it is certain who follows: after the turn's begin, or after the last
  // that was queued. Also of kernels without a policy, by creation.
  Duration choice = {};
  // Instead of `stop` and `resume`, which are of a single thread, if blocks hold all of the device's threads
  // and registers; of less in proportion (sim/stop_costs.hpp).
  Duration stop_full = {}, resume_full = {};
};

// How self-submitting clients, each with its own channels, use the device (NEON, 3 and 4).
struct ChannelCosts {
  bool whole_queue = true;  // a channel's turn: what waits in it then; else one request
  Duration context_switch;  // between the requests of two clients
  Duration interception;    // of a submission that traps
  // Of a recorded program's kernel that leaves: the time of the order and the report, beyond its blocks.
  Duration departure;
  // Likewise, while the number in flight is limited: of a submission, and of an event behind some of them.
  Duration limited, event;
  Duration poll;  // the longest time until the scheduler sees that a request has completed
  std::optional<std::int64_t> channels;  // open at once; none: any number
};

// Of recorded programs: code on the host is slow after a long wait, since caches hold other code by then.
struct HostCooling {
  double factor = 1;  // so many times as long
  Duration after;     // waits up to that change nothing
  double share = 0;   // host time that is slow, for each ns of the wait beyond that
  Duration most;      // slow host time
};

struct Device {
  std::string name;
  std::string source;
  std::int64_t gpus = 1;  // identical, each with its own memory and copy engines, all on one bus
  // Layout: only one pool of threads, as in Yang and Anderson; `sms` is then 1.
  bool pool = false;
  std::int64_t sms = 1;
  MultiprocessorLimits sm;
  Placement placement = Placement::most_room_first;  // room: how many more such blocks fit
  std::vector<std::uint32_t> sm_order;               // all SMs, preferred ones first; empty: by number
  QueueOrder queue_order = QueueOrder::became_head;
  std::int64_t priorities = 1;           // primary queues; clients of higher priority share the highest
  std::optional<std::int64_t> channels;  // none: one for each stream
  ChannelAssignment channel_assignment = ChannelAssignment::fixed;
  std::optional<std::int64_t> resident_kernels;  // at most so many at once; none: no limit
  NativeDelays delays;
  Arbitration arbitration = Arbitration::priority;
  std::optional<TimeSlice> time_slice;
  RuleSet rules;
  static constexpr Bytes kAnyMemory{std::int64_t{1} << 60};  // the file does not say
  Bytes memory;
  CopyEngine h2d, d2h;
  // Of the host, over versions of what several GPUs wrote; none: merging takes no time.
  std::optional<Bandwidth> merge;
  std::optional<Bandwidth> bus;  // that all copies share, instead of both_ways
  CommandCosts commands;
  std::optional<PollCosts> polls;  // none: not known
  ChannelCosts access;
  HostCooling cooling;
};

// What one block takes of its SM.
struct BlockNeeds {
  std::int64_t threads = 1;
  std::int64_t registers = 0;
  Bytes shared_memory;
  friend bool operator==(const BlockNeeds&, const BlockNeeds&) = default;
};
BlockNeeds needs_of(const Device& device, const Kernel& kernel);

// Blocks of the kernel that can be resident on the device at once; 0 when one block exceeds an SM.
std::int64_t resident_blocks(const Device& device, const Kernel& kernel);

// How many times the kernel's blocks fill the device when it has the device to itself.
std::int64_t waves(const Device& device, const Kernel& kernel);

// How long one block of the original kernel runs: as the file says, or such that the kernel alone on the
// device, in whole waves of resident blocks, takes its time (rounded up to a ns, at least 1).
Duration block_length(const Device& device, const Kernel& kernel);
// The inverse: the time of a kernel with such blocks.
Duration time_of_waves(const Device& device, const Kernel& kernel, Duration block_length);
// What the original kernel takes as a grid of its own: its time, or what its blocks take by the length that
// the file gives them, if that is longer, since one block follows another after `block_end`.
Duration time_of_original(const Device& device, const Kernel& kernel);

// Reads a `kind: device` mapping. Throws InputError.
Device read_device(const Field& field);

}  // namespace gangway
