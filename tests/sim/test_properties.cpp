// What must hold for every workload and policy, over thousands of random ones.
#include <algorithm>
#include <map>

#include "tests/cases.hpp"
#include "tests/catch.hpp"
#include "tests/sim/random_scenario.hpp"

using namespace gangway;
using namespace gangway::testing;

namespace {

using KernelKey = std::tuple<JobId, std::uint32_t>;

std::string short_quantum(const std::string& policy) {
  // With fine block-tasks quanta can be as short as they come, for many evictions.
  std::string text = policy;
  for (const char* quantum : {"14 us", "98 us"})
    if (const auto at = text.find(quantum); at != std::string::npos)
      text.replace(at, 5, quantum[0] == '1' ? "1 us" : "7 us");
  return text;
}

// Every block-task of every kernel is done exactly once, launches do not overlap, and reports say the truth.
void check_conservation(const Scenario& scenario, const Played& played) {
  std::map<KernelKey, std::int64_t> done;
  LaunchId running{};
  for (const Record& r : played.records) {
    const KernelKey kernel{r.job, r.kernel};
    if (r.mark == Mark::launch_ordered) {
      REQUIRE(running.value == 0);
      REQUIRE(r.amount == done[kernel]);  // a relaunch goes on where the last one stopped
      running = r.launch;
    } else if (r.mark == Mark::gone) {
      REQUIRE(r.launch == running);
      REQUIRE(r.amount >= 0);
      done[kernel] += r.amount;
    } else if (r.mark == Mark::left) {
      REQUIRE(r.amount == done[kernel]);
      running = {};
    }
  }
  for (const JobResult& job : played.jobs) {
    REQUIRE(job.finish.has_value());
    const Client& client = scenario.clients[job.id.client.index];
    for (std::uint32_t k = 0; k < client.kernels.size(); ++k)
      REQUIRE(done[KernelKey{job.id, k}] == client.kernels[k].block_tasks.count);
    REQUIRE(job.response() >= job.standalone);
    REQUIRE(job.waiting() >= Duration{});
    REQUIRE(job.launches == job.evictions + static_cast<std::int64_t>(client.kernels.size()));
  }
  std::int64_t jobs = 0;
  for (const Client& client : scenario.clients) jobs += *client.repeat.jobs;
  REQUIRE(played.totals.finished == jobs);
}

// What each client's job had left, in declared time, while it waits to be launched.
struct Backlog {
  explicit Backlog(const Scenario& scenario) : scenario_(scenario) {}

  void on(const Record& r) {
    const Client& client = scenario_.clients[r.job.client.index];
    if (r.mark == Mark::eligible && r.kernel == 0) {
      std::int64_t total = 0;
      for (const Kernel& k : client.kernels) total += k.transformed().ns;
      total_[r.job.client.index] = left_[r.job.client.index] = total;
      waiting_[r.job.client.index] = true;
    } else if (r.mark == Mark::launch_ordered) {
      waiting_[r.job.client.index] = false;
    } else if (r.mark == Mark::left) {
      std::int64_t left = 0;
      const bool completed = r.why == Why::completed;
      for (std::size_t k = r.kernel + (completed ? 1u : 0u); k < client.kernels.size(); ++k) {
        const Kernel& kernel = client.kernels[k];
        const std::int64_t rest = kernel.block_tasks.count - (k == r.kernel ? r.amount : 0);
        left += mul_div_floor(rest, kernel.transformed().ns, kernel.block_tasks.count);
      }
      left_[r.job.client.index] = left;
      waiting_[r.job.client.index] = left > 0;
    }
  }

  // The least value among those that wait and the one that is being launched.
  static std::int64_t least(const std::map<std::uint32_t, std::int64_t>& of,
                            const std::map<std::uint32_t, bool>& waiting, std::uint32_t self) {
    std::int64_t value = of.at(self);
    for (const auto& [client, waits] : waiting)
      if (waits) value = std::min(value, of.at(client));
    return value;
  }

  const Scenario& scenario_;
  std::map<std::uint32_t, std::int64_t> total_, left_;
  std::map<std::uint32_t, bool> waiting_;
};

}  // namespace

TEST_CASE("no block-task is lost or done twice, and no response beats the standalone time", "[long]") {
  for (const int i : case_numbers(1'000, 40'000))
    for (const std::string& policy : all_policies()) {
      INFO("scenario " << i << " under " << policy);
      const Scenario coarse = random_scenario(static_cast<std::uint64_t>(i));
      check_conservation(coarse, play(coarse, policy));
      const Scenario fine = random_scenario(static_cast<std::uint64_t>(i), {true, true, true, false});
      check_conservation(fine, play(fine, short_quantum(policy)));
    }
}

TEST_CASE("fcfs never evicts", "[long]") {
  for (const int i : case_numbers(500, 50'000))
    REQUIRE(play(random_scenario(static_cast<std::uint64_t>(i)), "fcfs").totals.evictions == 0);
}

TEST_CASE("sjf launches the shortest of those that wait, srt the one with least left", "[long]") {
  for (const int i : case_numbers(500, 50'000)) {
    const Scenario scenario = random_scenario(static_cast<std::uint64_t>(i));
    for (const bool sjf : {true, false}) {
      INFO("scenario " << i << (sjf ? " sjf" : " srt"));
      Backlog backlog(scenario);
      const Played played = play(scenario, sjf ? "sjf" : "srt");
      for (const Record& r : played.records) {
        if (r.mark == Mark::launch_ordered) {
          const auto& value = sjf ? backlog.total_ : backlog.left_;
          REQUIRE(value.at(r.job.client.index) ==
                  Backlog::least(value, backlog.waiting_, r.job.client.index));
        }
        backlog.on(r);
      }
    }
  }
}

TEST_CASE("piv launches the most urgent of those that wait", "[long]") {
  for (const int i : case_numbers(500, 50'000)) {
    const Scenario scenario = random_scenario(static_cast<std::uint64_t>(i));
    std::map<std::uint32_t, std::int64_t> urgency;
    for (std::uint32_t c = 0; c < scenario.clients.size(); ++c) urgency[c] = -scenario.clients[c].priority;
    INFO("scenario " << i);
    Backlog backlog(scenario);
    std::optional<std::uint32_t> owner;
    bool evicting = false;
    const Played played = play(scenario, "piv");
    for (std::size_t k = 0; k < played.records.size(); ++k) {
      const Record& r = played.records[k];
      if (r.mark == Mark::launch_ordered) {
        REQUIRE(urgency[r.job.client.index] == Backlog::least(urgency, backlog.waiting_, r.job.client.index));
        owner = r.job.client.index;
        evicting = false;
      }
      if (r.mark == Mark::evict_ordered) evicting = true;
      if (r.mark == Mark::gone) owner.reset();
      backlog.on(r);
      const bool instant_over = k + 1 == played.records.size() || played.records[k + 1].time > r.time;
      if (owner && !evicting && instant_over)
        REQUIRE(urgency[*owner] == Backlog::least(urgency, backlog.waiting_, *owner));
    }
  }
}

TEST_CASE("rr: turns of two clients that are always ready differ by at most one", "[long]") {
  for (const int i : case_numbers(200, 20'000)) {
    Scenario scenario = random_scenario(static_cast<std::uint64_t>(i), {false, false, false, false});
    scenario.clients.resize(std::min<std::size_t>(scenario.clients.size(), 2));
    if (scenario.clients.size() < 2) continue;
    for (Client& client : scenario.clients) {
      client.arrive = Duration{};
      client.kernels[0].time = client.kernels[0].declared_time.emplace(Duration{50'000});
      client.kernels[0].block_tasks = {50'000};
    }
    const Played played = play(scenario, "{name: rr, params: {quantum: 1 us}}");
    std::int64_t turns[2] = {0, 0};
    bool both = true;
    for (const Record& r : played.records) {
      both = both && r.mark != Mark::finished;
      if (r.mark != Mark::launch_ordered || !both) continue;
      ++turns[r.job.client.index];
      REQUIRE(std::abs(turns[0] - turns[1]) <= 1);
    }
  }
}

namespace {

// The preemptive schedule of shortest remaining time by its definition, stepping from arrival to completion:
// the optimum of the mean response on one machine without preemption cost (Schrage 1968).
std::int64_t optimal_response_sum(const Scenario& scenario) {
  struct Job {
    std::int64_t arrive, left;
  };
  std::vector<Job> jobs;
  for (const Client& c : scenario.clients) jobs.push_back({c.arrive->ns, c.kernels[0].transformed().ns});
  std::int64_t now = 0, sum = 0;
  for (std::size_t finished = 0; finished < jobs.size();) {
    Job* next = nullptr;
    std::int64_t until = INT64_MAX;
    for (Job& job : jobs) {
      if (job.left == 0) continue;
      if (job.arrive > now)
        until = std::min(until, job.arrive);
      else if (next == nullptr || job.left < next->left)
        next = &job;
    }
    if (next == nullptr) {
      now = until;
      continue;
    }
    const std::int64_t step = std::min(next->left, until - now);
    next->left -= step;
    now += step;
    if (next->left > 0) continue;
    sum += now - next->arrive;
    ++finished;
  }
  return sum;
}

std::int64_t response_sum(const Played& played) {
  std::int64_t sum = 0;
  for (const JobResult& job : played.jobs) sum += job.response().ns;
  return sum;
}

}  // namespace

TEST_CASE("srt minimises mean response when evictions cost nothing", "[long]") {
  for (const int i : case_numbers(500, 50'000)) {
    INFO("scenario " << i);
    Scenario scenario = random_scenario(static_cast<std::uint64_t>(i), {false, false, false, false});
    scenario.mechanism = "ideal";
    const std::int64_t best = optimal_response_sum(scenario);
    REQUIRE(response_sum(play(scenario, "srt")) == best);
    for (const std::string& policy : all_policies())
      REQUIRE(response_sum(play(scenario, short_quantum(policy))) >= best);
  }
}

TEST_CASE("random numbers are common to all policies", "[long]") {
  for (const int i : case_numbers(100, 10'000)) {
    Scenario scenario = random_scenario(static_cast<std::uint64_t>(i), {true, true, true, false});
    scenario.jitter = {0.2, Duration{700}, i % 2 == 0};
    // Without evictions a launch shows its kernel's drawn time.
    const auto drawn = [&](const std::string& policy, const RunSeed& seed) {
      std::map<KernelKey, std::int64_t> times;
      std::map<JobId, std::int64_t> releases;
      std::map<LaunchId, Time> began;
      for (const Record& r : play(scenario, policy, seed).records) {
        if (r.mark == Mark::started) began[r.launch] = r.time;
        if (r.mark == Mark::gone) times[{r.job, r.kernel}] = (r.time - began[r.launch]).ns;
        const auto& repeat = scenario.clients[r.job.client.index].repeat;
        if (r.mark == Mark::released && !repeat.think) releases[r.job] = r.time.ns;
      }
      return std::pair(times, releases);
    };
    const RunSeed seed{7, 3, static_cast<std::uint32_t>(i)};
    const auto fcfs = drawn("fcfs", seed);
    REQUIRE(fcfs == drawn("{name: rr, params: {quantum: 100 s}}", seed));
    REQUIRE(fcfs == drawn("{name: cfs, params: {epoch: 100 s}}", seed));
    REQUIRE(fcfs == drawn("{name: frs, params: {minimum_quantum: 100 s}}", seed));
    REQUIRE(fcfs != drawn("fcfs", {8, 3, static_cast<std::uint32_t>(i)}));
    REQUIRE(fcfs != drawn("fcfs", {7, 4, static_cast<std::uint32_t>(i)}));
  }
}

TEST_CASE("same seed, same trace", "[long]") {
  for (const int i : case_numbers(100, 10'000))
    for (const std::string& policy : all_policies()) {
      Scenario scenario = random_scenario(static_cast<std::uint64_t>(i));
      scenario.jitter = {0.1, Duration{300}, false};
      const RunSeed seed{static_cast<std::uint64_t>(i), 1, 2};
      REQUIRE(play(scenario, policy, seed).lines == play(scenario, policy, seed).lines);
    }
}
