// Mechanisms as one thing with two halves: what a real half changes on a device, what devices refuse.
#include <atomic>

#include "hw/host/host_device.hpp"
#include "hw/kernels/cuda_problem.hpp"
#include "hw/real_time_refusals.hpp"
#include "models/mechanism/flag.hpp"
#include "tests/catch.hpp"
#include "tests/scenario.hpp"

namespace gangway::testing {
namespace {

using namespace literals;

// The simulated half of a mechanism of these tests alone: as flag-copy, with blocks left out.
class FewBlocks : public FlagMechanism {
 public:
  using FlagMechanism::FlagMechanism;
};

std::vector<Parameter> few_blocks_parameters() {
  auto all = FlagMechanism::parameters();
  all.push_back({"blocks", "persistent blocks of a launch", Parameter::Integer{1, 1, 1024}});
  return all;
}

const MechanismRegistration<FewBlocks> registered_simulated{
    "test-few-blocks", "for tests", PreemptionLevel::block_task, few_blocks_parameters()};

class FewBlocksOnHost : public HostMechanism {
 public:
  explicit FewBlocksOnHost(const ParameterValues& values)
      : blocks_(static_cast<std::uint32_t>(values.integer("blocks"))) {}
  std::uint32_t blocks(std::uint32_t room, std::uint32_t) const override { return std::min(room, blocks_); }

 private:
  std::uint32_t blocks_;
};

const RealMechanismRegistration<FewBlocksOnHost, void> registered_real{
    {"test-few-blocks", {"blocks"}, {"useful"}}};

const RealDeviceEntry& host() { return RealDevices::named("host", "test", "device"); }
const RealDeviceEntry& cuda() { return RealDevices::named("cuda", "test", "device"); }

// Counts how many of its block-tasks are under way at once.
class Crowd : public KernelCode {
 public:
  explicit Crowd(std::atomic<int>& most) : most_(most) {}
  Dimensions grid() const override { return {400, 1, 1}; }
  Dimensions block() const override { return {1, 1, 1}; }
  Bytes memory() const override { return {}; }
  std::unique_ptr<HostProblem> on_host(std::uint64_t) const override {
    return std::make_unique<Problem>(most_);
  }
  std::unique_ptr<CudaProblem> on_cuda(std::uint64_t) const override { return nullptr; }

 private:
  struct Problem : HostProblem {
    explicit Problem(std::atomic<int>& m) : most(m) {}
    void block_task(std::uint32_t) override {
      const int now = ++here;
      for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) continue;
      for (const auto began = HostClock::now(); HostClock::now() - began < 20_us;) continue;
      --here;
    }
    void poison() override {}
    std::string difference() const override { return ""; }
    std::atomic<int>& most;
    std::atomic<int> here = 0;
  };
  std::atomic<int>& most_;
};

std::string refusal(const std::string& mechanism, const RealDeviceEntry& device) {
  try {
    real_half(*mechanism_from(mechanism), device);
    return "";
  } catch (const InputError& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("a mechanism changes the number of persistent blocks") {
  constexpr unsigned kWorkers = 4;
  for (const int blocks : {1, 2, 3, 4, 9}) {
    std::atomic<int> most = 0;
    Workload workload;
    workload.clients = {client("crowd", 0, 400)};
    workload.clients[0].kernels[0].block_tasks = {400};
    workload.clients[0].kernels[0].code = std::make_shared<Crowd>(most);
    const auto mechanism =
        mechanism_from("{name: test-few-blocks, params: {blocks: " + std::to_string(blocks) + "}}");
    HostDevice device(workload, kWorkers, 1, real_half(*mechanism, host()).on_host(mechanism->values()));
    const int expected = std::min<int>(blocks, kWorkers);
    CHECK(device.probes().blocks({0, 0}) == expected);
    device.probes().observe(true);
    BlockCount done;
    for (int evictions = 0; done < BlockCount{400}; ++evictions) {
      device.launches().launch({0, 0}, {done, {400}});
      if (evictions < 20) {
        while (!device.launches().started()) device.relax();
        device.launches().evict();
      }
      while (!device.launches().gone()) device.relax();
      done = device.launches().pending_work().value();
    }
    CHECK(most >= 1);
    CHECK(most <= expected);
    CHECK(device.probes().observed().counts == std::vector<std::uint32_t>(400, 1));
  }
}

TEST_CASE("a mechanism that asks for more blocks than fit is a fault of the program") {
  struct TooMany : HostMechanism {
    std::uint32_t blocks(std::uint32_t room, std::uint32_t) const override { return room + 1; }
  };
  Workload workload;
  workload.clients = {client("c", 0, 10)};
  HostDevice device(workload, 2, 1, std::make_unique<TooMany>());
  CHECK_THROWS_AS(device.launches().launch({0, 0}, {{0}, {10}}), std::logic_error);
  CHECK(device.settle(1_s));
}

TEST_CASE("every real half belongs to a simulated one and knows its parameters") {
  for (const RealMechanismEntry& half : RealMechanisms::all()) {
    INFO(half.name);
    const MechanismEntry& mechanism = Mechanisms::named(half.name, "test", "mechanism");
    for (const auto* names : {&half.obeyed, &half.descriptive})
      for (const std::string& name : *names)
        CHECK(std::count_if(mechanism.parameters.begin(), mechanism.parameters.end(),
                            [&](const Parameter& p) { return p.name == name; }) == 1);
    CHECK((half.on_host != nullptr || half.on_cuda != nullptr));
  }
}

TEST_CASE("devices have the mechanisms that are registered for them") {
  CHECK(mechanisms_of(host()) == std::vector<std::string>{"basic", "flag-copy", "microkernel", "proxy",
                                                          "proxy-adaptive", "slice", "test-few-blocks",
                                                          "write-value"});
  CHECK(mechanisms_of(cuda()) == std::vector<std::string>{"basic", "flag-copy", "microkernel", "proxy",
                                                          "proxy-adaptive", "slice", "write-value"});
  RealDeviceEntry slices = host();
  slices.offers = PreemptionLevel::slice;
  CHECK(mechanisms_of(slices) == std::vector<std::string>{"microkernel", "slice"});
}

TEST_CASE("a device refuses the mechanisms that it cannot carry out") {
  const std::string expected =
      "expected one of basic, flag-copy, microkernel, proxy, proxy-adaptive, slice, write-value";
  for (const std::string name : {"ideal", "test-few-blocks"})
    CHECK(refusal(name, cuda())
              .starts_with("--world cuda: key 'mechanism': found '" + name + "', " + expected));
  for (const RealDeviceEntry* device : {&host(), &cuda()})
    for (const std::string& name : mechanisms_of(*device)) CHECK(refusal(name, *device).empty());
}

TEST_CASE("a device refuses mechanisms that need finer preemption than it offers") {
  RealDeviceEntry device = host();
  device.name = "coarse";
  device.offers = PreemptionLevel::slice;
  CHECK(refusal("flag-copy", device) ==
        "--world coarse: key 'mechanism': found 'flag-copy', which needs preemption between block-tasks, "
        "expected a mechanism that needs no more than preemption between slices");
  device.offers = PreemptionLevel::whole;
  CHECK(refusal("write-value", device).find("no more than preemption between whole kernels") !=
        std::string::npos);
}

TEST_CASE("a device refuses parameters that it cannot obey, and takes those that only describe it") {
  for (const std::string name : {"flag-copy", "write-value", "test-few-blocks"}) {
    INFO(name);
    const auto given = [&](const std::string& params) {
      return refusal("{name: " + name + ", params: {" + params + "}}", host());
    };
    CHECK(
        given("delay_scale: 5").find("delay_scale': found '5', expected 1, because the world host cannot") !=
        std::string::npos);
    CHECK_FALSE(given("delay_scale: 0, useful: 0.7").empty());
    CHECK(given("delay_scale: 1").empty());
    CHECK(given("useful: 0.734").empty());
  }
  CHECK(refusal("{name: test-few-blocks, params: {blocks: 7}}", host()).empty());
}

TEST_CASE("EffiSha's mechanisms obey how often blocks look, and have no host thread to be signalled") {
  for (const RealDeviceEntry* device : {&host(), &cuda()}) {
    for (const std::string name : {"basic", "proxy", "proxy-adaptive"}) {
      CHECK(refusal("{name: " + name + ", params: {useful: 0.7, relaunch: signal}}", *device).empty());
      CHECK(refusal("{name: " + name + ", params: {relaunch: wait}}", *device)
                .find("relaunch': found 'wait', expected signal, because the world") != std::string::npos);
      CHECK_FALSE(refusal("{name: " + name + ", params: {signal_after: 1 us}}", *device).empty());
    }
    CHECK(refusal(
              "{name: proxy-adaptive, params: {r: 3, L: 2 ms, interval: as-printed, first_block_task: 1.2}}",
              *device)
              .empty());
    CHECK(refusal("{name: slice, params: {slice_cost: 6 us}}", *device).empty());
    CHECK(refusal("{name: microkernel, params: {message: 0 ns, registration: 1 ms}}", *device).empty());
  }
}

TEST_CASE("parameters say how far apart looks are") {
  const auto interval = [](const std::string& params) {
    const auto mechanism = mechanism_from("{name: proxy-adaptive, params: {" + params + "}}");
    const auto half = real_half(*mechanism, host()).on_host(mechanism->values());
    CHECK(half->polling() == PollingForm::proxy);
    return half->look_interval();
  };
  CHECK(interval("L: 1 ms, r: 10") == 100_us);
  CHECK(interval("L: 1 ms, r: 7") == Duration{142'857});
  CHECK(interval("L: 1 ms, r: 10, interval: as-printed") == 10_ms);
  CHECK(interval("L: 1 us, r: 1000000") == Duration{1});
}

TEST_CASE("a proxy takes the place of a block only where all are in use") {
  const auto mechanism = mechanism_from("proxy");
  const auto half = real_half(*mechanism, host()).on_host(mechanism->values());
  CHECK(half->least_room() == 2);
  CHECK(half->blocks(2, 100) == 2);
  CHECK(half->blocks(8, 100) == 8);
  CHECK(half->blocks(8, 3) == 4);
  CHECK(half->blocks(8, 1) == 2);
  CHECK(half->blocks(1, 5) > 1);  // which the device refuses
}

}  // namespace gangway::testing
