// Every kernel under every mechanism on CPU cores: whatever the evictions, each block-task is carried out
// exactly once and the outputs are right. tests/hw/cuda/test_cuda_device.cpp is the same for GPUs.
#include <atomic>
#include <random>

#include "hw/host/host_device.hpp"
#include "hw/kernels/cuda_problem.hpp"
#include "hw/kernels/host_problem.hpp"
#include "tests/catch.hpp"
#include "tests/hw/kernel_cases.hpp"
#include "tests/hw/mechanism_cases.hpp"
#include "tests/scenario.hpp"

namespace gangway::testing {
namespace {

using namespace literals;

constexpr KernelIndex kKernel{0, 0};
constexpr unsigned kWorkers = 3;

std::unique_ptr<HostDevice> cores(std::shared_ptr<const KernelCode> code, const std::string& mechanism,
                                  unsigned workers = kWorkers, std::uint64_t seed = 1) {
  Workload workload;
  workload.clients = {client("c", 0, code->block_tasks().count)};
  workload.clients[0].kernels[0].code = std::move(code);
  const auto cost = mechanism_from(mechanism);
  const RealDeviceEntry& host = RealDevices::named("host", "test", "device");
  return std::make_unique<HostDevice>(workload, workers, seed,
                                      real_half(*cost, host).on_host(cost->values()));
}

void wait_for_end(HostDevice& device) {
  while (!device.launches().gone()) device.relax();
}

BlockCount done(HostDevice& device) {
  wait_for_end(device);
  REQUIRE(device.launches().started());
  device.launches().ask_pending_work();
  return device.launches().pending_work().value();
}

// The whole kernel, with at most so many orders to leave, from before a launch's start to after its end.
// Where nothing calls a launch back, it is of some of the block-tasks.
void run_evicted(HostDevice& device, BlockCount all, int orders, bool evicts, std::mt19937& random) {
  for (BlockCount before; before < all;) {
    const auto left = static_cast<std::uint32_t>((all - before).count);
    const bool order = orders-- > 0;
    const BlockCount last =
        order && !evicts ? before + BlockCount{1 + static_cast<std::int64_t>(random() % left)} : all;
    device.launches().launch(kKernel, {before, last});
    if (order) {
      if (random() % 4 > 0) {
        const auto until = HostClock::now() + Duration{static_cast<std::int64_t>(random() % 60'000)};
        while (HostClock::now() < until && !device.launches().gone()) pause_briefly();
      }
      device.launches().evict();
    }
    const BlockCount now = done(device);
    REQUIRE(now >= before);
    REQUIRE(now <= last);
    if (!order || !evicts) REQUIRE(now == last);
    before = now;
  }
}

// Its first block-task takes a millisecond; the third one waits until it is let go.
class Gated : public KernelCode {
 public:
  struct Gate {
    std::atomic<bool> reached = false, open = false;
  };
  explicit Gated(Gate& gate) : gate_(gate) {}
  Dimensions grid() const override { return {kTasks, 1, 1}; }
  Dimensions block() const override { return {1, 1, 1}; }
  Bytes memory() const override { return {}; }
  std::unique_ptr<HostProblem> on_host(std::uint64_t) const override {
    return std::make_unique<Problem>(gate_);
  }
  std::unique_ptr<CudaProblem> on_cuda(std::uint64_t) const override { return nullptr; }

  static constexpr std::int64_t kTasks = 200;

 private:
  struct Problem : HostProblem {
    explicit Problem(Gate& g) : gate(g) {}
    void block_task(std::uint32_t index) override {
      if (index == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (index != 2) return;
      gate.reached = true;
      gate.reached.notify_one();
      gate.open.wait(false);
    }
    void poison() override {}
    std::string difference() const override { return ""; }
    Gate& gate;
  };
  Gate& gate_;
};

// How many block-tasks one worker does beside a proxy, when the order to leave comes in the third.
std::int64_t done_by_one(const std::string& mechanism) {
  Gated::Gate gate;
  const auto device = cores(std::make_shared<Gated>(gate), mechanism, 2);
  device->launches().launch(kKernel, {{0}, {Gated::kTasks}});
  gate.reached.wait(false);
  device->launches().evict();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // the proxy carries it on
  gate.open = true;
  gate.open.notify_one();
  return done(*device).count;
}

}  // namespace

// In parts, which can run at once: the thread sanitizer takes minutes for all of them.
TEMPLATE_TEST_CASE_SIG("on cores, outputs are right after any number of evictions", "[evictions]",
                       ((int part, int parts), part, parts), (0, 4), (1, 4), (2, 4), (3, 4)) {
  std::mt19937 random(1);
  const std::vector<std::string> names = Kernels::names();
  for (const std::string& mechanism : mechanisms_on("host"))
    for (std::size_t number = part; number < names.size(); number += parts) {
      const std::string& name = names[number];
      const std::uint64_t seed = fresh_seed();
      INFO(mechanism << ", " << name << ", input seed " << seed);
      const auto code = kernel_from(name, small_size(name));
      const auto device = cores(code, mechanism, kWorkers, seed);
      for (const int evictions : {0, 1, 50})
        for (const bool observe : {false, true}) {
          device->probes().observe(observe);
          device->memory().poison(kKernel);
          REQUIRE(device->memory().difference(kKernel) != "");
          run_evicted(*device, code->block_tasks(), evictions, evicts(mechanism), random);
          CHECK(device->memory().difference(kKernel) == "");
          if (!observe) continue;
          const auto counts = device->probes().observed().counts;
          CHECK(counts == std::vector<std::uint32_t>(static_cast<std::size_t>(code->block_tasks().count), 1));
        }
      device->memory().poison(kKernel);
      device->probes().launch_original(kKernel);
      wait_for_end(*device);
      CHECK(device->memory().difference(kKernel) == "");
    }
}

TEST_CASE("an order to leave is seen within a block-task, or not at all", "[evictions]") {
  for (const std::string& mechanism : mechanisms_on("host")) {
    INFO(mechanism);
    if (mechanism == "test-few-blocks" || mechanism == "proxy-adaptive") continue;  // of parameters
    CHECK(done_by_one(mechanism) >= 3);
    if (mechanism == "proxy") CHECK(done_by_one(mechanism) == 3);
    if (!evicts(mechanism)) CHECK(done_by_one(mechanism) == Gated::kTasks);
  }
  // Two workers: the other one may be at a block-task of its own, which takes no time.
  for (const char* mechanism : {"basic", "flag-copy"}) CHECK(done_by_one(mechanism) <= Gated::kTasks);
  CHECK(done_by_one("{name: test-few-blocks, params: {blocks: 1}}") == 3);
}

TEST_CASE("adaptive checking looks as often as its parameters say", "[evictions]") {
  // The first block-task takes a millisecond or more, and none after it anything, but the mean stays.
  CHECK(done_by_one("{name: proxy-adaptive, params: {L: 1 ms, r: 10}}") == 3);
  const std::int64_t printed =  // 30 ms: looks before the first two block-tasks, then every 30 or fewer
      done_by_one("{name: proxy-adaptive, params: {L: 3 ms, r: 10, interval: as-printed}}");
  CHECK(printed >= 3);
  CHECK(printed <= 61);
  CHECK(done_by_one("{name: proxy-adaptive, params: {L: 100 s, r: 1}}") == Gated::kTasks);
}

TEST_CASE("a proxy needs a worker beside itself", "[evictions]") {
  const auto device = cores(kernel_from("throttle", small_size("throttle")), "proxy", 1);
  CHECK_THROWS_AS(device->launches().launch(kKernel, {{0}, {10}}), std::logic_error);
  CHECK(device->settle(1_s));
}

TEST_CASE("slices may be of any block-tasks, in any order of kernels", "[evictions]") {
  const auto code = kernel_from("throttle", small_size("throttle"));
  const auto device = cores(code, "slice");
  device->probes().observe(true);
  device->launches().launch(kKernel, {{40}, {60}});
  CHECK(done(*device) == BlockCount{60});
  const auto counts = device->probes().observed().counts;
  for (std::size_t i = 0; i < counts.size(); ++i) CHECK(counts[i] == (i >= 40 && i < 60 ? 1u : 0u));
}

}  // namespace gangway::testing
