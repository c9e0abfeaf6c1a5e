// One long periodic run of a task set.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "experiments/running/unmanaged_runs.hpp"
#include "experiments/studies/responses.hpp"
#include "experiments/studies/simulated_owners.hpp"
#include "experiments/studies/simulated_taskset.hpp"
#include "models/error.hpp"
#include "models/random.hpp"

namespace gangway {
namespace {

const Origin kCommand{"simulate", 0};
constexpr std::int64_t kMostJobsOfRun = 20'000'000;
constexpr std::size_t kQuarters = 4;
constexpr std::uint32_t kFewestToJudge = 40;  // jobs of a task, below which nothing is said of growth

// The largest responses, overall and by when they ended: in which quarter of the time in which jobs are
// released. What ends later tells nothing of growth, since then the load falls. Periodic releases are known
// from the job's number, so that nothing is kept for each job.
class QuarterlyLargest : public TraceSink {
 public:
  struct Client {
    std::int64_t offset = 0, period = 0;
    std::uint32_t jobs = 0;
    std::int64_t largest = 0;
    std::array<std::int64_t, kQuarters> quarters{};
  };
  // `end`: the record that says that a job is complete.
  QuarterlyLargest(std::vector<Client> clients, std::int64_t horizon, Mark end)
      : clients_(std::move(clients)), horizon_(horizon), end_(end) {}
  void record(const Record& record) override {
    if (record.mark != end_) return;
    Client& client = clients_[record.job.client.index];
    const std::int64_t release = client.offset + client.period * record.job.number;
    client.largest = std::max(client.largest, record.time.ns - release);
    if (record.time.ns >= horizon_) return;
    auto& quarter = client.quarters[static_cast<std::size_t>(
        record.time.ns / (horizon_ / static_cast<std::int64_t>(kQuarters) + 1))];
    quarter = std::max(quarter, record.time.ns - release);
  }
  const std::vector<Client>& clients() const { return clients_; }

 private:
  std::vector<Client> clients_;
  std::int64_t horizon_;
  Mark end_;
};

bool grows(const QuarterlyLargest::Client& client) {
  const auto& quarters = client.quarters;
  return client.jobs >= kFewestToJudge && std::is_sorted(quarters.begin(), quarters.end()) &&
         std::adjacent_find(quarters.begin(), quarters.end()) == quarters.end() &&
         quarters.back() >= 2 * quarters.front();
}

// How long it takes to release so many jobs of a task on average.
template <typename Tasks, typename PeriodOf>
Rational horizon_of(const Tasks& tasks, std::uint64_t jobs, PeriodOf period_of) {
  const auto count = static_cast<std::int64_t>(jobs) * static_cast<std::int64_t>(tasks.size());
  if (count > kMostJobsOfRun)
    throw InputError(kCommand, "jobs", fmt::format("{} for each of {} tasks", jobs, tasks.size()),
                     fmt::format("at most {} in all", kMostJobsOfRun));
  Rational rate;
  for (const auto& task : tasks) rate += Rational(1) / period_of(task);
  return Rational(count) / rate;
}

// The clients of a run while they are put together.
struct Periodic {
  Workload workload;
  std::vector<QuarterlyLargest::Client> clients;

  void add(Client client, std::int64_t period, std::int64_t horizon, Stream& random) {
    const auto offset = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(period)));
    const std::int64_t count = std::max<std::int64_t>(1, (horizon - offset) / period);
    client.arrive = Duration{offset};
    client.repeat.period = Duration{period};
    client.repeat.jobs = static_cast<std::uint32_t>(count);
    workload.clients.push_back(std::move(client));
    clients.push_back({offset, period, static_cast<std::uint32_t>(count), {}});
  }
};

LongRun judged(const QuarterlyLargest& sink, const Ticks& ticks, std::uint64_t events) {
  LongRun run;
  run.events = events;
  for (const QuarterlyLargest::Client& client : sink.clients()) {
    run.tasks.push_back({ticks.time({client.largest}), client.largest <= client.period, grows(client)});
    run.jobs += client.jobs;
  }
  return run;
}

LongRun play_periodically(const SporadicTasks& set, const std::string& unit, std::uint64_t jobs,
                          std::uint64_t seed) {
  const Rational horizon = horizon_of(set.tasks, jobs, [](const SporadicTask& task) { return task.period; });
  std::vector<Rational> times;
  Rational latest = horizon, waves, drained;
  for (const SporadicTask& task : set.tasks) {
    times.push_back(task.grid.block_time());
    times.push_back(task.period);
    latest = std::max(latest, task.period);
    const Rational of_task = Rational::ceil_of(horizon, task.period) * waves_of(set.layout, task.grid);
    waves += of_task;
    drained += of_task * task.grid.block_time();
  }
  if (waves > Rational(kMostJobsOfRun))
    throw InputError(kCommand, "jobs",
                     fmt::format("{} for each task, {} waves of blocks", jobs, waves.text()),
                     fmt::format("at most {} in all", kMostJobsOfRun));
  const Ticks ticks(times, std::max(latest, drained / Ticks::kBacklog), Ticks::Prefer::nanosecond, unit,
                    kCommand, "jobs");
  Stream random(seed, "offsets", {});
  Periodic periodic;
  for (const SporadicTask& task : set.tasks) {
    Client client;
    client.name = task.name;
    client.priority = task.priority.value_or(0);
    client.kernels.push_back(kernel_of(task.grid, {ticks.down(task.grid.block_time())}));
    periodic.add(std::move(client), ticks.up(task.period), ticks.up(horizon), random);
  }
  Device device = device_of(set.layout, set.order, set.channels, Placement::most_room_first);
  if (set.priorities) device.priorities = 1000;
  QuarterlyLargest sink(std::move(periodic.clients), ticks.up(horizon), Mark::gone);
  const std::uint64_t events = UnmanagedRuns(periodic.workload, device).play(seed, sink);
  return judged(sink, ticks, events);
}

LongRun play_periodically(const OwningTasks& set, const std::string& unit, std::uint64_t jobs,
                          std::uint64_t seed) {
  const Rational horizon = horizon_of(set.tasks, jobs, [](const OwningTask& task) { return *task.period; });
  const OwnerRuns runs(set, horizon, unit, kCommand, "jobs");
  Stream random(seed, "offsets", {});
  Periodic periodic;
  for (std::size_t i = 0; i < set.tasks.size(); ++i)
    periodic.add(runs.client(i), runs.ticks().up(*set.tasks[i].period), runs.ticks().up(horizon), random);
  QuarterlyLargest sink(std::move(periodic.clients), runs.ticks().up(horizon), Mark::finished);
  const std::uint64_t events = runs.play(periodic.workload, seed, sink);
  return judged(sink, runs.ticks(), events);
}

}  // namespace

LongRun simulate_periodically(const TaskSet& given, std::uint64_t jobs, std::uint64_t seed) {
  if (const auto* sporadic = std::get_if<SporadicTasks>(&given.tasks))
    return play_periodically(*sporadic, given.unit, jobs, seed);
  if (!is_periodic(given))
    throw InputError(kCommand, given.name, "kernels without a period", "tasks that are released again");
  return play_periodically(std::get<OwningTasks>(given.tasks), given.unit, jobs, seed);
}

}  // namespace gangway
