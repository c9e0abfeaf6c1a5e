// Task sets: kernels that share a GPU block by block (Yang and Anderson, Response-Time Bounds for Concurrent
// GPU Scheduling, IV), or own it one at a time.
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

// The GPU's threads: one pool, or equal multiprocessors, where each block needs a single one.
struct ThreadLayout {
  enum class Kind { pool, sm };
  Kind kind = Kind::pool;
  std::int64_t sms = 1;      // 1 for a pool
  std::int64_t threads = 0;  // of the pool, or per multiprocessor

  std::int64_t total() const { return sms * threads; }  // m
};

// A kernel's grid. A block takes at most block_time(); all blocks together are the work.
struct Grid {
  Rational work;  // C, in threads times the set's unit of time; above 0
  std::int64_t blocks = 1;
  std::int64_t threads = 1;  // per block

  Rational block_time() const { return work / (Rational(blocks) * threads); }  // w
};

// Sporadic tasks, each with a stream of its own (IV).
struct SporadicTask {
  std::string name;
  Grid grid;
  Rational period;                       // T, above 0: minimum time between releases
  std::optional<std::int32_t> priority;  // of its stream; higher is more urgent
};

// Largest additional delays of a real device's queues and of the submitting thread;
// experiments/bounds/chip.md says where each enters. 0 if the file gives none.
struct QueueCosts {
  Rational lateness;  // from a release to the call that submits its kernel
  Rational issue;     // from that call until the kernel is in the queue
  Rational stream;    // from a kernel's end until the next of its stream is in the queue
  Rational refill;    // from a block's end until its room can be reused
  Rational change;    // part of a job's time at the head that passes with room left and no other cause
  Rational clock;     // disagreement of device and host times
  Rational block;     // busy blocks are requested this much shorter than their bound
};

struct SporadicTasks {
  ThreadLayout layout;
  std::int64_t channels = 32;  // hardware queues: streams beyond them share
  QueueOrder order = QueueOrder::became_head;
  bool priorities = false;  // whether stream priorities are in use
  std::optional<QueueCosts> costs;
  std::vector<SporadicTask> tasks;
};

// Kernels submitted once. A stream runs its kernels in order.
struct OneShotKernel {
  std::string name;
  Grid grid;
  Rational at;  // when it becomes its stream's head; only for the first of a stream, else 0
};

struct OneShotStream {
  std::string name;
  std::vector<OneShotKernel> kernels;
};

struct OneShotKernels {
  ThreadLayout layout;
  std::int64_t channels = 32;
  bool listed = false;  // first kernels enter the primary queue in file order; else in any order
  std::vector<OneShotStream> streams;
};

// Kernels that own the GPU one at a time and can be evicted.
struct OwningTask {
  std::string name;
  Rational run;                    // c: time as owner, above 0
  Rational eviction;               // e: from the order until the GPU is free, without progress
  Rational launch;                 // l: per launch and relaunch
  Rational jitter;                 // J: of the release
  std::optional<Rational> period;  // T; none under round robin: the next job comes when this one is done
  // What real worlds run; none: blocks that are busy for e at a time.
  std::shared_ptr<const KernelCode> code = {};
  std::string code_text = {};  // as in files
};

// The same for evictions by a real-time scheduler.
struct OwnerCosts {
  Rational lateness;  // from a release or the end of a quantum until the scheduler has acted
  Rational launch;    // beyond l: from the order until the first block is seen to run
  Rational resume;    // by how much a relaunch lengthens a job's time as owner
  Rational eviction;  // beyond e: from the order until the remaining work is known
  Rational ending;    // from a completed kernel's last block until the scheduler knows
  Rational block;     // busy block-tasks are requested this much shorter than e
};

struct OwningTasks {
  std::optional<Rational> quantum;  // of round robin; none: fixed priorities, first task highest
  std::optional<OwnerCosts> costs;
  std::vector<OwningTask> tasks;
};

struct TaskSet {
  std::string name;
  std::string source;
  std::string unit;  // of all times: "ms"; empty for plain numbers
  std::variant<SporadicTasks, OneShotKernels, OwningTasks> tasks;
  Origin place = {};  // where they are given
};

// Whether every task is released again and again: it has a period.
bool is_periodic(const TaskSet& set);

// Reads a `kind: taskset` mapping (keys: experiments/README.md). Times are exact: 0.1 is one tenth. All are
// plain numbers or all have units; the set's unit is the first one. Throws InputError, also for a block
// larger than the device.
TaskSet read_task_set(const Field& field);

// `text` in the set's unit: a plain number, or, if the set's times have units, a time with any unit. None if
// it is neither.
std::optional<Rational> time_in_unit_of(const TaskSet& set, std::string_view text);

// As YAML; read_task_set() returns an equal set.
std::string to_yaml(const TaskSet& set);

}  // namespace gangway
