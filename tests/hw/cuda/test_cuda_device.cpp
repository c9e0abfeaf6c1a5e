// Every kernel under every mechanism on a real GPU: whatever the evictions, each block-task is carried out
// exactly once and the outputs are right.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <random>
#include <stdexcept>
#include <vector>

#include "hw/cuda/cuda_device.hpp"
#include "models/mechanism.hpp"
#include "tests/catch.hpp"
#include "tests/hw/cuda/gpu.hpp"
#include "tests/hw/kernel_cases.hpp"
#include "tests/hw/mechanism_cases.hpp"

using namespace gangway;
using namespace gangway::literals;
using gangway::testing::evicts;
using gangway::testing::have_gpu;
using gangway::testing::kernel_from;
using gangway::testing::mechanisms_on;
using gangway::testing::small_size;
using Clock = std::chrono::steady_clock;

namespace {

// Long enough that evictions meet them at all stages; the small size where a kernel has no line here.
std::string medium_size(const std::string& name) {
  if (name == "BS") return "{options: 20000003}";
  if (name == "HST256") return "{elements: 50000001}";
  if (name == "MM") return "{n: 1500, depth: 320}";
  if (name == "PF") return "{columns: 4000037}";
  if (name == "RED") return "{elements: 60000003}";
  if (name == "SPMV") return "{rows: 40003}";
  if (name == "VA") return "{elements: 40000003}";
  if (name.starts_with("conv_") || name.starts_with("cedd_")) return "{width: 5113, height: 5107}";
  if (name == "throttle") return "{block_tasks: 30000, time: 10 us}";
  return small_size(name);
}

// Mechanisms are sections, so that one can be asked for: gangway_gpu_tests "[outputs]" -c basic.
template <typename Check>
void under_every_mechanism(Check check) {
  for (const std::string& mechanism : mechanisms_on("cuda")) SECTION(mechanism) {
      check(mechanism);
    }
}

// One client with one kernel, and the device that runs it.
class Bench {
 public:
  Bench(std::shared_ptr<const KernelCode> code, const std::string& mechanism)
      : mechanism_(gangway::testing::usual_mechanism(mechanism)), evicts_(evicts(mechanism)) {
    Client client;
    client.name = "client";
    client.copy_in = client.copy_out = {10'000'000};
    Kernel kernel;
    kernel.name = "kernel";
    kernel.block_tasks = {5000};
    kernel.time = 1_ms;
    kernel.code = std::move(code);
    block_tasks = kernel.code ? kernel.code->block_tasks() : kernel.block_tasks;
    client.kernels.push_back(kernel);
    workload_.clients.push_back(client);
    device_ = describe_cuda_device(0);
    WorldSetup setup{workload_, device_, *mechanism_};
    setup.input_seed = seed = gangway::testing::fresh_seed();
    device = make_cuda_device(setup);
  }

  void until(const char* what, const std::function<bool()>& condition) const {
    const auto give_up = Clock::now() + std::chrono::seconds(20);
    while (!condition()) {
      if (Clock::now() < give_up) continue;
      const std::string fault = device->fault();
      throw std::runtime_error(std::string("waited 20 s for ") + what + " " + fault);
    }
  }
  BlockCount done() const {
    until("the last block", [&] { return device->launches().gone(); });
    device->launches().ask_pending_work();
    std::optional<BlockCount> done;
    until("pending work", [&] { return (done = device->launches().pending_work()).has_value(); });
    return *done;
  }

  bool can_evict() const { return evicts_; }

  std::unique_ptr<RealDevice> device;
  BlockCount block_tasks;
  std::uint64_t seed = 0;  // of the inputs

 private:
  Workload workload_;
  Device device_;
  std::unique_ptr<Mechanism> mechanism_;
  bool evicts_;
};

constexpr KernelIndex kKernel{0, 0};

// Runs the whole kernel with at most `evictions` evictions at random moments; how many there were. Where
// nothing calls a launch back, it is of some of the block-tasks.
int run_evicted(const Bench& bench, int evictions, std::mt19937& random) {
  int evicted = 0;
  for (BlockCount done; done < bench.block_tasks;) {
    BlockCount last = bench.block_tasks;
    if (!bench.can_evict() && evicted < evictions)
      last = done + BlockCount{1 + static_cast<std::int64_t>(
                                       random() % static_cast<std::uint64_t>((last - done).count))};
    bench.device->launches().launch(kKernel, {done, last});
    if (evicted < evictions) {
      // From before its start to after its end.
      if (random() % 4 != 0) {
        bench.until("the first block", [&] { return bench.device->launches().started(); });
        const auto moment = Clock::now() + std::chrono::microseconds(random() % 60);
        while (Clock::now() < moment) continue;
      }
      bench.device->launches().evict();
      ++evicted;
    }
    const BlockCount now = bench.done();
    CHECK(bench.device->launches().started());
    CHECK(now >= done);
    CHECK(now <= last);
    if (!bench.can_evict()) CHECK(now == last);
    done = now;
  }
  return evicted;
}

}  // namespace

TEST_CASE("outputs are right after any number of evictions", "[gpu][outputs]") {
  if (!have_gpu()) return;
  under_every_mechanism([](const std::string& mechanism) {
    std::mt19937 random(1);
    for (const std::string& name : Kernels::names()) {
      const Bench bench(kernel_from(name, medium_size(name)), mechanism);
      for (const int evictions : {0, 1, 50}) {
        INFO(mechanism << ", " << name << ", " << evictions << " evictions, input seed " << bench.seed);
        int left = evictions;
        do {
          bench.device->memory().poison(kKernel);
          REQUIRE(!bench.device->memory().difference(kKernel).empty());
          bench.device->probes().observe(true);
          left -= run_evicted(bench, left, random);
          CHECK(bench.device->memory().difference(kKernel).empty());
          const auto counts = bench.device->probes().observed().counts;
          CHECK(counts.size() == static_cast<std::size_t>(bench.block_tasks.count));
          CHECK(std::all_of(counts.begin(), counts.end(), [](std::uint32_t n) { return n == 1; }));
          bench.device->probes().observe(false);
          bench.device->memory().poison(kKernel);
          run_evicted(bench, std::min(evictions, 5), random);
          CHECK(bench.device->memory().difference(kKernel).empty());
        } while (left > 0);
      }
      CHECK(bench.device->fault().empty());
      CHECK(bench.device->settle(10_s));
    }
  });
}

// Little enough for compute-sanitizer, which makes everything a hundred times slower.
TEST_CASE("both forms of every kernel at small sizes, evicted a few times", "[gpu][small]") {
  if (!have_gpu()) return;
  under_every_mechanism([](const std::string& mechanism) {
    std::mt19937 random(2);
    for (const std::string& name : Kernels::names()) {
      INFO(mechanism << ", " << name);
      const Bench bench(kernel_from(name, small_size(name)), mechanism);
      bench.device->memory().poison(kKernel);
      bench.device->probes().launch_original(kKernel);
      bench.until("the end", [&] { return bench.device->launches().gone(); });
      CHECK(bench.device->memory().difference(kKernel).empty());
      for (const bool observe : {false, true}) {
        bench.device->probes().observe(observe);
        bench.device->memory().poison(kKernel);
        run_evicted(bench, 3, random);
        CHECK(bench.device->memory().difference(kKernel).empty());
      }
    }
  });
}

TEST_CASE("the original form gives the same, and both forms are timed", "[gpu]") {
  if (!have_gpu()) return;
  for (const std::string& name : Kernels::names()) {
    INFO(name);
    const Bench bench(kernel_from(name, medium_size(name)), "write-value");
    bench.device->memory().poison(kKernel);
    bench.device->probes().launch_original(kKernel);
    bench.until("the first block", [&] { return bench.device->launches().started(); });
    bench.until("the end", [&] { return bench.device->launches().gone(); });
    CHECK(bench.device->memory().difference(kKernel).empty());
    const Duration original = bench.device->probes().device_time();
    bench.device->launches().launch(kKernel, {{0}, bench.block_tasks});
    CHECK(bench.done() == bench.block_tasks);
    const Duration persistent = bench.device->probes().device_time();
    CHECK(original > 10_us);
    CHECK(persistent > 10_us);
    CHECK(persistent.ns < 3 * original.ns);
    CHECK(original.ns < 3 * persistent.ns);
    CHECK(bench.device->probes().blocks(kKernel) >= 1);
    CHECK(bench.device->probes().blocks(kKernel) <= bench.block_tasks.count);
  }
}

TEST_CASE("observed lengths are those of the last launch", "[gpu]") {
  if (!have_gpu()) return;
  const Bench bench(kernel_from("throttle", "{block_tasks: 2000, time: 20 us}"), "flag-copy");
  bench.device->probes().observe(true);
  bench.device->launches().launch(kKernel, {{500}, {1700}});
  CHECK(bench.done().count == 1700);
  const auto observed = bench.device->probes().observed();
  CHECK(observed.lengths.size() == 1200);
  for (const Duration length : observed.lengths) {
    CHECK(length >= 20_us);
    CHECK(length < 1_ms);
  }
  for (std::size_t i = 0; i < observed.counts.size(); ++i)
    CHECK(observed.counts[i] == (i >= 500 && i < 1700 ? 1u : 0u));
}

TEST_CASE("an eviction after the end harms neither that launch nor the next", "[gpu]") {
  if (!have_gpu()) return;
  under_every_mechanism([](const std::string& mechanism) {
    const Bench bench(kernel_from("throttle", "{block_tasks: 100, time: 5 us}"), mechanism);
    for (int i = 0; i < 200; ++i) {
      bench.device->launches().launch(kKernel, {{0}, {100}});
      if (i % 2 == 0) bench.until("the end", [&] { return bench.device->launches().gone(); });
      bench.device->launches().evict();
      const BlockCount done = bench.done();
      if (i % 2 == 0) CHECK(done.count == 100);
      bench.device->launches().evict();
      bench.device->launches().launch(kKernel, {{0}, {100}});
      CHECK(bench.done().count == 100);
    }
  });
}

TEST_CASE("an order to leave is obeyed before the launch is over, wherever it can be", "[gpu]") {
  if (!have_gpu()) return;
  under_every_mechanism([](const std::string& mechanism) {
    // 20 us each, for far longer than any order takes.
    const Bench bench(kernel_from("throttle", "{block_tasks: 20000000, time: 20 us}"), mechanism);
    const BlockCount last{bench.can_evict() ? bench.block_tasks.count : 20'000};
    std::vector<std::int64_t> delays;
    for (int i = 0; i < 50; ++i) {
      bench.device->launches().launch(kKernel, {{0}, last});
      bench.until("the first block", [&] { return bench.device->launches().started(); });
      for (const auto moment = Clock::now() + std::chrono::microseconds(300); Clock::now() < moment;)
        continue;
      const auto ordered = Clock::now();
      bench.device->launches().evict();
      bench.until("the last block", [&] { return bench.device->launches().gone(); });
      delays.push_back(std::chrono::nanoseconds(Clock::now() - ordered).count());
      const BlockCount done = bench.done();
      CHECK(done.count > 0);
      CHECK((done < last) == bench.can_evict());
    }
    std::sort(delays.begin(), delays.end());
    std::printf("%s: gone %.1f us after the order (median), %.1f at most, in block-tasks of 20 us\n",
                mechanism.c_str(), static_cast<double>(delays[25]) / 1e3,
                static_cast<double>(delays[49]) / 1e3);
    // Every block's read of host memory takes its turn under `basic`; adaptive checks are 0.1 ms apart.
    if (bench.can_evict()) CHECK(delays[25] < 20'000'000);
  });
}

TEST_CASE("copies in both directions end while a kernel runs", "[gpu]") {
  if (!have_gpu()) return;
  const Bench bench(nullptr, "flag-copy");  // without code: a throttle
  bench.device->launches().launch(kKernel, {{0}, bench.block_tasks});
  bench.device->copies().copy(CopyDirection::to_device, {10'000'000});
  bench.device->copies().copy(CopyDirection::to_host, {10'000'000});
  bench.until("the copy to the device",
              [&] { return bench.device->copies().copied(CopyDirection::to_device); });
  bench.until("the copy to the host", [&] { return bench.device->copies().copied(CopyDirection::to_host); });
  CHECK(bench.done() == bench.block_tasks);
  CHECK(bench.device->probes().device_time() > 900_us);
  CHECK(bench.device->probes().device_time() < 3_ms);
}

TEST_CASE("a kernel that does not end in time is left alone", "[gpu]") {
  if (!have_gpu()) return;
  under_every_mechanism([](const std::string& mechanism) {
    Bench bench(kernel_from("throttle", "{block_tasks: 1, time: 500 ms}"), mechanism);
    bench.device->launches().launch(kKernel, {{0}, {1}});
    // A block that has not begun would heed the order.
    bench.until("the first block", [&] { return bench.device->launches().started(); });
    bench.device->launches().evict();
    CHECK(!bench.device->settle(10_ms));
    const auto begin = Clock::now();
    bench.device.reset();
    CHECK(Clock::now() - begin < std::chrono::milliseconds(100));
  });
}

TEST_CASE("more than the device's memory is refused in one line", "[gpu]") {
  if (!have_gpu()) return;
  const auto code = kernel_from("VA", "{elements: 17179869184, per_thread: 1024}");  // 192 GiB
  if (describe_cuda_device(0).memory > code->memory()) return;
  under_every_mechanism([&](const std::string& mechanism) {
    std::string why;
    try {
      const Bench bench(code, mechanism);
    } catch (const RunError& error) {
      why = error.what();
    }
    CHECK(why.find("out of device memory: asked for 64 GiB") == 0);
    CHECK(why.find('\n') == std::string::npos);
  });
}

TEST_CASE("a mechanism that is only simulated is refused", "[gpu]") {
  if (!have_gpu()) return;
  CHECK_THROWS_AS(Bench(kernel_from("throttle", "{}"), "ideal"), InputError);
}
