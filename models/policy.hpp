// The policy contract. A policy is a pure state machine: facts and the current time come in, orders go out.
// It reads no clock, touches no device and does not know in which world it runs. Three families fit:
// ownership policies (which kernel owns the GPU, when it must leave), slicing policies (a range of
// block-tasks, then yield; memory moved around it) and access policies (which clients may submit, and whether
// submissions are intercepted).
//
// Whatever a policy does, its run ends with a RunError that names the policy, the point, the seed and what
// happened before: an id or index that there is not, in an order or in a question to the View; an exception
// of any type out of note() or decide(); orders without end in one instant; timers without end while nothing
// else can happen. A call that does not return ends the program (exit code 1), after the `watchdog` time of
// the experiment. Nobody can catch what a policy does to memory of its own: an index beyond the end of its
// own vector is undefined behaviour, as anywhere in C++. Use at(), or build with sanitizers, while you write
// one.
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
  // Whole kernel, alone on the device, as declared (which may differ from the truth); none: not known.
  std::optional<Duration> declared = {};
  std::int32_t priority = 0;        // static; higher is more urgent
  BlockCount resident;              // how many of its blocks the device holds at once
  std::optional<BlockCount> slice;  // block-tasks of a slice, where the workload declares it
  std::uint32_t same_as = 0;        // the first kernel of the program that has its name: calls of one kernel
};

// The kernels of a program, in order. An index beyond the last throws std::out_of_range.
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

// Where the state of a client is, on one GPU.
enum class Residence { absent, restoring, resident, saving };

// What of clients' state is on which GPU, under policies that need `memory`, as facts and orders so far leave
// it (sim/memory/README.md). Block-tasks are of the job's current kernel; kAllBlocks are those of all its
// kernels. A client or GPU that there is not throws std::out_of_range.
class MemoryView {
 public:
  virtual ~MemoryView() = default;
  virtual Residence residence(ClientId client, DeviceId gpu) const = 0;
  // That is left for states to be restored, and what the client's state takes.
  virtual Bytes room(DeviceId gpu) const = 0;
  virtual Bytes held(ClientId client, DeviceId gpu) const = 0;
  // Whether these block-tasks can be launched there without a restore.
  virtual bool holds(JobId job, DeviceId gpu, BlockRange blocks) const = 0;
  // What a restore for them would take of the room there, and what it would copy.
  virtual Bytes takes(JobId job, DeviceId gpu, BlockRange blocks) const = 0;
  virtual Bytes copies(JobId job, DeviceId gpu, BlockRange blocks) const = 0;
  // Whether other GPUs have changed some of that, so that it has to be saved there first; and which.
  virtual bool changed_elsewhere(JobId job, DeviceId gpu, BlockRange blocks) const = 0;
  virtual bool changed_on(JobId job, DeviceId gpu, BlockRange blocks) const = 0;
  // What each GPU that takes part in a kernel has a version of, so that all must be merged behind it.
  virtual Bytes merged(ClientId client) const = 0;
  // How long a copy of that takes, with the bus to itself.
  virtual Duration copy_time(Bytes size) const = 0;
};

// What a launch hands out: a kernel, or as many of its block-tasks as the order says, as in the papers; or
// the device for all that the job submits, until the job is over, the launch is evicted or the job leaves the
// device idle.
enum class GrantOf { kernel, job };

// How much a job is, on the device.
struct Work {
  std::optional<Duration> alone = {};  // all of it, without other clients, as declared; none: not known
  Duration served = {};                // so far, as of its last Left
};

// A job that was announced with Arrived and is not over. Progress is known as the FRS paper's pending-work
// command gives it: when a launch leaves the device, not before.
struct JobFacts {
  JobId id = {};
  Time arrived = {};
  bool over = true;
  std::int32_t priority = 0;          // the client's, for this job; higher is more urgent
  double weight = 1;                  // the client's share is to be in proportion to it
  std::optional<Time> deadline = {};  // where the client has an objective for its latency
  Work work = {};
  std::uint32_t program = 0;  // jobs of one program are alike; in a workload each client has its own
  GpuSet gpus = {};           // that it may use
  // Only where kernels are granted, and else none:
  KernelsFacts kernels = {};
  std::uint32_t kernel = 0;  // the current one; kernels.size() when none is left
  BlockCount done = {};      // block-tasks of the current kernel, in all
  const Attributes* attributes = nullptr;

  bool finished() const { return over; }
  const KernelFacts& current() const { return kernels[kernel]; }  // throws when none is left
  // Of the current kernel, or of the job where whole jobs are granted.
  std::int32_t urgency() const { return kernel < kernels.size() ? kernels[kernel].priority : priority; }
  // What the workload calls so at this client, if it does.
  std::optional<double> attribute(const std::string& name) const;
};

class View {
 public:
  // The client's job in progress, as it is after every fact of this instant. Valid from its Arrived until the
  // Left that says job_over (where the client's next job may already stand in its place). A client that there
  // is not, or that has left, throws std::out_of_range.
  const JobFacts& job(JobId id) const {
    if (id.client.index >= jobs_.size()) refuse_index("client", id.client.index, jobs_.size());
    const JobFacts& job = jobs_[id.client.index];
    if (id.client.generation != job.id.client.generation) refuse_generation(id.client, job.id.client);
    return job;
  }
  // What an order to launch hands out.
  GrantOf grants() const { return grants_; }
  std::size_t clients() const { return jobs_.size(); }
  // That clients which submit by themselves can open; none: any number.
  std::optional<std::int64_t> channels() const { return channels_; }
  std::uint32_t gpus() const { return gpus_; }
  // Only under policies that need `memory`, which only worlds that move it play; throws std::logic_error in
  // others.
  const MemoryView& memory() const {
    if (memory_ == nullptr) refuse_memory();
    return *memory_;
  }

 protected:
  std::vector<JobFacts> jobs_;  // one job at a time per client, so the client is the index
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

// Facts of one instant are told in the order of this variant, and those of one kind in client order.
struct Opens {  // a client begins; it is told before anything else about it. One that submits by itself has
                // its channels open after this instant's decision
  ClientId client;
  std::int64_t channels = 1;  // that it asks for
  double weight = 1;          // its share is to be in proportion to it
};
struct Left {  // a launch is over and its pending work was read
  LaunchId launch;
  JobId job;
  Why why = Why::completed;
  std::optional<BlockCount> done = {};  // block-tasks of the kernel done in all, where kernels are granted
                                        // and the mechanism can tell
  bool job_over = false;  // nothing of the job is left to launch, unless it is told to arrive again
  Duration served = {};   // the job has been on the device for so long in all
};
struct Arrived {  // the job can be launched: its first kernel is eligible, or a later one for which its host
                  // thread was not ready; where whole jobs are granted, it has work for the device again
  JobId job;
};
struct Started {  // the first block of a launch runs: quanta count from here
  LaunchId launch;
  JobId job;
};
struct Moved {  // a save or restore of the job's memory ended; also, when the job is finished some time after
                // its last Left, with which its memory is free
  JobId job;
  DeviceId device;
  MemoryMove move = MemoryMove::restore;
};
struct Exited {  // the client is gone: its program is over, or was killed or refused. Nothing more is told
                 // about it, and an order about it does nothing. Told at the latest with the next fact
  ClientId client;
};
struct Submitted {  // an intercepted submission waits for admit()
  ClientId client;
  RequestId request;
};
struct Drained {  // nothing of the client was on the device
  ClientId client;
  Duration overrun;  // since the order, until that was seen; 0 where it was so already
};
struct Sampled {  // sampling of a client is over, and nothing of it on the device
  ClientId client;
  std::int64_t requests = 0;  // that it completed
  Duration busy;              // of the device, with these
  Duration span;              // how long it had, without the time that interceptions took
};
struct Activity {  // known without interception; told with Drained and Sampled, and when a denied client
                   // submits
  ClientId client;
  bool used = false;     // it submitted something that reached the device since that was last told
  bool pending = false;  // a submission waits for access
  Duration usage;        // of the device since that was last told, for policies that take such statistics
};
struct Overdue {  // a request of a client that is drained or sampled has run for too long: watch()
  ClientId client;
  Duration age;  // since it began, or, if that was earlier, since the order
};
struct Timer {
  TimerId timer;
};
using Fact = std::variant<Opens, Left, Arrived, Started, Moved, Exited, Submitted, Drained, Sampled, Activity,
                          Overdue, Timer>;

// --- Orders
// -------------------------------------------------------------------------------------------------------------

// What a policy can ask for. An order about a launch or timer that is over does nothing. An order that can
// never be right (a launch while another owns the device, of block-tasks that do not begin at the work done
// or end outside the grid, a timer in the past, an order the world has no capability for) stops the run with
// RunError. On several GPUs a kernel may have launches on more than one; then of any block-tasks that no
// launch has or had, on GPUs that its job may use.
class Orders {
 public:
  virtual ~Orders() = default;
  // These block-tasks of the job's current kernel; none: all that is left of the kernel, or, where whole jobs
  // are granted, whatever the job submits. A range is for kernels only.
  virtual LaunchId launch(JobId job, DeviceId device, std::optional<BlockRange> range) = 0;
  virtual void evict(LaunchId launch) = 0;
  virtual void kill(ClientId client) = 0;
  // What launches of these block-tasks need, of a state that is absent or resident there and that no launch
  // uses there, if there is room; and of a resident one that no launch uses there. The job has kernels left
  // (sim/memory/README.md).
  virtual void restore(JobId job, DeviceId device, BlockRange blocks) = 0;
  virtual void save(JobId job, DeviceId device) = 0;
  // How the client's submissions reach the device from now on; one that waits is treated likewise. All
  // clients begin with direct access.
  virtual void access(ClientId client, Access access) = 0;
  virtual void admit(RequestId request) = 0;
  // In the instant of its Opens: how many channels the client may have at most.
  virtual void grant(ClientId client, std::int64_t channels) = 0;
  // Drained is told as soon as nothing of the client is on the device.
  virtual void drain(ClientId client) = 0;
  // Intercepts the client and admits its submissions for `span`, at most `requests`; then it is denied and
  // Sampled is told.
  virtual void sample(ClientId client, Duration span, std::int64_t requests) = 0;
  // Overdue is told from now on when a request runs for longer than this, counted from the order to drain or
  // sample its client if that is later.
  virtual void watch(Duration limit) = 0;
  virtual TimerId wake_at(Time time) = 0;
  virtual void cancel(TimerId timer) = 0;
};

// What a policy needs of a world, or a world can do.
enum class Capability : std::uint32_t {
  evict = 1,        // launches can be evicted
  ranges = 2,       // launches of part of a kernel
  memory = 4,       // save and restore: clients' memory is on the device only while the policy keeps it there
  access = 8,       // clients submit by themselves, directly or not at all; grant, drain, kill
  sampling = 16,    // sample, and the usage in Activity
  native = 32,      // clients submit to the device's own queues: all, or
  mixed = 64,       // some, beside those that a policy manages
  intercept = 128,  // access under interception: each submission waits for admit()
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
  // A policy that needs `native` hears of no client and orders nothing: the device decides.
  virtual Capabilities needs() const = 0;
  // Why the policy cannot schedule such a kernel, or not on such a device, if it cannot.
  virtual std::optional<Refusal> refusal(const Kernel&, const Device&) const { return std::nullopt; }
  // Whether it schedules more than one GPU; and whether it then launches each job only where JobFacts says
  // that it may.
  virtual bool several_gpus() const { return false; }
  virtual bool heeds_clients_gpus() const { return false; }
  // Where its random numbers come from in this run, before the first decision.
  virtual void seed(const Stream&) {}
  // Every fact of an instant comes first ...
  virtual void note(Time now, const Fact& fact, const View& view) = 0;
  // ... then one decision. A run begins with a decision at time 0, before any fact.
  virtual void decide(Time now, const View& view, Orders& orders) = 0;
};

struct PolicyEntry : Described {
  std::function<std::unique_ptr<Policy>(const ParameterValues&)> make;
  // What tells it from another one of its name, where it is not part of this program; belongs to the identity
  // of the experiments that play it.
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
