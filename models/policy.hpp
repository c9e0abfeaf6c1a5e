// The policy contract. A policy is a pure state machine: facts and the current time come in, orders go out.
// It reads no clock, touches no device, and does not know its world. There are three families: ownership
// policies (which kernel owns the GPU, when it must leave), slicing policies (a range of block-tasks, then
// yield; memory moves around it) and access policies (which clients may submit, and whether submissions are
// intercepted).
//
// Faults of a policy end its run with a RunError that names the policy, point, seed and preceding events: an
// invalid id or index in an order or a View query; an exception out of note() or decide(); endless orders in
// one instant; endless timers while nothing else can happen. A call that does not return ends the program
// (exit code 1) after the experiment's `watchdog` time, or, if it is of a policy in Python, the run
// (analysis/README.md). Errors in a policy's own memory cannot be caught: an index beyond a vector is
// undefined behaviour as in any C++. Use at() or sanitizers during development.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "models/attribute.hpp"
#include "models/block_set.hpp"
#include "models/error.hpp"
#include "models/gpu_set.hpp"
#include "models/identity.hpp"
#include "models/quantity.hpp"
#include "models/registry.hpp"

namespace gangway {

struct Device;
struct Kernel;
class Stream;

// Throws std::out_of_range: "client 7, of 5".
[[noreturn]] void refuse_index(const char* what, std::uint64_t index, std::uint64_t count);

// --- What a policy may know
// -------------------------------------------------------------------------------------------

struct KernelFacts {
  BlockCount block_tasks;
  // Time of the whole kernel alone on the device, as declared (the true time may differ); none: unknown.
  std::optional<Duration> declared = {};
  std::int32_t priority = 0;        // static; higher is more urgent
  BlockCount resident;              // blocks that the device can hold at once
  std::optional<BlockCount> slice;  // block-tasks per slice, if the workload declares it
  std::uint32_t same_as = 0;        // the first kernel of the program with the same name: calls of one kernel
};

// The kernels of a program, in order. Throws std::out_of_range beyond the last.
class KernelsFacts {
 public:
  KernelsFacts() = default;
  KernelsFacts(const std::vector<KernelFacts>& kernels) : kernels_(kernels) {}
  std::size_t size() const { return kernels_.size(); }
  const KernelFacts* data() const { return kernels_.data(); }
  auto begin() const { return kernels_.begin(); }
  auto end() const { return kernels_.end(); }
  const KernelFacts& operator[](std::size_t kernel) const {
    if (kernel >= kernels_.size()) refuse_index("kernel", kernel, kernels_.size());
    return kernels_[kernel];
  }

 private:
  std::span<const KernelFacts> kernels_;
};

// The residence of a client's state on one GPU.
enum class Residence { absent, restoring, resident, saving };

// Which state is on which GPU, under policies that need `memory`, according to the facts and orders so far
// (sim/memory/README.md). Block-tasks belong to the job's current kernel; kAllBlocks stands for all its
// kernels. Throws std::out_of_range for an unknown client or GPU.
class MemoryView {
 public:
  virtual ~MemoryView() = default;
  virtual Residence residence(ClientId client, DeviceId gpu) const = 0;
  // room(): free device memory. held(): bytes occupied by the client's state.
  virtual Bytes room(DeviceId gpu) const = 0;
  virtual Bytes held(ClientId client, DeviceId gpu) const = 0;
  // Whether these block-tasks can be launched there without a restore.
  virtual bool holds(JobId job, DeviceId gpu, BlockRange blocks) const = 0;
  // Room needed by a restore for them, and bytes it would copy.
  virtual Bytes takes(JobId job, DeviceId gpu, BlockRange blocks) const = 0;
  virtual Bytes copies(JobId job, DeviceId gpu, BlockRange blocks) const = 0;
  // Whether other GPUs have changed parts, which must be saved there first; whether this GPU has.
  virtual bool changed_elsewhere(JobId job, DeviceId gpu, BlockRange blocks) const = 0;
  virtual bool changed_on(JobId job, DeviceId gpu, BlockRange blocks) const = 0;
  // Bytes of which each participating GPU has a version, to be merged after the kernel.
  virtual Bytes merged(ClientId client) const = 0;
  // Duration of a copy of that size with the bus to itself.
  virtual Duration copy_time(Bytes size) const = 0;
};

// What a launch grants. A kernel, or the block-tasks named by the order, as in the papers; or the device for
// all that the job submits, until the job is over, is evicted or leaves the device idle.
enum class GrantOf { kernel, job };

// A job's use of the device.
struct Work {
  std::optional<Duration> alone = {};  // the whole job without other clients, as declared; none: unknown
  Duration served = {};                // so far, as of its last Left
};

// A job that has Arrived and is not over. Progress is updated when a launch leaves the device, as by the FRS
// paper's pending-work command.
struct JobFacts {
  JobId id = {};
  Time arrived = {};
  bool over = true;
  std::int32_t priority = 0;          // of the client, for this job; higher is more urgent
  double weight = 1;                  // the client's share is to be proportional to it
  std::optional<Time> deadline = {};  // if the client has a latency objective
  Work work = {};
  std::uint32_t program = 0;  // jobs of one program are alike; in workloads each client has its own
  GpuSet gpus = {};           // those it may use
  // Only if kernels are granted, else empty:
  KernelsFacts kernels = {};
  std::uint32_t kernel = 0;  // the current one; kernels.size() when none is left
  BlockCount done = {};      // block-tasks of the current kernel, in total
  const Attributes* attributes = nullptr;

  bool finished() const { return over; }
  const KernelFacts& current() const { return kernels[kernel]; }  // throws when none is left
  // Of the current kernel; of the job if whole jobs are granted.
  std::int32_t urgency() const { return kernel < kernels.size() ? kernels[kernel].priority : priority; }
  // The client's attribute of that name; none if the workload gives none.
  std::optional<double> attribute(const std::string& name) const;
};

class View {
 public:
  // The client's current job, after all facts of this instant. Valid from Arrived until the Left with
  // job_over; by then the client's next job may have replaced it. Throws std::out_of_range for an unknown or
  // departed client.
  const JobFacts& job(JobId id) const {
    if (id.client.index >= jobs_.size()) refuse_index("client", id.client.index, jobs_.size());
    const JobFacts& job = jobs_[id.client.index];
    if (id.client.generation != job.id.client.generation) refuse_generation(id.client, job.id.client);
    return job;
  }
  // What a launch order grants.
  GrantOf grants() const { return grants_; }
  std::size_t clients() const { return jobs_.size(); }
  // Channels available to self-submitting clients; none: unlimited.
  std::optional<std::int64_t> channels() const { return channels_; }
  std::uint32_t gpus() const { return gpus_; }
  // Only for policies that need `memory`; throws std::logic_error in worlds that do not move it.
  const MemoryView& memory() const {
    if (memory_ == nullptr) refuse_memory();
    return *memory_;
  }

 protected:
  std::vector<JobFacts> jobs_;  // one job at a time per client, so indexed by client
  GrantOf grants_ = GrantOf::kernel;
  std::optional<std::int64_t> channels_;
  std::uint32_t gpus_ = 1;
  const MemoryView* memory_ = nullptr;

 private:
  [[noreturn]] static void refuse_memory();
  [[noreturn]] static void refuse_generation(ClientId asked, ClientId there);
};

// --- Facts
// --------------------------------------------------------------------------------------------------------------

enum class Why { completed, evicted, budget, killed, idle };
enum class Access { direct, intercept, deny };
enum class MemoryMove { restore, save };

// Facts of one instant are told in the order of this variant; facts of one kind in client order.
struct Opens {  // a client begins; told before all other facts about it. A self-submitting client opens its
                // channels after this instant's decision
  ClientId client;
  std::int64_t channels = 1;  // number requested
  double weight = 1;          // its share is proportional to this
};
struct Left {  // a launch is over and its pending work was read
  LaunchId launch;
  JobId job;
  Why why = Why::completed;
  // Block-tasks of the kernel done in total, if kernels are granted and the mechanism can tell.
  std::optional<BlockCount> done = {};
  bool job_over = false;  // nothing of the job is left to launch, unless it arrives again
  Duration served = {};   // total time of the job on the device so far
};
struct Arrived {  // the job can be launched: its first kernel is eligible, or a later one whose host thread
                  // was not ready; if whole jobs are granted, it has work for the device again
  JobId job;
};
struct Started {  // first block of a launch runs: quanta count from here
  LaunchId launch;
  JobId job;
};
struct Moved {  // a save or restore of the job's memory ended; also told when a job finishes some time after
                // its last Left, which frees its memory
  JobId job;
  DeviceId device;
  MemoryMove move = MemoryMove::restore;
};
struct Exited {  // the client is gone: finished, killed or refused. No more facts about it follow, and orders
                 // about it have no effect. Told at the latest with the next fact
  ClientId client;
};
struct Submitted {  // an intercepted submission waits for admit()
  ClientId client;
  RequestId request;
};
struct Drained {  // nothing of the client is on the device
  ClientId client;
  Duration overrun;  // from the order until this was seen; 0 if already so
};
struct Sampled {  // sampling of a client has ended, nothing of it on the device
  ClientId client;
  std::int64_t requests = 0;  // completed during sampling
  Duration busy;              // device time of these
  Duration span;              // available time, without interception costs
};
struct Activity {  // known without interception; told with Drained and Sampled, and when a denied client
                   // submits
  ClientId client;
  bool used = false;     // a submission reached the device since the last report
  bool pending = false;  // a submission waits for access
  Duration usage;        // device time since the last report, for policies that use such statistics
};
struct Overdue {  // a request of a drained or sampled client has run too long: watch()
  ClientId client;
  Duration age;  // since it began, or since the order if that is earlier
};
struct Timer {
  TimerId timer;
};
using Fact = std::variant<Opens, Left, Arrived, Started, Moved, Exited, Submitted, Drained, Sampled, Activity,
                          Overdue, Timer>;

// --- Orders
// -------------------------------------------------------------------------------------------------------------

// What a policy can order. Orders about a finished launch or timer have no effect. An order that can never be
// valid stops the run with RunError: a launch while another owns the device, block-tasks that do not start at
// the work done or end outside the grid, a timer in the past, an order that the world does not support. On
// several GPUs a kernel may have several launches, each of block-tasks not launched before, on GPUs that its
// job may use.
class Orders {
 public:
  virtual ~Orders() = default;
  // Launches these block-tasks of the job's current kernel. None: the rest of the kernel, or, if whole jobs
  // are granted, all that the job submits. Ranges are for kernels only.
  virtual LaunchId launch(JobId job, DeviceId device, std::optional<BlockRange> range) = 0;
  // Left follows when the launch has left and its pending work was read.
  virtual void evict(LaunchId launch) = 0;
  virtual void kill(ClientId client) = 0;
  // Restores what launches of these block-tasks need: the state must be absent or resident there and not in
  // use, and there must be room. save(): a resident state that is not in use. The job must have kernels left
  // (sim/memory/README.md).
  virtual void restore(JobId job, DeviceId device, BlockRange blocks) = 0;
  virtual void save(JobId job, DeviceId device) = 0;
  // Sets how the client's submissions reach the device, including a waiting one. All clients begin with
  // direct access.
  virtual void access(ClientId client, Access access) = 0;
  virtual void admit(RequestId request) = 0;
  // In the instant of its Opens: the most channels that the client may have.
  virtual void grant(ClientId client, std::int64_t channels) = 0;
  // Drained follows as soon as nothing of the client is on the device.
  virtual void drain(ClientId client) = 0;
  // Intercepts the client and admits its submissions for `span`, at most `requests`. Then the client is
  // denied and Sampled follows.
  virtual void sample(ClientId client, Duration span, std::int64_t requests) = 0;
  // From now on Overdue is told when a request runs longer than this, counted from the order to drain or
  // sample its client if that is later.
  virtual void watch(Duration limit) = 0;
  // Timer is told at that time, unless it is cancelled.
  virtual TimerId wake_at(Time time) = 0;
  virtual void cancel(TimerId timer) = 0;
};

// What a policy needs of a world, or what a world offers.
enum class Capability : std::uint32_t {
  evict = 1,        // launches can be evicted
  ranges = 2,       // launches of parts of a kernel
  memory = 4,       // save and restore: clients' memory is on the device only while the policy keeps it there
  access = 8,       // clients submit by themselves, directly or not at all; grant, drain, kill
  sampling = 16,    // sample, and usage in Activity
  native = 32,      // all clients submit to the device's own queues
  mixed = 64,       // some clients do, besides those managed by a policy
  intercept = 128,  // access by interception: each submission waits for admit()
};

class Capabilities {
 public:
  constexpr Capabilities() = default;
  constexpr Capabilities(std::initializer_list<Capability> list) {
    for (Capability c : list) bits_ |= static_cast<std::uint32_t>(c);
  }
  constexpr Capabilities operator|(Capabilities other) const {
    other.bits_ |= bits_;
    return other;
  }
  constexpr bool has(Capability c) const { return (bits_ & static_cast<std::uint32_t>(c)) != 0; }
  constexpr Capabilities missing_from(Capabilities world) const {
    Capabilities rest;
    rest.bits_ = bits_ & ~world.bits_;
    return rest;
  }
  constexpr bool none() const { return bits_ == 0; }
  std::string text() const;  // "memory, access"

 private:
  std::uint32_t bits_ = 0;
};

// --- Policies
// -----------------------------------------------------------------------------------------------------------

class Policy {
 public:
  virtual ~Policy() = default;
  // A policy that needs `native` receives no facts and gives no orders: the device decides.
  virtual Capabilities needs() const = 0;
  // Why the policy cannot schedule such a kernel, or on such a device; none if it can.
  virtual std::optional<Refusal> refusal(const Kernel&, const Device&) const { return std::nullopt; }
  // Whether it schedules several GPUs, launching each job only where JobFacts allows.
  virtual bool several_gpus() const { return false; }
  virtual bool heeds_clients_gpus() const { return false; }
  // The source of its random numbers in this run; called before the first decision.
  virtual void seed(const Stream&) {}
  // All facts of an instant come first ...
  virtual void note(Time now, const Fact& fact, const View& view) = 0;
  // ... then one decision. A run begins with a decision at time 0, before any fact.
  virtual void decide(Time now, const View& view, Orders& orders) = 0;
};

struct PolicyEntry : Described {
  std::function<std::unique_ptr<Policy>(const ParameterValues&)> make;
  // Distinguishes versions of a policy that is not part of this program. Part of the identity of experiments
  // that use it.
  std::string version = {};
};
using Policies = Registry<PolicyEntry>;
using ChosenPolicy = Chosen<PolicyEntry>;

// Registers a policy from its file: `const PolicyRegistration<Rr> rr{"rr", "round robin ...", {parameters}};`
template <typename P>
struct PolicyRegistration : Registration<PolicyEntry> {
  PolicyRegistration(std::string name, std::string summary, std::vector<Parameter> parameters,
                     const std::source_location& where = std::source_location::current())
      : Registration<PolicyEntry>(PolicyEntry{{std::move(name), std::move(summary), std::move(parameters)},
                                              [](const ParameterValues& values) -> std::unique_ptr<Policy> {
                                                return std::make_unique<P>(values);
                                              }},
                                  where) {}
};

}  // namespace gangway
