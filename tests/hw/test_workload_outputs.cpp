// A workload of real kernels in real time: whatever a policy does to them, their outputs are right.
#include <fstream>
#include <numeric>
#include <sstream>

#include "hw/executor.hpp"
#include "hw/host/host_device.hpp"
#include "tests/catch.hpp"
#include "tests/hw/kernel_cases.hpp"
#include "tests/scenario.hpp"
#include "workloads/source.hpp"

namespace gangway::testing {
namespace {

Workload workload_of_files(const std::string& name) {
  std::ifstream file(std::string(GANGWAY_SOURCE_DIR) + "/workloads/" + name + ".yaml");
  std::stringstream text;
  text << file.rdbuf();
  const Node node = parse_yaml(text.str(), name);
  return read_clients(Field(node, "workload"));
}

struct Counts : TraceSink {
  void record(const Record& r) override {
    finished += r.mark == Mark::finished;
    evictions += r.mark == Mark::evict_ordered;
  }
  std::size_t finished = 0, evictions = 0;
};

}  // namespace

TEST_CASE("nine applications on CPU cores are right under fcfs, frs and rr") {
  const Workload workload = workload_of_files("host-applications");
  REQUIRE(workload.clients.size() == 9);
  const Device device = small_device();
  const auto mechanism = mechanism_from("flag-copy");
  const std::uint64_t seed = fresh_seed();
  auto cores = std::make_unique<HostDevice>(workload, 2, seed);
  KernelMemory& memory = cores->memory();
  RealTimeWorld world({.workload = workload, .device = device, .mechanism = *mechanism}, std::move(cores));
  std::vector<std::uint32_t> order(workload.clients.size());
  std::iota(order.begin(), order.end(), 0u);
  std::size_t evictions = 0;
  for (const std::string policy : {"fcfs", "frs", "rr"}) {
    INFO(policy << ", input seed " << seed);
    std::size_t kernels = 0;
    const auto each_kernel = [&](const auto& what) {
      for (std::uint32_t client = 0; client < workload.clients.size(); ++client)
        for (std::uint32_t k = 0; k < workload.clients[client].kernels.size(); ++k)
          what(KernelIndex{client, k});
    };
    each_kernel([&](KernelIndex k) { memory.poison(k); });
    const ChosenPolicy chosen = policy_from(policy);
    Counts counts;
    world.run(*chosen.entry->make(chosen.values), {}, order, counts);
    CHECK(counts.finished == workload.clients.size());
    each_kernel([&](KernelIndex k) {
      INFO(workload.clients[k.client].kernels[k.kernel].name);
      CHECK(memory.difference(k) == "");
      ++kernels;
    });
    CHECK(kernels == 13);
    evictions += counts.evictions;
  }
  CHECK(evictions > 0);
}

}  // namespace gangway::testing
