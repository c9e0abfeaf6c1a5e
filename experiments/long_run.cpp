// One long periodic run of a task set.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "experiments/responses.hpp"
#include "experiments/simulated_taskset.hpp"
#include "models/error.hpp"
#include "models/random.hpp"

namespace gangway {
namespace {

const Origin kHere{"simulate", 0};
constexpr std::int64_t kMostJobs = 20'000'000;
constexpr std::size_t kQuarters = 4;
constexpr std::uint32_t kFewestToJudge = 40;  // jobs of a task, below which nothing is said of growth

// Periodic releases are known from the job's number, so that nothing is kept for each job.
class QuarterlyLargest : public TraceSink {
 public:
  struct Client {
    std::int64_t offset = 0, period = 0;
    std::uint32_t jobs = 0;
    std::array<std::int64_t, kQuarters> largest{};
  };
  explicit QuarterlyLargest(std::vector<Client> clients) : clients_(std::move(clients)) {}
  void record(const Record& record) override {
    if (record.mark != Mark::gone) return;
    Client& client = clients_[record.job.client.index];
    const std::int64_t release = client.offset + client.period * record.job.number;
    auto& largest = client.largest[std::uint64_t{record.job.number} * kQuarters / client.jobs];
    largest = std::max(largest, record.time.ns - release);
  }
  const std::vector<Client>& clients() const { return clients_; }

 private:
  std::vector<Client> clients_;
};

bool grows(const QuarterlyLargest::Client& client) {
  const auto& quarters = client.largest;
  return client.jobs >= kFewestToJudge && std::is_sorted(quarters.begin(), quarters.end()) &&
         std::adjacent_find(quarters.begin(), quarters.end()) == quarters.end() &&
         quarters.back() >= 2 * quarters.front();
}

LongRun play_periodically(const SporadicTasks& set, const std::string& unit, std::uint64_t jobs,
                          std::uint64_t seed) {
  const auto tasks = static_cast<std::int64_t>(set.tasks.size());
  Rational rate;
  std::vector<Rational> times;
  for (const SporadicTask& task : set.tasks) {
    rate += Rational(1) / task.period;
    times.push_back(task.grid.block_time());
    times.push_back(task.period);
  }
  const Rational horizon = Rational(static_cast<std::int64_t>(jobs) * tasks) / rate;
  if (static_cast<std::int64_t>(jobs) * tasks > kMostJobs)
    throw InputError(kHere, "jobs", fmt::format("{} for each of {} tasks", jobs, tasks),
                     fmt::format("at most {} in all", kMostJobs));
  const Ticks ticks(times, horizon, Ticks::Prefer::nanosecond, unit, kHere, "jobs");
  Stream random(seed, "offsets", {});
  Workload workload;
  std::vector<QuarterlyLargest::Client> clients;
  for (const SporadicTask& task : set.tasks) {
    const std::int64_t period = ticks.up(task.period);
    const auto offset = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(period)));
    const std::int64_t count = std::max<std::int64_t>(1, (ticks.up(horizon) - offset) / period);
    Client client;
    client.name = task.name;
    client.priority = task.priority.value_or(0);
    client.arrive = Duration{offset};
    client.repeat.period = Duration{period};
    client.repeat.jobs = static_cast<std::uint32_t>(count);
    client.kernels.push_back(kernel_of(task.grid, {ticks.down(task.grid.block_time())}));
    workload.clients.push_back(std::move(client));
    clients.push_back({offset, period, static_cast<std::uint32_t>(count), {}});
  }
  Device device = device_of(set.layout, set.order, set.channels, Placement::most_room_first);
  if (set.priorities) device.priorities = 1000;
  QuarterlyLargest sink(std::move(clients));
  LongRun run;
  run.events = NativeRuns(workload, device).play(seed, sink);
  for (const QuarterlyLargest::Client& client : sink.clients()) {
    const std::int64_t largest = *std::max_element(client.largest.begin(), client.largest.end());
    run.tasks.push_back({ticks.time({largest}), largest <= client.period, grows(client)});
    run.jobs += client.jobs;
  }
  return run;
}

}  // namespace

LongRun simulate_periodically(const TaskSet& given, std::uint64_t jobs, std::uint64_t seed) {
  const auto* sporadic = std::get_if<SporadicTasks>(&given.tasks);
  if (sporadic == nullptr)
    throw InputError(kHere, given.name, "kernels that are submitted once", "tasks that are released again");
  return play_periodically(*sporadic, given.unit, jobs, seed);
}

}  // namespace gangway
