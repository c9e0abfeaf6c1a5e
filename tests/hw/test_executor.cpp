// The real-time executor and the host's workers, with evictions that race completion.
#include <atomic>
#include <deque>
#include <numeric>

#include "hw/executor.hpp"
#include "hw/host/host_device.hpp"
#include "hw/kernels/cuda_problem.hpp"
#include "hw/kernels/host_problem.hpp"
#include "models/error.hpp"
#include "models/random.hpp"
#include "tests/allocations.hpp"
#include "tests/cases.hpp"
#include "tests/catch.hpp"
#include "tests/hw/mechanism_cases.hpp"
#include "tests/no_trace.hpp"
#include "tests/scenario.hpp"

namespace gangway::testing {
namespace {

using namespace literals;

Client throttle(const std::string& name, std::int64_t block_tasks, Duration each, unsigned workers) {
  Client client;
  client.name = name;
  Kernel kernel;
  kernel.name = name;
  kernel.block_tasks = {block_tasks};
  kernel.time = {each.ns * block_tasks / std::min<std::int64_t>(workers, block_tasks)};
  client.kernels.push_back(kernel);
  return client;
}

// One block-task that does not end before it is let go.
class Held : public KernelCode {
 public:
  explicit Held(std::atomic<bool>& let_go) : let_go_(let_go) {}
  Dimensions grid() const override { return {1, 1, 1}; }
  Dimensions block() const override { return {1, 1, 1}; }
  Bytes memory() const override { return {}; }
  std::unique_ptr<HostProblem> on_host(std::uint64_t) const override {
    return std::make_unique<Problem>(let_go_);
  }
  std::unique_ptr<CudaProblem> on_cuda(std::uint64_t) const override { return nullptr; }

 private:
  struct Problem : HostProblem {
    explicit Problem(std::atomic<bool>& go) : let_go(go) {}
    void block_task(std::uint32_t) override { let_go.wait(false); }
    void poison() override {}
    std::string difference() const override { return ""; }
    std::atomic<bool>& let_go;
  };
  std::atomic<bool>& let_go_;
};

// False. A worker that was held may still look at it when the world that gave it up is gone, so it stays.
std::atomic<bool>& lasting_flag() {
  static auto& flags = *new std::deque<std::atomic<bool>>;
  return flags.emplace_back(false);
}

std::unique_ptr<HostDevice> host_device(const Workload& workload, unsigned workers,
                                        const std::string& mechanism) {
  const RealDeviceEntry& host = RealDevices::named("host", "test", "device");
  const auto cost = usual_mechanism(mechanism);
  return std::make_unique<HostDevice>(workload, workers, 1, real_half(*cost, host).on_host(cost->values()));
}

// On which every mechanism can be played.
Device device_with_polls() {
  Device device = small_device();
  device.polls = PollCosts{1_us, 1_us};
  return device;
}

void wait_until_gone(RealDevice& device) {
  while (!device.launches().gone()) device.relax();
  REQUIRE(device.launches().started());
}

}  // namespace

TEST_CASE("evictions that race completion lose no block-task and do none twice", "[long]") {
  constexpr unsigned kWorkers = 3;
  Workload workload;
  for (int size : {1, 2, 5, 40, 300})
    workload.clients.push_back(throttle("t" + std::to_string(size), size, 1_us, kWorkers));
  std::vector<std::unique_ptr<HostDevice>> devices;  // one for each mechanism that evicts
  for (const std::string& mechanism : mechanisms_on("host"))
    if (evicts(mechanism)) devices.push_back(host_device(workload, kWorkers, mechanism));
  REQUIRE(devices.size() >= 5);
  std::int64_t evictions = 0;
  const CaseNumbers runs = case_numbers(1'000, 50'000);
  for (const int run : runs) {
    Stream random(static_cast<std::uint64_t>(run), "test-evictions", {});
    HostDevice& device = *devices[static_cast<std::size_t>(run) % devices.size()];
    const KernelIndex k{static_cast<std::uint32_t>(random.below(workload.clients.size())), 0};
    const BlockCount all = workload.clients[k.client].kernels[0].block_tasks;
    device.probes().observe(true);
    device.memory().poison(k);
    BlockCount done;
    while (done < all) {
      // Sometimes a range that ends early, and an eviction from "at once" to "long over".
      const BlockCount last =
          random.below(4) == 0 ? done + BlockCount{1 + static_cast<std::int64_t>(random.below(
                                                           static_cast<std::uint64_t>((all - done).count)))}
                               : all;
      device.launches().launch(k, {done, last});
      const bool evict = random.below(3) > 0;
      if (evict) {
        const auto until = HostClock::now() + Duration{static_cast<std::int64_t>(random.below(150'000))};
        if (random.below(4) > 0)
          while (HostClock::now() < until && !device.launches().gone()) pause_briefly();
        device.launches().evict();
        ++evictions;
      }
      wait_until_gone(device);
      device.launches().ask_pending_work();
      const BlockCount now = device.launches().pending_work().value();
      REQUIRE(now >= done);
      REQUIRE(now <= last);
      if (!evict) REQUIRE(now == last);
      done = now;
    }
    const auto observed = device.probes().observed();
    REQUIRE(observed.counts == std::vector<std::uint32_t>(static_cast<std::size_t>(all.count), 1));
    REQUIRE(device.memory().difference(k).empty());
  }
  CHECK(evictions > runs.size() / 3);
}

TEST_CASE("a late eviction order does not touch the next launch") {
  Workload workload;
  workload.clients.push_back(throttle("t", 100, 1_us, 2));
  HostDevice device(workload, 2);
  for (int i = 0; i < 200; ++i) {
    device.launches().launch({0, 0}, {{0}, {100}});
    wait_until_gone(device);
    device.launches().evict();  // of a launch that is over
    REQUIRE(device.launches().pending_work() == BlockCount{100});
    device.launches().launch({0, 0}, {{0}, {100}});
    wait_until_gone(device);
    REQUIRE(device.launches().pending_work() == BlockCount{100});
  }
}

TEST_CASE("the original form does every block-task") {
  Workload workload;
  workload.clients.push_back(throttle("t", 57, 1_us, 3));
  HostDevice device(workload, 3);
  device.memory().poison({0, 0});
  CHECK_FALSE(device.memory().difference({0, 0}).empty());
  device.probes().launch_original({0, 0});
  wait_until_gone(device);
  CHECK(device.memory().difference({0, 0}).empty());
}

TEST_CASE("copies end, in both directions at once") {
  HostDevice device(Workload{}, 1);
  for (int i = 0; i < 50; ++i) {
    device.copies().copy(CopyDirection::to_device, Bytes{1 << 16});
    device.copies().copy(CopyDirection::to_host, Bytes{1 << 12});
    while (!device.copies().copied(CopyDirection::to_device) ||
           !device.copies().copied(CopyDirection::to_host))
      device.relax();
  }
  CHECK(device.settle(1_s));
}

TEST_CASE("a kernel that never ends is stopped by the watchdog, with the history") {
  std::atomic<bool>& let_go = lasting_flag();
  Workload workload;
  workload.clients.push_back(throttle("endless", 1, 3_s, 1));
  workload.clients[0].kernels[0].code = std::make_shared<Held>(let_go);
  const Device device = small_device();
  const auto mechanism = mechanism_from("flag-copy");
  RealTimeWorld world({.workload = workload, .device = device, .mechanism = *mechanism, .watchdog = 50_ms},
                      std::make_unique<HostDevice>(workload, 1));
  const ChosenPolicy chosen = policy_from("fcfs");
  NoTrace sink;
  const std::uint32_t order[] = {0};
  std::string what;
  try {
    world.run(*chosen.entry->make(chosen.values), {}, order, sink);
  } catch (const RunError& error) {
    what = error.what();
  }
  CHECK(what.find("kernel 0 of endless is still on the device after 50 ms, the watchdog's limit") !=
        std::string::npos);
  CHECK(what.find("launch ordered") != std::string::npos);
  CHECK_THROWS_AS(world.run(*chosen.entry->make(chosen.values), {}, order, sink), RunError);
  let_go = true;
  let_go.notify_all();
}

// A kernel that never ends, and one that arrives after 5 ms and displaces it: what the run fails with.
std::string fails_with(const std::string& mechanism_name) {
  std::atomic<bool>& let_go = lasting_flag();
  Workload workload;
  workload.clients.push_back(throttle("endless", 1, 1_us, 1));
  workload.clients[0].kernels[0].code = std::make_shared<Held>(let_go);
  workload.clients.push_back(throttle("urgent", 1, 1_us, 1));  // in vain: the block-task has begun
  workload.clients[1].arrive = 5_ms;
  workload.clients[1].priority = 1;
  const Device device = device_with_polls();
  const auto mechanism = usual_mechanism(mechanism_name);
  RealTimeWorld world({.workload = workload, .device = device, .mechanism = *mechanism, .watchdog = 50_ms},
                      host_device(workload, 2, mechanism_name));
  const ChosenPolicy chosen = policy_from("piv");
  NoTrace sink;
  const std::uint32_t order[] = {0, 1};
  std::string what;
  try {
    world.run(*chosen.entry->make(chosen.values), {}, order, sink);
  } catch (const RunError& error) {
    what = error.what();
  }
  let_go = true;
  let_go.notify_all();
  return what;
}

TEST_CASE("a kernel that never ends is stopped by the watchdog under every mechanism") {
  const std::string says =
      "kernel 0 of endless has not obeyed its eviction after 50 ms, the watchdog's limit";
  for (const std::string name :
       {"basic", "flag-copy", "proxy", "proxy-adaptive", "slice"}) {  // the others are as these
    // On a loaded machine the other one may come after the watchdog.
    std::string what;
    for (int tries = 0; tries < 5 && what.find(says) == std::string::npos; ++tries) what = fails_with(name);
    CAPTURE(name, what);
    CHECK(what.find(says) != std::string::npos);
  }
}

TEST_CASE("a copy that a horizon cuts off does not reach into the next run") {
  Workload workload;
  workload.clients.push_back(throttle("large", 10, 1_us, 1));
  workload.clients.push_back(throttle("small", 10, 1_us, 1));
  workload.clients[0].copy_in = Bytes{std::int64_t{1} << 40};
  workload.clients[1].copy_out = Bytes{1 << 16};
  const Device device = small_device();
  const auto mechanism = mechanism_from("flag-copy");
  RealTimeWorld world(
      {.workload = workload, .device = device, .mechanism = *mechanism, .horizon = Time{100'000'000}},
      std::make_unique<HostDevice>(workload, 1));
  const ChosenPolicy chosen = policy_from("fcfs");
  const std::uint32_t order[] = {0, 1};
  struct Finished : TraceSink {
    void record(const Record& r) override {
      if (r.mark == Mark::finished) ++(r.job.client.index == 0 ? large : small);
    }
    int large = 0, small = 0;
  } finished;
  // A busy machine may need longer than the horizon even for the small job: then there are more runs.
  while (finished.small < 3) world.run(*chosen.entry->make(chosen.values), {}, order, finished);
  CHECK(finished.large == 0);
}

TEST_CASE("a run nobody wants any more ends before its work is done, and leaves the device free") {
  struct Impatient : TraceSink {
    void record(const Record& r) override { finished = finished || r.mark == Mark::finished; }
    bool stopped() const override { return true; }
    bool finished = false;
  };
  Workload workload;
  workload.clients.push_back(throttle("long", 100'000'000, 100_us, 1));  // hours
  const Device device = small_device();
  const auto mechanism = mechanism_from("flag-copy");
  RealTimeWorld world({.workload = workload, .device = device, .mechanism = *mechanism},
                      std::make_unique<HostDevice>(workload, 1));
  const ChosenPolicy chosen = policy_from("fcfs");
  Impatient sink;
  const std::uint32_t order[] = {0};
  world.run(*chosen.entry->make(chosen.values), {}, order, sink);
  world.run(*chosen.entry->make(chosen.values), {}, order, sink);  // the device is free
  CHECK_FALSE(sink.finished);
}

TEST_CASE("impossible orders stop a real run too") {
  struct Twice : Policy {
    Capabilities needs() const override { return {}; }
    void note(Time, const Fact& fact, const View&) override {
      if (const auto* arrived = std::get_if<Arrived>(&fact)) job = arrived->job;
    }
    void decide(Time, const View& view, Orders& orders) override {
      if (!job) return;
      orders.launch(*job, DeviceId{0}, BlockRange{{0}, view.job(*job).current().block_tasks});
      orders.launch(*job, DeviceId{0}, BlockRange{{0}, view.job(*job).current().block_tasks});
    }
    std::optional<JobId> job;
  };
  Workload workload;
  workload.clients.push_back(throttle("t", 10, 1_us, 1));
  const Device device = small_device();
  const auto mechanism = mechanism_from("flag-copy");
  RealTimeWorld world({.workload = workload, .device = device, .mechanism = *mechanism},
                      std::make_unique<HostDevice>(workload, 1));
  NoTrace sink;
  const std::uint32_t order[] = {0};
  Twice policy;
  std::string what;
  try {
    world.run(policy, {}, order, sink);
  } catch (const RunError& error) {
    what = error.what();
  }
  CHECK(what.find("a launch while another kernel owns the GPU") != std::string::npos);
}

#ifdef GANGWAY_COUNTS_ALLOCATIONS
namespace {

// Counts what is allocated between the first fact and the last decision.
class Counting : public Policy {
 public:
  explicit Counting(Policy& policy) : policy_(policy) {}
  Capabilities needs() const override { return policy_.needs(); }
  void note(Time now, const Fact& fact, const View& view) override {
    if (!first) first = allocations();
    policy_.note(now, fact, view);
  }
  void decide(Time now, const View& view, Orders& orders) override {
    policy_.decide(now, view, orders);
    last = allocations();
  }
  std::optional<std::int64_t> first;
  std::int64_t last = 0;

 private:
  Policy& policy_;
};

}  // namespace

TEST_CASE("the scheduler's path allocates nothing") {
  Workload workload;
  for (const char* name : {"A", "B", "C"}) {
    workload.clients.push_back(throttle(name, 400, 10_us, 1));
    workload.clients.back().copy_in = workload.clients.back().copy_out = Bytes{1 << 16};
    workload.clients.back().repeat = {3, 1_ms, std::nullopt};
  }
  const Device device = device_with_polls();
  NoTrace sink;
  const std::uint32_t order[] = {0, 1, 2};
  for (const std::string& by : mechanisms_on("host")) {
    const auto mechanism = usual_mechanism(by);
    RealTimeWorld world({.workload = workload, .device = device, .mechanism = *mechanism},
                        host_device(workload, 2, by));
    std::vector<std::string> policies{
        "piv", "{name: pkm, params: {latency: 100 us}}",
        "{name: microkernel-rr, params: {state: resident, slice: 1 ms, blocks: profiled}}"};
    if (by == "flag-copy") policies.insert(policies.end(), {"fcfs", "sjf", "srt", "rr", "cfs", "frs"});
    for (const std::string& name : policies) {
      const ChosenPolicy chosen = policy_from(name);
      const auto policy = chosen.entry->make(chosen.values);
      Counting counting(*policy);
      world.run(counting, {}, order, sink);
      INFO(by << ", " << name);
      CHECK(counting.last - counting.first.value() == 0);
    }
  }
}
#endif

}  // namespace gangway::testing
