// How late a scheduler in real time was, on a clock of the test's own: a busy machine takes the processor
// away from it whenever the test says so.
#include <algorithm>
#include <limits>

#include "experiments/metrics/samples.hpp"
#include "experiments/results/scheduler_row.hpp"
#include "hw/executor.hpp"
#include "models/metrics/run_meter.hpp"
#include "models/random.hpp"
#include "tests/catch.hpp"
#include "tests/scenario.hpp"

namespace gangway::testing {
namespace {

using namespace literals;

// The machine's time. Every look at the clock takes 100 ns; whoever looks after `since` has been away for
// `away`.
struct Machine {
  std::int64_t ns = 1'000'000, processor = 0;
  struct Absence {
    std::int64_t since, away;
  };
  std::vector<Absence> absences;

  std::int64_t look() {
    ns += 100;
    processor += 100;
    if (!absences.empty() && ns >= absences.front().since) {
      ns += absences.front().away;
      absences.erase(absences.begin());
    }
    return ns;
  }
};

class TestClock : public SchedulerClock {
 public:
  explicit TestClock(Machine& machine) : machine_(machine) {}
  HostClock::Instant now() const override { return {machine_.look()}; }
  Duration processor_time() const override { return {machine_.processor}; }

 private:
  Machine& machine_;
};

// Each launch begins 5 us after its command and takes 1 ms.
class TestDevice : public RealDevice, DeviceLaunches, DeviceCopies, KernelMemory, DeviceProbes {
 public:
  TestDevice(Machine& machine, bool shares_clock) : machine_(machine), shares_clock_(shares_clock) {}

  DeviceLaunches& launches() override { return *this; }
  DeviceCopies& copies() override { return *this; }
  KernelMemory& memory() override { return *this; }
  DeviceProbes& probes() override { return *this; }

  void launch(KernelIndex, BlockRange range) override {
    range_ = range;
    began_ = machine_.ns + 5'000;
    ended_ = began_ + 1'000'000;
  }
  void evict() override {}
  bool started() override { return machine_.ns >= began_; }
  bool gone() override { return machine_.ns >= ended_; }
  std::optional<HostClock::Instant> began() override { return told(began_); }
  std::optional<HostClock::Instant> ended() override { return told(ended_); }
  void ask_pending_work() override {}
  std::optional<BlockCount> pending_work() override { return range_.last; }
  void copy(CopyDirection, Bytes) override {}
  bool copied(CopyDirection) override { return true; }
  void relax() override {}
  Duration warm_up() const override { return {}; }
  std::string fault() override { return {}; }
  bool settle(Duration) override { return true; }
  void launch_original(KernelIndex) override {}
  void observe(bool) override {}
  Observed observed() override { return {}; }
  Duration device_time() override { return {}; }
  std::int64_t blocks(KernelIndex) const override { return 1; }
  void poison(KernelIndex) override {}
  std::string difference(KernelIndex) override { return {}; }

 private:
  std::optional<HostClock::Instant> told(std::int64_t ns) const {
    return shares_clock_ ? std::optional(HostClock::Instant{ns}) : std::nullopt;
  }
  Machine& machine_;
  bool shares_clock_;
  BlockRange range_;
  std::int64_t began_ = 0, ended_ = 0;
};

class Account : public TraceSink, public JobSink {
 public:
  Account() : meter_(1, *this, 1) {}
  void record(const Record& r) override {
    CHECK(r.time >= last);
    last = r.time;
    if (r.mark == Mark::started) started = r.time;
    if (r.mark == Mark::gone) gone = r.time;
    meter_.record(r);
  }
  void late(const Lateness& of_run) override { lateness.add(of_run); }
  void job(const JobResult& result) override { jobs.push_back(result); }
  RunTotals totals() const { return meter_.totals(); }
  Time last, started, gone;
  Lateness lateness;
  std::vector<JobResult> jobs;

 private:
  RunMeter meter_;
};

// One job of 1 ms that arrives at 2 ms.
void play_one(Machine& machine, bool shares_clock, Account& account) {
  Workload workload;
  workload.clients = {client("A", 2'000'000, 100)};
  const Device device = small_device();
  const auto mechanism = mechanism_from("flag-copy");
  RealTimeWorld world({.workload = workload, .device = device, .mechanism = *mechanism},
                      std::make_unique<TestDevice>(machine, shares_clock),
                      std::make_unique<TestClock>(machine));
  const ChosenPolicy chosen = policy_from("fcfs");
  const std::uint32_t order[] = {0};
  world.run(*chosen.entry->make(chosen.values), {}, order, account);
  REQUIRE(account.jobs.size() == 1);
}

Duration between(Duration least, Duration value, Duration most) {
  CHECK(value >= least);
  CHECK(value <= most);
  return value;
}

}  // namespace

TEST_CASE("a scheduler with a core of its own is never late", "[late]") {
  Machine machine;
  Account account;
  play_one(machine, true, account);
  between(1'000'000_ns, account.gone - account.started, 1'000'000_ns);
  between(1'005'000_ns, account.jobs[0].response(), 1'006'000_ns);
  between(0_ns, account.lateness.most(), 400_ns);
  CHECK(account.lateness.off_cpu() == 0);
}

// What summary.csv says of the scheduler.
Row scheduler_columns(const Lateness& lateness, double shortest_alone_ns) {
  const std::vector<std::string> nobody;
  const std::vector<ReplicationMetrics> one(1);
  const std::vector<double> none;
  Row row;
  add_metrics(row, PointSample{nobody, one, ResponsePercentiles(), none, none, &lateness, shortest_alone_ns});
  std::erase_if(row, [](const auto& column) {
    return !column.first.starts_with("scheduler_") && column.first != "too_late";
  });
  return row;
}

TEST_CASE("a kernel that came and went while the scheduler was away ran for as long as it ran", "[late]") {
  Machine machine;
  machine.absences = {{3'100'000, 10'000'000}};  // 100 us after the launch, for 10 ms
  Account account;
  play_one(machine, true, account);
  CHECK(account.gone - account.started == 1'000'000_ns);
  CHECK(account.totals().executing == 1'000'000_ns);
  between(10'000'000_ns, account.jobs[0].response(), 10'200'000_ns);  // nobody saw the end before
  between(9'000'000_ns, account.lateness.most(), 9'200'000_ns);
  CHECK(account.lateness.off_cpu() > 0.7);

  const Row row = scheduler_columns(account.lateness, 1e6);
  CHECK(cell(row, "too_late").text() == "yes");
  CHECK(cell(row, "scheduler_late_ns_max").number() == static_cast<double>(account.lateness.most().ns));
}

TEST_CASE("what is seen is never told as of before it happened", "[late]") {
  // Away between reading the clock and looking at the device: the job is not over before its end.
  for (std::int64_t since = 3'000'000; since < 3'012'000; since += 100) {
    Machine machine;
    machine.absences = {{since, 5'000'000}};
    for (const bool shares_clock : {false, true}) {
      Machine again = machine;
      Account account;
      play_one(again, shares_clock, account);
      CHECK(account.jobs[0].response() >= 1'000'000_ns);
      CHECK(account.gone > account.started);
      CHECK(account.totals().executing > 0_ns);
    }
  }
}

TEST_CASE("an arrival that is handled late counts as late, and as response", "[late]") {
  Machine machine;
  machine.absences = {{2'500'000, 4'000'000}};  // 0.5 ms before the arrival
  Account account;
  play_one(machine, true, account);
  CHECK(account.jobs[0].arrival == Time{2'000'000});
  between(3'400'000_ns, account.lateness.most(), 3'600'000_ns);
  between(4'400'000_ns, account.jobs[0].response(), 4'600'000_ns);
}

TEST_CASE("quantiles of lateness are those of the sorted list, to within a sixteenth", "[late]") {
  Stream random(5, "test-lateness", {});
  Lateness one, other;
  std::vector<std::int64_t> all;
  for (int i = 0; i < 3'000; ++i) {
    const auto ns = static_cast<std::int64_t>(random.below(std::uint64_t{1} << random.below(45)));
    all.push_back(ns);
    (i % 3 == 0 ? one : other).add(Duration{ns});
  }
  one.add(other);
  std::sort(all.begin(), all.end());
  CHECK(one.count() == all.size());
  CHECK(one.most().ns == all.back());
  for (const double share : {0.01, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const std::int64_t exact = all[static_cast<std::size_t>(std::ceil(share * 3'000)) - 1];
    CHECK(one.at(share).ns >= exact);
    CHECK(one.at(share).ns <= exact + exact / 16);
  }
  one.add(Duration::max());
  CHECK(one.at(1).ns == std::numeric_limits<std::int64_t>::max());
  CHECK(Lateness{}.at(0.99) == 0_ns);
}

TEST_CASE("a row is marked where one hundredth of all was later than a twentieth of the shortest job",
          "[late]") {
  Lateness lateness;
  for (int i = 0; i < 98; ++i) lateness.add(10_ns);
  lateness.add(50_us);
  lateness.add(50_us);
  const Row late = scheduler_columns(lateness, 999'000), early = scheduler_columns(lateness, 1'001'000),
            simulated = scheduler_columns({}, 1);
  CHECK(cell(late, "too_late").text() == "yes");
  CHECK(cell(early, "too_late").text() == "no");
  CHECK(cell(late, "scheduler_late_ns_p50").number() == 10);
  CHECK(simulated.empty());

  SchedulerAccount account;
  account.add(simulated);
  CHECK(account.empty());
  account.add(late);
  account.add(early);
  CHECK(account.too_late() == 1);
  CHECK_THAT(account.warning(), Catch::Matchers::ContainsSubstring("too late in 1 of 2 rows"));
}

}  // namespace gangway::testing
