// Whatever a policy does, its run ends with a RunError that says what it did and what happened before.
#include <chrono>
#include <future>
#include <numeric>
#include <thread>

#include "hw/executor.hpp"
#include "hw/host/host_device.hpp"
#include "models/error.hpp"
#include "models/run/policy_watch.hpp"
#include "tests/catch.hpp"
#include "tests/faults/faults.hpp"
#include "tests/no_trace.hpp"
#include "tests/scenario.hpp"

namespace gangway::testing {
namespace {

using namespace literals;

// In the second, B has not arrived when A has, however busy the machine is.
Workload two(Duration later) {
  Workload workload;
  workload.name = "two";
  workload.clients = {client("A", 0, 100), client("B", later.ns, 20)};
  for (Client& c : workload.clients) c.memory = Bytes{64};
  return workload;
}

std::string message_of(World& world, Policy& policy) {
  NoTrace sink;
  const std::uint32_t order[] = {0, 1};
  try {
    world.run(policy, {}, order, sink);
  } catch (const RunError& error) {
    return error.what();
  }
  return "no error";
}

// The last 32 records: all of them, where the fault does not come over and over.
bool shows_history(const Fault& fault, const std::string& message) {
  const bool over_and_over = fault.name == "wakes-itself" || fault.name.ends_with("-without-end");
  const std::string first = over_and_over ? "\n  " : "A job 0 kernel 0 launch 0: released";
  const std::size_t history = message.find("; what happened before:\n");
  return history != std::string::npos && message.find(first, history) != std::string::npos;
}

std::string simulated(Policy& policy, WatchedRun* watch = nullptr) {
  const Workload workload = two(50_ns);
  Device device = small_device();
  const auto mechanism = mechanism_from("flag-copy");
  WorldSetup setup{.workload = workload, .device = device, .mechanism = *mechanism, .watch = watch};
  return message_of(*Worlds::named("sim", "test", "world").make(setup), policy);
}

std::string real(Policy& policy, Duration later) {
  const Workload workload = two(later);
  const Device device = small_device();
  const auto mechanism = mechanism_from("flag-copy");
  RealTimeWorld world({.workload = workload, .device = device, .mechanism = *mechanism, .watchdog = 30_ms},
                      std::make_unique<HostDevice>(workload, 1));
  return message_of(world, policy);
}

}  // namespace

TEST_CASE("a fault of a policy ends a simulated run with its history", "[guard]") {
  for (const Fault& fault : faults()) {
    INFO(fault.name);
    FaultyPolicy policy(fault);
    const std::string message = simulated(policy);
    CHECK_THAT(message, Catch::Matchers::ContainsSubstring(fault.complaint));
    CHECK(shows_history(fault, message));
  }
}

TEST_CASE("a fault of a policy ends a run in real time with its history", "[guard]") {
  for (const Fault& fault : faults()) {
    if (!fault.needs.missing_from(RealTimeWorld::kCapabilities).none()) continue;
    INFO(fault.name);
    FaultyPolicy policy(fault);
    const bool both = !fault.complaint_in_real.empty();  // jobs must have arrived
    const std::string message = real(policy, both ? 50_ns : 10_s);
    CHECK_THAT(message, Catch::Matchers::ContainsSubstring(both ? fault.complaint_in_real : fault.complaint));
    CHECK(shows_history(fault, message));
  }
}

TEST_CASE("memory is nothing to ask about in a world that does not move it", "[guard]") {
  const Fault fault{"memory", {}, [](Time, const View& v, Orders&) { (void)v.memory(); }, "", ""};
  FaultyPolicy policy(fault);
  CHECK_THAT(real(policy, 10_s), Catch::Matchers::ContainsSubstring("this world does not move memory"));
}

TEST_CASE("a world goes on after a run that a policy broke off", "[guard]") {
  const Workload workload = two(50_ns);
  const Device device = small_device();
  const auto mechanism = mechanism_from("flag-copy");
  const auto world = Worlds::named("sim", "test", "world").make({workload, device, *mechanism});
  const auto runs = [&] {
    const ChosenPolicy chosen = policy_from("fcfs");
    NoTrace sink;
    const std::uint32_t order[] = {0, 1};
    return world->run(*chosen.entry->make(chosen.values), {}, order, sink);
  };
  const auto events = runs();
  for (const Fault& fault : faults()) {
    if (!fault.needs.none()) continue;
    FaultyPolicy policy(fault);
    message_of(*world, policy);
    CHECK(runs() == events);
  }
}

TEST_CASE("timers alone, once all jobs are over, end a run quietly", "[guard]") {
  const Fault fault{"ticks",
                    {},
                    [](Time now, const View& view, Orders& orders) {
                      const JobId a{ClientId{0}, 0};
                      if (now == Time{})
                        orders.launch(a, DeviceId{0}, BlockRange{{0}, view.job(a).current().block_tasks});
                      orders.wake_at(now + Duration{10});
                    },
                    "",
                    ""};
  FaultyPolicy policy(fault);
  Scenario scenario{{client("A", 0, 100)}};
  CHECK(play(scenario, policy).totals.finished == 1);
}

TEST_CASE("a call that does not return is noticed by its time, not by that of the machine", "[guard]") {
  std::atomic<bool> inside = false, back = false, interrupted = false;
  const Fault fault{"waits",
                    {},
                    [&](Time, const View&, Orders&) {
                      inside = true;
                      while (!back) std::this_thread::sleep_for(std::chrono::milliseconds(1));
                    },
                    "",
                    ""};
  std::vector<std::string> said;
  const auto look = [&](Duration interval) {
    for (const LongCall& call : PolicyWatch::look(interval))
      said.push_back((call.why == LongCall::Why::stuck ? "stuck: " : "interrupted: ") + call.message);
  };
  auto run = std::async(std::launch::async, [&] {
    WatchedRun watched(10_s, interrupted);
    watched.call_it("point 3, policy 'waits'");
    FaultyPolicy policy(fault);
    return simulated(policy, &watched);
  });
  while (!inside) std::this_thread::yield();
  look(1_s);  // the first that meets the call
  for (int i = 1; i < 60; ++i) look(1_s);
  CHECK(said.empty());  // no processor time to speak of, and not six times the limit
  look(1_s);
  REQUIRE(said.size() == 1);
  CHECK_THAT(
      said[0],
      Catch::Matchers::StartsWith(
          "stuck: point 3, policy 'waits': at 0 ns the policy has not returned from a call after 60 s"));
  CHECK_THAT(said[0], Catch::Matchers::ContainsSubstring("A job 0 kernel 0 launch 0: released"));
  look(300_ms);
  interrupted = true;
  look(300_ms);
  CHECK(said.size() == 1);  // soon is not yet
  look(300_ms);
  REQUIRE(said.size() == 2);
  CHECK_THAT(said[1], Catch::Matchers::StartsWith("interrupted: point 3"));
  back = true;
  run.wait();
}

TEST_CASE("a policy that is told often is not taken for one that is stuck", "[guard]") {
  std::atomic<int> calls = 0;
  const std::atomic<bool> interrupted = true;
  WatchedRun run(1_s, interrupted);
  for (int i = 0; i < 100; ++i) {
    run.begin_call();
    CHECK(PolicyWatch::look(10_s).empty());
    run.end_call();
    CHECK(PolicyWatch::look(10_s).empty());
  }
}

}  // namespace gangway::testing
