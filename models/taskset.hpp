// Task sets as their files describe them: kernels that share a GPU block by block (Yang and Anderson,
// Response-Time Bounds for Concurrent GPU Scheduling, IV), or that own it one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "models/input/field.hpp"
#include "models/kernel_code.hpp"
#include "models/queue_order.hpp"
#include "models/rational.hpp"

namespace gangway {

// Threads of the GPU: one pool, or equal multiprocessors of which one holds a whole block.
struct ThreadLayout {
  enum class Kind { pool, sm };
  Kind kind = Kind::pool;
  std::int64_t sms = 1;      // 1 for a pool
  std::int64_t threads = 0;  // of the pool, or of one multiprocessor

  std::int64_t total() const { return sms * threads; }  // m
};

// A kernel's grid. Blocks take block_time() at most; all of them together are the work.
struct Grid {
  Rational work;  // C, in threads times the set's unit of time; above 0
  std::int64_t blocks = 1;
  std::int64_t threads = 1;  // of a block

  Rational block_time() const { return work / (Rational(blocks) * threads); }  // w
};

// Sporadic tasks, each with a stream of its own (IV).
struct SporadicTask {
  std::string name;
  Grid grid;
  Rational period;                       // T, above 0: least time between releases
  std::optional<std::int32_t> priority;  // of its stream; higher is more urgent
};

// The most that a real device's own queues and the thread that submits to them add;
// experiments/bounds/chip.md says where each one enters. 0 where a file does not give one.
struct QueueCosts {
  Rational lateness;  // from a release until the call that submits its kernel
  Rational issue;     // from that call until the kernel is in the queue
  Rational stream;    // from a kernel's end until the next one of its stream is in the queue
  Rational refill;    // from a block's end until its room can be taken
  Rational change;    // of the time of one job at the head, what passes with room left and no other excuse
  Rational clock;     // by which times of the device and of the host disagree
  Rational block;     // busy blocks are asked for so much less than they may take
};

struct SporadicTasks {
  ThreadLayout layout;
  std::int64_t channels = 32;  // hardware queues: streams beyond them share one
  QueueOrder order = QueueOrder::became_head;
  bool priorities = false;  // whether stream priorities are in use
  std::optional<QueueCosts> costs;
  std::vector<SporadicTask> tasks;
};

// Kernels submitted once. A stream runs its kernels in order.
struct OneShotKernel {
  std::string name;
  Grid grid;
  Rational at;  // when it becomes the head of its stream; only for the first of a stream, else 0
};

struct OneShotStream {
  std::string name;
  std::vector<OneShotKernel> kernels;
};

struct OneShotKernels {
  ThreadLayout layout;
  std::int64_t channels = 32;
  bool listed = false;  // first kernels enter the primary queue in the file's order; else in any order
  std::vector<OneShotStream> streams;
};

// Kernels that own the GPU one at a time and are evicted.
struct OwningTask {
  std::string name;
  Rational run;                    // c: time as owner, above 0
  Rational eviction;               // e: from the order until the GPU is free, no progress
  Rational launch;                 // l: each launch and relaunch
  Rational jitter;                 // J: of the release
  std::optional<Rational> period;  // T; none under round robin: the next job comes when this one is done
  std::shared_ptr<const KernelCode> code =
      {};                      // what real worlds run; none: blocks that are busy for e at a time
  std::string code_text = {};  // as files write it
};

// As QueueCosts, of evictions by a scheduler in real time.
struct OwnerCosts {
  Rational lateness;  // from a release or the end of a quantum until the scheduler has acted on it
  Rational launch;    // beyond l: from the order until the first block is seen to run
  Rational resume;    // by how much a relaunch makes a job's time as owner longer
  Rational eviction;  // beyond e: from the order until what is left of the kernel is known
  Rational ending;    // from a completed kernel's last block until the scheduler knows
  Rational block;     // busy block-tasks are asked for so much less than e
};

struct OwningTasks {
  std::optional<Rational> quantum;  // of round robin; none: fixed priorities, the first task the highest
  std::optional<OwnerCosts> costs;
  std::vector<OwningTask> tasks;
};

struct TaskSet {
  std::string name;
  std::string source;
  std::string unit;  // of all times: "ms", or empty when the file's numbers are plain
  std::variant<SporadicTasks, OneShotKernels, OwningTasks> tasks;
};

// Reads a `kind: taskset` mapping (experiments/README.md has its keys). Times are exact: 0.1 is one tenth.
// They are plain numbers throughout or have units throughout; then the set's unit is that of the first.
// Throws InputError, also for a block larger than the device.
TaskSet read_task_set(const Field& field);

// The same as a file; read_task_set() returns an equal set.
std::string to_yaml(const TaskSet& set);

}  // namespace gangway
