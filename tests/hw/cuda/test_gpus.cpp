// One kernel on several GPUs: the outputs come together right, and kernels that compute take half as long on
// two.
#include <chrono>
#include <cstdio>
#include <tuple>

#include "hw/cuda/cuda_device.hpp"
#include "models/mechanism.hpp"
#include "tests/catch.hpp"
#include "tests/hw/cuda/gpu.hpp"
#include "tests/hw/kernel_cases.hpp"
#include "tests/hw/mechanism_cases.hpp"

using namespace gangway;
using gangway::testing::have_gpu;
using gangway::testing::kernel_from;

namespace {

bool have_two() {
  static const bool have = [] {
    if (!have_gpu()) return false;
    try {
      describe_cuda_device(1);
      return true;
    } catch (const RunError&) {
      std::printf("skipped: there is one GPU, and these tests want two\n");
      return false;
    }
  }();
  return have;
}

struct OnGpus {
  OnGpus(const std::string& name, const std::string& size, std::int64_t gpus, std::uint32_t clients = 1)
      : mechanism(gangway::testing::usual_mechanism("slice")), several(describe_cuda_device(0)) {
    Kernel kernel;
    kernel.name = "kernel";
    kernel.code = kernel_from(name, size);
    kernel.block_tasks = tasks = kernel.code->block_tasks();
    Client client;
    client.name = "client";
    client.kernels = {kernel};
    workload.clients.assign(clients, client);
    several.gpus = gpus;
    WorldSetup setup{workload, several, *mechanism};
    setup.input_seed = gangway::testing::fresh_seed();
    device = gpus == 1 ? make_cuda_device(setup) : make_cuda_gpus(setup);
  }
  // In so many launches; returns how long they took together.
  double run(std::int64_t slices) {
    const auto began = std::chrono::steady_clock::now();
    for (std::int64_t s = 0; s < slices; ++s) {
      const BlockRange range{{tasks.count * s / slices}, {tasks.count * (s + 1) / slices}};
      if (range.first == range.last) continue;
      slice({0, 0}, range);
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  }
  void slice(KernelIndex kernel, const BlockRange& range) {
    const auto began = std::chrono::steady_clock::now();
    device->launches().launch(kernel, range);
    while (!device->launches().gone()) {
      REQUIRE(std::chrono::steady_clock::now() - began < std::chrono::seconds(60));
    }
    CHECK(device->launches().started());
    device->launches().ask_pending_work();
    std::optional<BlockCount> done;
    while (!done) done = device->launches().pending_work();
    CHECK(*done == range.last);
  }
  std::unique_ptr<Mechanism> mechanism;
  Device several;
  Workload workload;
  BlockCount tasks;
  std::unique_ptr<RealDevice> device;
};

double best_of(OnGpus& on, int times) {
  double best = 1e9;
  for (int t = 0; t < times; ++t) best = std::min(best, on.run(1));
  return best;
}

TEST_CASE("slices of two clients that take turns leave both outputs right on several GPUs", "[gpu][gpus]") {
  if (!have_two()) return;
  for (const KernelEntry& entry : Kernels::all()) {
    INFO(entry.name);
    OnGpus on(entry.name, gangway::testing::small_size(entry.name), 2, 2);
    for (const std::uint32_t client : {0u, 1u}) on.device->memory().poison({client, 0});
    constexpr std::int64_t kSlices = 4;
    for (std::int64_t s = 0; s < kSlices; ++s) {
      const BlockRange range{{on.tasks.count * s / kSlices}, {on.tasks.count * (s + 1) / kSlices}};
      if (range.first == range.last) continue;
      for (const std::uint32_t client : {0u, 1u}) on.slice({client, 0}, range);
    }
    for (const std::uint32_t client : {0u, 1u}) CHECK(on.device->memory().difference({client, 0}) == "");
  }
}

TEST_CASE("every kernel's outputs are right after its block-tasks ran on several GPUs", "[gpu][gpus]") {
  if (!have_two()) return;
  for (const KernelEntry& entry : Kernels::all()) {
    INFO(entry.name);
    OnGpus on(entry.name, gangway::testing::small_size(entry.name), 2);
    for (const std::int64_t slices : {1, 3, 2}) {  // again and again: what an earlier run left must not show
      on.device->memory().poison({0, 0});
      on.run(slices);
      CHECK(on.device->memory().difference({0, 0}) == "");
    }
  }
}

TEST_CASE("what one GPU has not brought is missed", "[gpu][gpus]") {
  if (!have_two()) return;
  OnGpus on("VA", gangway::testing::small_size("VA"), 2);
  on.device->memory().poison({0, 0});
  on.device->launches().launch({0, 0}, {{0}, {on.tasks.count - 1}});  // not the last: nothing is merged yet
  while (!on.device->launches().gone()) continue;
  CHECK(on.device->memory().difference({0, 0}) != "");
}

TEST_CASE("a kernel that computes takes half as long on two GPUs, and the merge", "[gpu][gpus][time]") {
  if (!have_two()) return;
  for (const auto& [name, size, least] :
       {std::tuple("MM", "{n: 6144, depth: 6144}", 1.7), std::tuple("PF", "{columns: 40000000}", 0.0),
        std::tuple("VA", "{elements: 400000000}", 0.0)}) {
    OnGpus one(name, size, 1);
    one.run(1);
    const double alone = best_of(one, 5);
    one.device.reset();
    OnGpus two(name, size, 2);
    two.run(1);
    const double together = best_of(two, 5);
    std::printf("%s %s: %.3f ms on one GPU, %.3f ms on two with the merge: %.2f times as fast\n", name, size,
                alone * 1e3, together * 1e3, alone / together);
    CHECK(two.device->memory().difference({0, 0}) == "");
    CHECK(alone / together > least);
  }
}

TEST_CASE("more GPUs than there are, or a mechanism that evicts, is refused", "[gpu][gpus]") {
  if (!have_two()) return;
  CHECK_THROWS_AS(OnGpus("VA", gangway::testing::small_size("VA"), 64), RunError);
}

}  // namespace
