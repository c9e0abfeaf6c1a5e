// Sets whose kernels own the GPU, under piv or rr.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "experiments/observed/played_set.hpp"
#include "experiments/observed/searched_owners.hpp"
#include "hw/mechanisms/real_mechanism.hpp"
#include "hw/real_time_refusals.hpp"
#include "models/bounds/owner_assumptions.hpp"
#include "models/error.hpp"
#include "models/mechanism.hpp"
#include "models/shown.hpp"

namespace gangway {
namespace {

constexpr std::int64_t kBusyThreads = 256;  // of a busy block

// On `sim`: what each task's commands take in one run.
class SimulatedCosts : public Mechanism {
 public:
  void set(const std::string& task, const CommandDelays& delays) { of_[task] = delays; }
  CommandDelays delays(const Kernel& kernel, const Device&) const override { return of_.at(kernel.name); }

 private:
  std::map<std::string, CommandDelays> of_;
};

class PlayedOwners {
 public:
  PlayedOwners(const TaskSet& set, const ObserveOptions& options)
      : whole_(set),
        set_(std::get<OwningTasks>(set.tasks)),
        costs_(set_.costs.value_or(OwnerCosts{})),
        options_(options),
        world_(*options.world),
        clock_(set) {
    if (world_.real_time)
      device_ = real_device_of(world_);
    else
      device_.memory = Bytes{1};
    device_.name = "task-set";
    for (std::size_t i = 0; i < set_.tasks.size(); ++i) add_client(i);
    if (world_.real_time) {
      check_memory();
      choose_mechanism();
    }
    world_.check({setup(), *policy(Duration{}), "bound", {}, {}, {}, {}, {}}, world_);
  }

  ObservedResponses play(const std::atomic<bool>& stop) {
    ObservedResponses out;
    out.tasks.resize(set_.tasks.size());
    OwnerAssumptions judge(limits(), quantum());
    std::unique_ptr<World> world;
    std::vector<std::uint32_t> order(set_.tasks.size());
    std::iota(order.begin(), order.end(), 0u);
    std::vector<Duration> jitter;
    for (const OwningTask& task : set_.tasks) jitter.push_back(clock_.down(task.jitter));
    const auto runs = all_runs(stop);
    for (std::size_t r = 0; r < runs.size() && !stop; ++r) {
      const auto nominal = release(workload_, runs[r]);
      CostShare share(options_.seed, r);
      Duration late;
      if (!world_.real_time) late = simulate_costs(share);
      if (!world) world = world_.make(setup());
      judge.restart(nominal, jitter);
      ObservedRun run(judge, nominal, stop);
      world->run(*policy(late), {.seed = options_.seed, .replication = static_cast<std::uint32_t>(r)}, order,
                 run);
      if (!world_.real_time) world.reset();  // its costs are of this run
      if (stop) break;
      run.add_to(out, runs[r].pattern);
    }
    out.interrupted = stop;
    out.assumptions.add(judge.seen());
    return out;
  }

 private:
  WorldSetup setup() const {
    return {.workload = workload_,
            .device = device_,
            .mechanism = mechanism_ ? *mechanism_ : static_cast<const Mechanism&>(simulated_),
            .input_seed = options_.seed};
  }

  std::optional<Duration> quantum() const {
    if (!set_.quantum) return std::nullopt;
    return clock_.down(*set_.quantum);
  }

  // `late`: by so much a quantum ends later.
  std::unique_ptr<Policy> policy(Duration late) const {
    const PolicyEntry& entry = Policies::named(set_.quantum ? "rr" : "piv", "bound", "policy");
    std::optional<Node> parameters;
    if (set_.quantum)
      parameters = parse_yaml(fmt::format("{{quantum: {} ns}}", (*quantum() + late).ns), whole_.name);
    return entry.make(
        ParameterValues(entry.parameters, parameters ? std::optional(Field(*parameters, "")) : std::nullopt));
  }

  void add_client(std::size_t i) {
    const OwningTask& task = set_.tasks[i];
    if (!task.period)
      refuse_set(world_, fmt::format("tasks.{}.T", task.name), "none",
                 "a period, because releases are timed");
    // Whoever comes no less often than it can be launched would be played for ever.
    if (const Rational launch = task.launch + costs_.launch; *task.period <= launch)
      refuse_set(world_, fmt::format("tasks.{}.T", task.name), to_text(clock_.down(*task.period)),
                 fmt::format("more than the {} that a launch takes", to_text(clock_.down(launch))));
    Client client;
    client.name = task.name;
    client.priority = static_cast<std::int32_t>(set_.tasks.size() - i);
    Kernel kernel;
    kernel.name = task.name;
    kernel.time = std::max(Duration{1}, clock_.down(task.run));
    kernel.block_tasks = {kernel.time.ns};
    if (world_.real_time) make_real(task, kernel);
    client.kernels.push_back(std::move(kernel));
    client.repeat.releases = {Duration{}};
    workload_.clients.push_back(std::move(client));
  }

  void make_real(const OwningTask& task, Kernel& kernel) const {
    const std::string place = "tasks." + task.name;
    kernel.code = task.code ? task.code : busy(task);
    kernel.code_text = task.code_text;
    kernel.block_tasks = kernel.code->block_tasks();
    kernel.block = kernel.code->block();
    if (kernel.threads() > device_.sm.threads)
      refuse_set(world_, place, fmt::format("blocks of {} threads", kernel.threads()),
                 fmt::format("at most the {} of an SM", device_.sm.threads));
  }

  // Blocks that are busy for e at a time, as many as the device holds at once, for c in all.
  std::shared_ptr<const KernelCode> busy(const OwningTask& task) const {
    const std::string place = "tasks." + task.name;
    const Duration asked = clock_.down(task.eviction - costs_.block);
    if (asked <= Duration{})
      refuse_set(world_, place + ".e", to_text(clock_.down(task.eviction)),
                 fmt::format("more than the {} that a busy block-task takes beside, or code",
                             to_text(clock_.up(costs_.block))));
    const std::int64_t rounds = clock_.down(task.run).ns / clock_.up(task.eviction).ns;
    if (rounds < 1)
      refuse_set(world_, place + ".c", to_text(clock_.down(task.run)), "e or more: one busy block-task");
    Kernel kernel;
    kernel.block = {kBusyThreads, 1, 1};
    const KernelEntry& entry = Kernels::named("throttle", "bound", "kernel");
    const Node values =
        parse_yaml(fmt::format("{{block_tasks: {}, threads: {}, time: {} ns}}",
                               rounds * resident_blocks(device_, kernel), kBusyThreads, asked.ns),
                   whole_.name);
    return entry.make(ParameterValues(entry.parameters, Field(values, place)));
  }

  void check_memory() const {
    Bytes all;
    for (const Client& client : workload_.clients) all += client.kernels.front().code->memory();
    if (all > device_.memory)
      refuse_set(world_, "tasks", fmt::format("kernels that work on {} in all", shown_size(all)),
                 fmt::format("at most the {} of the device", shown_size(device_.memory)));
  }

  void choose_mechanism() {
    const std::string name = options_.mechanism.empty() ? kUsualMechanism : options_.mechanism;
    const MechanismEntry& entry = Mechanisms::named(name, "--mechanism", "mechanism");
    mechanism_ = entry.make(ParameterValues(entry.parameters, std::nullopt));
  }

  // All costs of one run. Returns by how much quanta end late.
  Duration simulate_costs(CostShare& share) {
    const Duration ending = share.of(clock_.down(costs_.ending));
    for (const OwningTask& task : set_.tasks) {
      CommandDelays delays;
      delays.launch = clock_.down(task.launch) + share.of(clock_.down(costs_.launch));
      const Duration all = clock_.down(task.eviction) + share.of(clock_.down(costs_.eviction));
      delays.drain = std::max(Duration{}, all - ending);
      delays.notice = ending;
      simulated_.set(task.name, delays);
    }
    return share.of(clock_.down(costs_.lateness));
  }

  std::vector<ReleasedTask> released_tasks() const {
    std::vector<ReleasedTask> tasks;
    for (const OwningTask& task : set_.tasks) {
      // In simulation the scheduler is late because jobs are.
      const Rational late = world_.real_time ? Rational(0) : costs_.lateness;
      tasks.push_back({clock_.up(*task.period), clock_.down(task.jitter + late),
                       clock_.up(task.launch + costs_.launch) + Duration{1000}});
    }
    return tasks;
  }

  std::vector<ReleasedRun> all_runs(const std::atomic<bool>& stop) const {
    const auto tasks = released_tasks();
    const Duration each = pattern_length(tasks, options_.length, options_.periods);
    auto runs = released_runs(tasks, each, options_.seed);
    for (FoundReleases& bad : bad_releases_of_owners(dearest(), each, options_.search, options_.seed, stop)) {
      ReleasedRun& run = runs.emplace_back(ReleasedRun{bad.pattern, {}});
      for (std::size_t i = 0; i < tasks.size(); ++i) {
        Stream random(options_.seed, "observed search", {runs.size(), i});
        run.tasks.push_back(with_jitter(std::move(bad.nominal[i]), tasks[i].jitter, random));
      }
    }
    return runs;
  }

  // The set in ns, with each cost at its most and without jitter.
  OwningTasks dearest() const {
    OwningTasks out;
    const auto ns = [&](const Rational& time) { return Rational(clock_.down(time).ns); };
    if (set_.quantum) out.quantum = ns(*set_.quantum) + ns(costs_.lateness);
    for (const OwningTask& task : set_.tasks) {
      OwningTask& costly = out.tasks.emplace_back();
      costly.name = task.name;
      costly.run = std::max(Rational(1), ns(task.run + costs_.ending));
      costly.launch = ns(task.launch + costs_.launch);
      costly.eviction = ns(std::max(task.eviction + costs_.eviction, costs_.ending));
      costly.period = Rational(clock_.up(*task.period).ns);
    }
    return out;
  }

  std::vector<OwnerLimits> limits() const {
    std::vector<OwnerLimits> limits;
    for (std::size_t i = 0; i < set_.tasks.size(); ++i) {
      const OwningTask& task = set_.tasks[i];
      limits.push_back({.name = task.name,
                        .priority = workload_.clients[i].priority,
                        .lateness = clock_.down(costs_.lateness),
                        .launch = clock_.down(task.launch + costs_.launch),
                        .run = clock_.down(task.run + costs_.ending),
                        .resume = clock_.down(costs_.resume),
                        .eviction = clock_.down(std::max(task.eviction + costs_.eviction, costs_.ending)),
                        .ending = clock_.down(costs_.ending)});
    }
    return limits;
  }

  const TaskSet& whole_;
  const OwningTasks& set_;
  const OwnerCosts costs_;
  const ObserveOptions& options_;
  const WorldEntry& world_;
  SetClock clock_;
  Device device_;
  Workload workload_;
  std::unique_ptr<Mechanism> mechanism_;  // of real worlds
  SimulatedCosts simulated_;
};

}  // namespace

ObservedResponses observe_owners(const TaskSet& set, const ObserveOptions& options,
                                 const std::atomic<bool>& stop) {
  return PlayedOwners(set, options).play(stop);
}

}  // namespace gangway
