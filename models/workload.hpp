// Clients, their programs and kernels: what a workload file says.
#pragma once

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

// A block of one job that takes another time than its kernel's blocks do.
struct BlockException {
  std::uint32_t job = 0;
  std::int64_t block = 0;
  Duration length;
};

// An eviction of a kernel's preemptible form, as measured; times count from the launch's first block.
struct MeasuredEviction {
  Duration ordered, gone;
  Duration work;  // of the kernel's time, what was done by then
};

// What launches of a kernel's preemptible form take, as measured.
struct MeasuredLaunches {
  std::optional<Duration> launch;        // from the order to the first block where the GPU ran another kernel
                                         // before; none: as any launch on the device
  std::optional<Duration> pending_work;  // read when it has left; none: as on the device
  Duration after_another;                // so much longer does such a launch run
  Duration each;             // of the kernel's time, what each launch takes however few its block-tasks
  std::int64_t in_step = 0;  // block-tasks that begin and end together; 0: they end evenly over the time
  std::int64_t near = 1;     // an eviction is like one of so many, ordered at about the same time
  std::vector<MeasuredEviction> evictions;  // by the time of the order; none: as the mechanism says
};

struct Kernel {
  Origin origin;  // where the file says so, for errors
  std::string name;
  BlockCount block_tasks;  // blocks of the original grid
  Dimensions block{256, 1, 1};
  Duration time;  // the original kernel alone on the device; 0 until complete() where the file does not say
  double transformation_overhead =
      1;  // time of the preemptible form over that of the original (FRS paper, VI-A)
  std::optional<std::int32_t> priority;   // none: its client's
  std::optional<BlockCount> slice;        // block-tasks of one, as found by profiling
  std::optional<Duration> declared_time;  // none: as long as it takes under its mechanism
  bool time_unknown = false;              // policies are not told how long it takes
  std::optional<Duration>
      eviction_delay;            // as measured, from the order to the last block gone (FRS paper, VI-B)
  std::optional<double> useful;  // share of its drain that does useful work; none: its mechanism's
  std::shared_ptr<const MeasuredLaunches> measured;  // none: each launch takes its share of the time
  std::optional<Duration> block_task_length;         // how long one block is busy with one block-task
  std::uint32_t channel = 0;                         // of its client's, for those that submit by themselves
  std::optional<std::uint32_t> never_ends;           // from this job on it never does
  std::optional<Duration> trapped_gap;     // instead of `gap` when its client's last submission trapped
  std::optional<Duration> trapped_time;    // instead of `time` when its client's last submission trapped
  Duration gap;                            // of the client's host thread, before the kernel is submitted
  Duration host_work;                      // of the client's host thread, from the launch on
  std::int64_t registers = 0;              // per thread; 0: no limit on residency
  Bytes shared_memory;                     // per block
  std::vector<BlockException> exceptions;  // by job and block; of native clients
  std::shared_ptr<const KernelCode> code;  // what the real worlds run; none: they throttle for as long
  std::string code_text;                   // as files write it

  std::int64_t threads() const { return block[0] * block[1] * block[2]; }
  Duration transformed() const;  // of the preemptible form, without jitter
};

// Which part of a variable each block of a kernel reads and writes, and no other block: block i has `size`
// from first + i * stride on (Share-a-GPU, IV-A).
struct BlockMap {
  Bytes first, stride, size;
};

// Part of a client's state in device memory, as Share-a-GPU's metadata files list it (II-A, Fig. 2).
struct Variable {
  std::string name;
  Bytes size;
  bool input = true;                 // has contents before the first kernel
  bool dirty = false;                // kernels write it
  bool output = false;               // the host reads it after the last kernel; then it is dirty
  std::optional<BlockMap> map = {};  // none: any block may use all of it
};

class ArrivalProcess;

// Requests that come whether or not the client is done with earlier ones: drawn, or listed.
struct RequestArrivals {
  std::shared_ptr<const ArrivalProcess> process;
  Rate rate;  // of `process`
  std::shared_ptr<const std::vector<Duration>>
      times;  // instead: in order, from the client's first release on
};

// At most one form of releases is given; none: a recorded program's own pace.
struct Repeat {
  std::optional<std::uint32_t> jobs = 1;         // none: endless
  std::optional<Duration> period;                // between releases, or
  std::optional<Duration> think;                 // from a finish to the next release
  std::vector<Duration> releases = {};           // or all of them, in order
  std::optional<RequestArrivals> arrivals = {};  // or as services have them
};

struct Recorded;

// What jobs of a program take with nothing else on the machine, and how long it is from one's end to the next
// one's, on the average.
struct AloneTimes {
  Duration job, between_ends;
};

struct Client {
  std::string name;
  std::int32_t priority = 0;                // higher is more urgent
  std::optional<std::int32_t> priority_to;  // each job draws its own, from `priority` to this
  bool privileged = false;                  // its kernels may be more urgent than the client itself
  bool native = false;  // submits its operations to the device's own queues, not to the policy
  std::string context;  // whose turns it shares on a device that gives them to contexts; empty: its own
  std::string stream;   // of a native client; those that name the same share it; empty: its own
  GpuSet gpus;          // that its jobs may use
  std::optional<Duration> arrive;
  std::optional<Duration> leave;  // from then on no job but the first is released
  std::optional<Duration> slo;    // objective for the latency of a job, from its release
  double weight = 1;              // its share is to be in proportion to this
  Attributes attributes;
  Bytes copy_in, copy_out;
  Bytes memory;                     // footprint: what the state takes of device memory
  std::vector<Variable> variables;  // none: all of `memory` is one, input and dirty
  // Where clients submit by themselves (sim/channels/README.md):
  std::int64_t channels = 1;           // that it opens
  bool blocking = true;                // its host waits for each kernel before it goes on
  double trivial_requests = 0;         // beside each kernel; nobody waits for them, but they trap, too
  std::uint32_t frames_in_flight = 1;  // jobs released at first, where each finish releases one
  Repeat repeat;
  std::vector<Kernel> kernels;
  std::shared_ptr<const Recorded> recorded;  // what it plays in the place of kernels, if anything
  std::shared_ptr<const Command> command;    // the program that it is, where worlds run programs
  std::optional<AloneTimes> alone;           // likewise, as measured there
};

// First releases by position: the i-th client in the order arrives at i * gap.
struct Arrivals {
  Duration gap;
  bool permuted = false;
};

struct Jitter {
  double kernel_time = 0;  // relative: half-width (uniform) or sigma (normal, cut at 3 sigma)
  Duration arrival;        // added to each release, from 0 to this
  bool normal = false;
  double block_time = 0;  // as kernel_time, of each block of native clients by itself
  double gap = 0;         // as kernel_time, of a job's gaps
};

struct Workload {
  std::string name;
  std::string source;
  std::optional<Arrivals> arrivals;
  Jitter jitter;
  std::vector<Client> clients;
};

// Of clients that say neither when their jobs are released nor how many there are: the program's own pace.
bool has_own_pace(const Client& client);

// Whether some clients are programs and nothing else, of which a simulation knows nothing.
bool runs_programs_alone(const Workload& workload);

// Whether some clients are made of recordings. Then all must be, for a world to play them.
bool plays_recordings(const Workload& workload);

// The stream that every other stream waits for, as CUDA's legacy default stream.
inline constexpr const char* kNullStream = "default";

// What a state takes of device memory; what a move of it copies to the device, before and after kernels have
// written to it, and to the host; and what of it is output.
struct StateSizes {
  Bytes footprint, first_restore, restore, save, output;
};
StateSizes state_sizes(const Client& client);  // all of it
StateSizes block_sizes(const Client& client);  // of that, what one block has by maps
// Blocks of its largest kernel: so many have such a part.
BlockCount largest_grid(const Client& client);

// A kernel's static priority (EffiSha, 6.4) in a job for which the client has the priority `inherited`: that,
// or its own, unless it is higher and the client not privileged.
std::int32_t static_priority(const Client& client, const Kernel& kernel, std::int32_t inherited);

// Where a workload stands in its file, for errors.
struct WorkloadPlace {
  std::string path;
  Origin origin;
  std::vector<Origin> clients;

  Origin of(std::size_t client) const { return client < clients.size() ? clients[client] : origin; }
};

}  // namespace gangway
