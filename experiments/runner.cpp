#include "experiments/runner.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "experiments/trace_files.hpp"

namespace gangway {
namespace {

using Clock = std::chrono::steady_clock;

std::string utc_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
}

// One point under one policy while its replications come in, in any order.
struct OpenGroup {
  OpenGroup(std::size_t number, std::uint32_t point_index, std::uint32_t policy_index)
      : index(number), point(point_index), policy(policy_index) {}
  std::size_t index;
  std::uint32_t point, policy;
  std::mutex mutex;
  std::unique_ptr<Group> group;
  std::unique_ptr<NewFile> jobs;
  std::map<std::uint32_t, UnitResult> early;  // replications whose predecessors are not in yet
  std::uint32_t next = 0;
  std::optional<GroupRows> rows;
};

class Runner {
 public:
  Runner(const Experiment& experiment, const RunOptions& options, Machine machine, ResultFolder& folder,
         const std::atomic<bool>& stop)
      : experiment_(experiment),
        options_(options),
        machine_(std::move(machine)),
        folder_(folder),
        stop_(stop),
        traces_(experiment, options.out, options.trace_limit, options.say) {
    for (std::uint32_t p = 0; p < experiment.points.size(); ++p)
      for (std::uint32_t q = 0; q < experiment.points[p].policies.size(); ++q) {
        groups_.push_back(std::make_unique<OpenGroup>(groups_.size(), p, q));
        // A real run cannot be played again for its timeline.
        const bool without_timeline = options.trace && options.world->real_time && !traces_.has({p, q, 0});
        if (!without_timeline) groups_.back()->rows = folder.part(groups_.back()->index);
        if (groups_.back()->rows)
          ++done_groups_;
        else
          todo_.push_back(groups_.back().get());
      }
    resumed_ = done_groups_ > 0;
  }

  RunReport run() {
    const auto began = Clock::now();
    RunReport report;
    report.account.command = options_.command;
    report.account.world = options_.world->name;
    report.account.machine = machine_;
    report.account.threads = threads();
    report.account.start = utc_now();
    report.account.resumed = resumed_;
    work();
    if (error_) std::rethrow_exception(error_);
    report.groups = groups_.size();
    report.groups_done = done_groups_;
    report.interrupted = done_groups_ < groups_.size();
    report.account.end = utc_now();
    report.account.seconds = std::chrono::duration<double>(Clock::now() - began).count();
    report.account.events = events_;
    report.account.jobs = jobs_;
    if (report.interrupted) return report;
    double events = 0;
    for (const auto& group : groups_) {
      report.rows.push_back(*group->rows);
      report.account.scheduler.add(group->rows->summary);
      events += static_cast<double>(group->rows->events);
    }
    if (options_.trace && !options_.world->real_time) {
      traces_.announce(events);
      report.interrupted = !traces_.make_missing(*options_.world, stop_);
    }
    if (report.interrupted) return report;
    report.verdicts = folder_.finish(report.rows, report.account);
    return report;
  }

 private:
  unsigned threads() const {
    if (options_.world->real_time) return 1;
    return options_.threads > 0 ? options_.threads : std::max(1u, std::thread::hardware_concurrency());
  }
  std::size_t units() const { return todo_.size() * experiment_.replications; }
  bool stopping() const { return stop_ || failed_; }

  void work() {
    std::vector<std::thread> workers;
    for (unsigned i = 0; i < threads(); ++i)
      workers.emplace_back([this] {
        for (std::size_t unit = next_unit_++; unit < units() && !stopping(); unit = next_unit_++)
          guarded(unit);
      });
    if (options_.progress) show_progress();
    for (std::thread& worker : workers) worker.join();
    if (options_.progress) fmt::print(stderr, "\r\033[K");
  }

  void guarded(std::size_t unit) {
    try {
      play_unit(*todo_[unit / experiment_.replications],
                static_cast<std::uint32_t>(unit % experiment_.replications));
    } catch (...) {
      const std::lock_guard lock(error_mutex_);
      if (!error_) error_ = std::current_exception();
      failed_ = true;
    }
  }

  void play_unit(OpenGroup& group, std::uint32_t replication) {
    const Unit unit{group.point, group.policy, replication};
    std::unique_ptr<ChromeTrace> trace;
    if (options_.trace && options_.world->real_time && replication == 0) trace = traces_.record(unit);
    auto result = play(experiment_, *options_.world, unit, stop_, trace.get());
    if (!result) return;
    if (trace) traces_.finish(*trace, unit);
    events_ += result->events;
    jobs_ += result->metrics.jobs;
    const std::lock_guard lock(group.mutex);
    group.early.emplace(replication, std::move(*result));
    for (auto it = group.early.begin(); it != group.early.end() && it->first == group.next;
         it = group.early.erase(it)) {
      take(group, it->second);
      ++group.next;
    }
    ++done_units_;
    if (group.next == experiment_.replications) close(group);
  }

  void take(OpenGroup& group, const UnitResult& result) {
    if (!group.group) {
      std::vector<std::string> names;
      for (const Client& c : experiment_.points[group.point].workload->sample().clients)
        names.push_back(c.name);
      group.group = std::make_unique<Group>(std::move(names));
      if (experiment_.write_jobs) group.jobs = std::make_unique<NewFile>(folder_.job_part(group.index));
    }
    group.group->add(result);
    if (group.jobs) group.jobs->write(result.job_rows);
  }

  void close(OpenGroup& group) {
    group.rows = group.group->rows();
    if (group.rows->jobs == 0)
      throw RunError(fmt::format("no job finished at point {} under {}", group.point, label(group)));
    if (group.jobs) group.jobs->commit();
    folder_.keep(group.index, *group.rows);
    group.group.reset();
    group.jobs.reset();
    ++done_groups_;
  }

  const std::string& label(const OpenGroup& group) const {
    return experiment_.points[group.point].policies[group.policy].label;
  }

  void show_progress() {
    const auto began = Clock::now();
    while (done_units_ < units() && !stopping()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
      const auto done = static_cast<double>(done_units_.load());
      const double left = done > 0 ? seconds * (static_cast<double>(units()) - done) / done : 0;
      fmt::print(stderr, "\r\033[K{}/{} done, {}/{} runs of this sweep, {:.0f} jobs/s, {:.0f} s left",
                 done_groups_.load(), groups_.size(), done_units_.load(), units(),
                 static_cast<double>(jobs_) / seconds, left);
    }
  }

  const Experiment& experiment_;
  const RunOptions& options_;
  const Machine machine_;
  ResultFolder& folder_;
  const std::atomic<bool>& stop_;
  TraceFiles traces_;
  std::vector<std::unique_ptr<OpenGroup>> groups_;
  std::vector<OpenGroup*> todo_;
  bool resumed_ = false;
  std::atomic<std::size_t> next_unit_ = 0, done_units_ = 0, done_groups_ = 0;
  std::atomic<std::uint64_t> events_ = 0;
  std::atomic<std::int64_t> jobs_ = 0;
  std::atomic<bool> failed_ = false;
  std::mutex error_mutex_;
  std::exception_ptr error_;
};

void check_capabilities(const Experiment& experiment, const WorldEntry& world) {
  for (const Point& point : experiment.points) {
    const auto& clients = point.workload->sample().clients;
    const auto native =
        std::find_if(clients.begin(), clients.end(), [](const Client& c) { return c.native; });
    for (const Contender& policy : point.policies) {
      if (world.mechanisms != nullptr) {
        const auto known = world.mechanisms();
        const std::string& mechanism = policy.mechanism.entry->name;
        if (std::find(known.begin(), known.end(), mechanism) == known.end())
          throw InputError({"--world " + world.name, 0}, "mechanism", quote(mechanism),
                           expected_names(mechanism, known));
      }
      const Capabilities needs = policy.entry->make(policy.values)->needs();
      const Capabilities missing = needs.missing_from(world.capabilities);
      if (!missing.none())
        throw InputError({"--world " + world.name, 0}, "policies." + policy.label,
                         "a policy that needs " + missing.text(),
                         "a policy for this world, or another world");
      if (native != clients.end() && !needs.has(Capability::native) &&
          !world.capabilities.has(Capability::mixed))
        throw InputError({"--world " + world.name, 0}, "workload.clients." + native->name,
                         "a native client under the policy " + quote(policy.label),
                         world.capabilities.has(Capability::native)
                             ? "the policy 'passthrough', under which all are native, or another world"
                             : "clients under the policy, or another world");
    }
  }
}

// To results that are there already. Returns false when `stop` got set before the end.
bool add_traces(const Experiment& experiment, const RunOptions& options, const std::atomic<bool>& stop) {
  TraceFiles traces(experiment, options.out, options.trace_limit, options.say);
  if (!options.world->real_time) {
    traces.announce(read_manifest(options.out).events);
    return traces.make_missing(*options.world, stop);
  }
  for (std::uint32_t p = 0; p < experiment.points.size(); ++p)
    for (std::uint32_t q = 0; q < experiment.points[p].policies.size(); ++q)
      if (!traces.has({p, q, 0}))
        throw InputError({"--trace", 0}, "trace", "results of runs in real time that kept no timeline",
                         "--force as well, which runs them again");
  return true;
}

}  // namespace

RunReport run_experiment(const Experiment& experiment, const RunOptions& options,
                         const std::atomic<bool>& stop) {
  check_capabilities(experiment, *options.world);
  Machine machine;
  if (options.world->machine != nullptr) machine = options.world->machine();  // before anything is written
  ResultFolder folder(options.out, experiment, options.world->name, options.force);
  if (folder.complete()) {
    RunReport report;
    report.was_complete = true;
    if (options.trace) report.interrupted = !add_traces(experiment, options, stop);
    return report;
  }
  return Runner(experiment, options, std::move(machine), folder, stop).run();
}

}  // namespace gangway
