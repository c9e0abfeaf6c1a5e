// Clients, their programs and kernels: the content of a workload file.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/attribute.hpp"
#include "models/command.hpp"
#include "models/gpu_set.hpp"
#include "models/input/field.hpp"
#include "models/kernel_code.hpp"
#include "models/quantity.hpp"

namespace gangway {

// A block of one job whose time differs from its kernel's.
struct BlockException {
  std::uint32_t job = 0;
  std::int64_t block = 0;
  Duration length;
};

// A measured eviction of a kernel's preemptible form. Times count from the launch's first block.
struct MeasuredEviction {
  Duration ordered, gone;
  Duration work;  // part of the kernel's time done by the end of the eviction
};

// Measured times of launches of a kernel's preemptible form.
struct MeasuredLaunches {
  // Under which the kernel's evictions were measured: `evictions`, and its eviction_delay and useful share.
  // Empty: they count under every mechanism.
  std::string mechanism = {};
  // From the order to the first block, after another kernel on the GPU; none: as any launch on the device.
  std::optional<Duration> launch;
  std::optional<Duration> pending_work;  // to read it after the launch; none: as on the device
  Duration after_another;                // additional time of a launch after another kernel
  Duration each;             // part of the kernel's time that each launch takes, however few its block-tasks
  std::int64_t in_step = 0;  // block-tasks that begin and end together; 0: they end evenly over the time
  // An eviction is drawn from this number of measured ones with the nearest order times.
  std::int64_t near = 1;
  std::vector<MeasuredEviction> evictions;  // sorted by time of the order; none: by the mechanism's rules
  Duration too_late;                        // of a launch's end: orders in it find all block-tasks claimed
};

struct Kernel {
  Origin origin;  // position in the file, for errors
  std::string name;
  BlockCount block_tasks;  // blocks of the original grid
  Dimensions block{256, 1, 1};
  Duration time;  // of the original kernel alone on the device; 0 until complete() if the file gives none
  double transformation_overhead = 1;    // time of the preemptible form over the original's (FRS paper, VI-A)
  std::optional<std::int32_t> priority;  // none: its client's
  std::optional<BlockCount> slice;       // block-tasks per slice, from profiling
  std::optional<Duration> declared_time;  // none: its time under its mechanism
  bool time_unknown = false;              // policies are not told the time
  // Measured, from the order to the last block gone (FRS paper, VI-B).
  std::optional<Duration> eviction_delay;
  std::optional<double> useful;                      // useful share of its drain; none: its mechanism's
  std::shared_ptr<const MeasuredLaunches> measured;  // none: each launch takes its share of the time
  std::optional<Duration> block_task_length;         // how long a block works on one block-task
  std::uint32_t channel = 0;                // index of its client's channel, for self-submitting clients
  std::optional<std::uint32_t> never_ends;  // from this job on it never ends
  std::optional<Duration> trapped_gap;      // replaces `gap` if the client's last submission trapped
  std::optional<Duration> trapped_time;     // replaces `time` if the client's last submission trapped
  Duration gap;                             // of the client's host thread, before submitting the kernel
  Duration host_work;                       // of the client's host thread, from the launch on
  std::int64_t registers = 0;               // per thread; 0: does not limit residency
  Bytes shared_memory;                      // per block
  std::vector<BlockException> exceptions;   // by job and block; for native clients
  std::shared_ptr<const KernelCode> code;   // what the real worlds run; none: they throttle for its time
  std::string code_text;                    // as in files

  std::int64_t threads() const { return block[0] * block[1] * block[2]; }
  Duration transformed() const;  // of the preemptible form, without jitter
};

// The part of a variable that each block of a kernel, and no other, accesses: block i uses `size` bytes from
// first + i * stride (Share-a-GPU, IV-A).
struct BlockMap {
  Bytes first, stride, size;
};

// Part of a client's state in device memory, as in Share-a-GPU's metadata files (II-A, Fig. 2).
struct Variable {
  std::string name;
  Bytes size;
  bool input = true;                 // has content before the first kernel
  bool dirty = false;                // kernels write it
  bool output = false;               // the host reads it after the last kernel; implies dirty
  std::optional<BlockMap> map = {};  // none: any block may use all of it
};

class ArrivalProcess;

// Requests that arrive independently of earlier ones: drawn or listed.
struct RequestArrivals {
  std::shared_ptr<const ArrivalProcess> process;
  Rate rate;  // of `process`
  // Instead: in order, from the client's first release on.
  std::shared_ptr<const std::vector<Duration>> times;
};

// At most one form of release is given; none: a recorded program's own pace.
struct Repeat {
  std::optional<std::uint32_t> jobs = 1;         // none: endless
  std::optional<Duration> period;                // between releases, or
  std::optional<Duration> think;                 // from a finish to the next release
  std::vector<Duration> releases = {};           // or all of them, listed
  std::optional<RequestArrivals> arrivals = {};  // or as for services

  // Whether releases do not wait for finishes.
  bool is_scheduled() const { return period || !releases.empty() || arrivals; }
};

struct Recorded;

// Mean times of a program's jobs with nothing else on the machine: of a job, and between job ends.
struct AloneTimes {
  Duration job, between_ends;
};

struct Client {
  std::string name;
  std::int32_t priority = 0;                // higher is more urgent
  std::optional<std::int32_t> priority_to;  // each job draws its priority, from `priority` to this
  bool privileged = false;                  // its kernels may have a higher priority than the client
  bool native = false;                      // submits to the device's own queues, not to the policy
  std::string context;                      // context for time slicing between contexts; empty: its own
  std::string stream;                       // of a native client; equal names share it; empty: its own
  GpuSet gpus;                              // that its jobs may use
  std::optional<Duration> arrive;
  std::optional<Duration> leave;  // from then on only the first job is released
  std::optional<Duration> slo;    // latency objective of a job, from its release
  double weight = 1;              // its share is proportional to this
  Attributes attributes;
  Bytes copy_in, copy_out;
  Bytes memory;                     // device memory taken by the state
  std::vector<Variable> variables;  // none: all of `memory` is one variable, input and dirty
  // For self-submitting clients (sim/channels/README.md):
  std::int64_t channels = 1;           // number it opens
  bool blocking = true;                // its host waits for each kernel before it continues
  double trivial_requests = 0;         // per kernel; nobody waits for them, but they trap
  std::uint32_t frames_in_flight = 1;  // jobs released at first, if finishes release later ones
  Repeat repeat;
  std::vector<Kernel> kernels;
  std::shared_ptr<const Recorded> recorded;  // played instead of kernels
  std::shared_ptr<const Command> command;    // the program, in worlds that run programs
  std::optional<AloneTimes> alone;           // as measured in those worlds

  // Jobs that it has at once before any is finished.
  std::uint32_t jobs_in_flight() const {
    return repeat.is_scheduled() ? 1 : std::min(frames_in_flight, repeat.jobs.value_or(UINT32_MAX));
  }
};

// First releases by position: the i-th client in arrival order arrives at i * gap.
struct Arrivals {
  Duration gap;
  bool permuted = false;
};

struct Jitter {
  double kernel_time = 0;  // relative: half-width (uniform) or sigma (normal, cut at 3 sigma)
  Duration arrival;        // added to each release, from 0 to this
  bool normal = false;
  double block_time = 0;  // as kernel_time, per block of native clients
  double gap = 0;         // as kernel_time, per gap of a job
};

struct Workload {
  std::string name;
  std::string source;
  std::optional<Arrivals> arrivals;
  Jitter jitter;
  std::vector<Client> clients;
};

// Whether the client gives neither release times nor a number of jobs: the program's own pace.
bool has_own_pace(const Client& client);

// Whether some clients are programs without a recording, which cannot be simulated.
bool runs_programs_alone(const Workload& workload);

// Whether some clients are made of recordings. Then all must be.
bool plays_recordings(const Workload& workload);

// The stream that all others synchronise with: CUDA's legacy default stream.
inline constexpr const char* kNullStream = "default";

// Device memory of a state, bytes that a move copies to the device (before and after kernels have written)
// and to the host, and bytes of output.
struct StateSizes {
  Bytes footprint, first_restore, restore, save, output;
};
StateSizes state_sizes(const Client& client);  // all of it
StateSizes block_sizes(const Client& client);  // the part of one block by maps
// Blocks of the largest kernel with such a map.
BlockCount largest_grid(const Client& client);

// A kernel's static priority (EffiSha, 6.4), given the client's priority `inherited` for the job: the
// kernel's own, else inherited; above inherited only if the client is privileged.
std::int32_t static_priority(const Client& client, const Kernel& kernel, std::int32_t inherited);

// Position of a workload in its file, for errors.
struct WorkloadPlace {
  std::string path;
  Origin origin;
  std::vector<Origin> clients;

  Origin of(std::size_t client) const { return client < clients.size() ? clients[client] : origin; }
};

}  // namespace gangway
