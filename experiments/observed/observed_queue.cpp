// Sets whose kernels share the GPU block by block, as its own queues serve them.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "experiments/observed/played_set.hpp"
#include "experiments/studies/simulated_taskset.hpp"
#include "experiments/studies/worst_case.hpp"
#include "hw/native/plan.hpp"
#include "models/bounds/measured_costs.hpp"
#include "models/bounds/queue_assumptions.hpp"
#include "models/bounds/sporadic.hpp"
#include "models/error.hpp"

namespace gangway {
namespace {

class PlayedQueue {
 public:
  PlayedQueue(const TaskSet& set, const ObserveOptions& options)
      : whole_(set),
        set_(std::get<SporadicTasks>(set.tasks)),
        costs_(set_.costs.value_or(QueueCosts{})),
        options_(options),
        world_(*options.world),
        clock_(set) {
    if (!world_.capabilities.has(Capability::native))
      refuse_set(world_, "tasks", "kernels that share the device",
                 "kernels that own it one at a time (scheduler: ...)");
    const MechanismEntry& ideal = Mechanisms::named("ideal", "bound", "mechanism");
    mechanism_ = ideal.make(ParameterValues(ideal.parameters, std::nullopt));
    device_ = device_of(set_.layout, set_.order, set_.channels, Placement::most_room_first);
    if (world_.real_time) check_device();
    for (const SporadicTask& task : set_.tasks) add_client(task);
    if (world_.real_time) check_native(setup());
  }

  ObservedResponses play(const std::atomic<bool>& stop) {
    ObservedResponses out;
    out.tasks.resize(set_.tasks.size());
    QueueAssumptions judge(limits(), allowances());
    std::vector<std::uint32_t> order(set_.tasks.size());
    std::iota(order.begin(), order.end(), 0u);
    std::unique_ptr<World> world;
    const auto runs = all_runs(stop);
    for (std::size_t r = 0; r < runs.size() && !stop; ++r) {
      const auto nominal = release(workload_, runs[r]);
      CostShare share(options_.seed, r);
      if (!world_.real_time) simulate_costs(share);
      if (!world) world = world_.make(setup());
      judge.restart(nominal);
      ObservedRun run(judge, nominal, stop);
      const PolicyEntry& passthrough = Policies::named("passthrough", "bound", "policy");
      const auto policy = passthrough.make(ParameterValues(passthrough.parameters, std::nullopt));
      world->run(*policy, {.seed = options_.seed, .replication = static_cast<std::uint32_t>(r)}, order, run);
      if (!world_.real_time) world.reset();
      if (stop) break;
      judge.finish();
      run.add_to(out, runs[r].pattern);
    }
    out.interrupted = stop;
    out.assumptions.add(judge.seen());
    return out;
  }

 private:
  WorldSetup setup() const { return {.workload = workload_, .device = device_, .mechanism = *mechanism_}; }

  // The theorems know threads alone, so nothing else of an SM may run out.
  void check_device() const {
    const Device real = real_device_of(world_);
    const auto threads = fmt::format("{} SMs of {} threads", real.sms, real.sm.threads);
    if (set_.layout.kind != ThreadLayout::Kind::sm || set_.layout.sms != real.sms ||
        set_.layout.threads != real.sm.threads)
      refuse_set(world_, "device",
                 set_.layout.kind == ThreadLayout::Kind::pool
                     ? fmt::format("a pool of {} threads", set_.layout.threads)
                     : fmt::format("{} SMs of {} threads", set_.layout.sms, set_.layout.threads),
                 threads);
    const std::int64_t least = (real.sm.threads + real.sm.blocks - 1) / real.sm.blocks;
    for (const SporadicTask& task : set_.tasks)
      if (task.grid.threads < least || task.grid.threads % 32 != 0)
        refuse_set(
            world_, fmt::format("tasks.{}.b", task.name), std::to_string(task.grid.threads),
            fmt::format("a multiple of 32 from {} on; otherwise warps and block slots would matter", least));
  }

  void add_client(const SporadicTask& task) {
    Client client;
    client.name = task.name;
    const Rational asked = world_.real_time ? task.grid.block_time() - costs_.block : task.grid.block_time();
    if (asked * clock_.scale() < Rational(1))
      refuse_set(
          world_, fmt::format("tasks.{}.C", task.name),
          fmt::format("blocks of {}", to_text(clock_.down(task.grid.block_time()))),
          fmt::format("more than the {} that a busy block takes beside", to_text(clock_.up(costs_.block))));
    client.kernels.push_back(kernel_of(task.grid, clock_.down(asked)));
    client.repeat.releases = {Duration{}};
    client.repeat.jobs = 1;
    workload_.clients.push_back(std::move(client));
  }

  void simulate_costs(CostShare& share) {
    device_.delays.kernel_issue = share.of(clock_.down(costs_.issue));
    device_.delays.block_end = share.of(clock_.down(costs_.refill));
    // A stream's next kernel does not come before its last one's room is free: lemma 0 counts one of each.
    device_.delays.kernel_end =
        std::min(clock_.down(costs_.stream), device_.delays.block_end + share.of(clock_.down(costs_.stream)));
  }

  std::vector<ReleasedTask> released_tasks() const {
    std::vector<ReleasedTask> tasks;
    Duration longest;
    for (const SporadicTask& task : set_.tasks)
      longest = std::max(longest, clock_.up(task.grid.block_time()));
    for (const SporadicTask& task : set_.tasks)
      tasks.push_back(
          {clock_.up(task.period), world_.real_time ? Duration{} : clock_.down(costs_.lateness), longest});
    return tasks;
  }

  std::vector<ReleasedRun> all_runs(const std::atomic<bool>& stop) const {
    const auto tasks = released_tasks();
    auto runs = released_runs(tasks, pattern_length(tasks, options_.length, options_.periods), options_.seed);
    if (options_.search == 0) return runs;
    const auto found = search_worst_case(whole_, {std::nullopt, options_.search}, options_.seed, stop);
    for (std::size_t i = 0; i < found.tasks.size(); ++i)
      if (found.tasks[i]) runs.push_back(searched(*found.tasks[i], found.scale, tasks, i));
    return runs;
  }

  // The releases that were worst for a task, in its own clock's ns.
  ReleasedRun searched(const WorstCase& worst, const Rational& scale, const std::vector<ReleasedTask>& tasks,
                       std::size_t of) const {
    ReleasedRun run{"searched for " + set_.tasks[of].name, {}};
    for (std::size_t i = 0; i < set_.tasks.size(); ++i) {
      const auto client = std::find_if(worst.workload.clients.begin(), worst.workload.clients.end(),
                                       [&](const Client& c) { return c.name == set_.tasks[i].name; });
      std::vector<Duration> nominal;
      if (client != worst.workload.clients.end())
        for (const Duration release : client->repeat.releases) {
          Duration at = clock_.up(Rational(release.ns) / scale);
          if (!nominal.empty()) at = std::max(at, nominal.back() + tasks[i].period);
          nominal.push_back(at);
        }
      if (nominal.empty()) nominal.push_back(Duration{});
      Stream random(options_.seed, "observed search", {of, i});
      run.tasks.push_back(with_jitter(std::move(nominal), tasks[i].jitter, random));
    }
    return run;
  }

  QueueAllowances allowances() const {
    return {clock_.down(costs_.lateness), clock_.down(costs_.issue),  clock_.down(costs_.stream),
            clock_.down(costs_.refill),   clock_.down(costs_.change), clock_.down(costs_.clock)};
  }

  std::vector<QueueLimits> limits() const {
    const InflatedSet inflated = with_costs(whole_);
    const SporadicAnalysis analysis(std::get<SporadicTasks>(inflated.set.tasks));
    std::vector<QueueLimits> limits;
    for (std::size_t i = 0; i < set_.tasks.size(); ++i) {
      const auto& task = analysis.tasks()[i];
      limits.push_back({.name = task.name,
                        .threads = task.b,
                        .capacity = task.M.value_or(1),
                        .block = clock_.down(set_.tasks[i].grid.block_time()),
                        .head = clock_.down(task.D / analysis.scale())});
    }
    return limits;
  }

  const TaskSet& whole_;
  const SporadicTasks& set_;
  const QueueCosts costs_;
  const ObserveOptions& options_;
  const WorldEntry& world_;
  SetClock clock_;
  Device device_;
  Workload workload_;
  std::unique_ptr<Mechanism> mechanism_;
};

}  // namespace

ObservedResponses observe_queue(const TaskSet& set, const ObserveOptions& options,
                                const std::atomic<bool>& stop) {
  return PlayedQueue(set, options).play(stop);
}

}  // namespace gangway
