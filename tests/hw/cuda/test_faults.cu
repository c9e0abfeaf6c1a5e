// A kernel that faults: the run fails with CUDA's word for it. It takes the process's use of the GPU with it,
// so this runs by itself, gangway_gpu_tests "[fault]", and each mechanism in a process of its own.
#include <cstdlib>

#include "hw/cuda/cuda_device.hpp"
#include "hw/cuda/device_array.cuh"
#include "hw/cuda/device_facts.hpp"
#include "hw/executor.hpp"
#include "hw/kernels/host_problem.hpp"
#include "hw/program.hpp"
#include "tests/catch.hpp"
#include "tests/hw/cuda/gpu.hpp"
#include "tests/hw/mechanism_cases.hpp"
#include "tests/no_trace.hpp"
#include "tests/scenario.hpp"

namespace {

using namespace gangway;
using gangway::testing::NoTrace;

GANGWAY_KERNEL(write_nowhere, std::uint32_t* nowhere) {
  if (blockIdx.x == 5000) *nowhere = 1;
}

class Faulty : public FormedProblem<preemptible::Kernel<&write_nowhere>> {
 public:
  Faulty() : FormedProblem(10'000, 32) {}
  void launch(preemptible::Session& session, BlockRange range) const override {
    start(session, range, static_cast<std::uint32_t*>(nullptr));
  }
  void launch_original(preemptible::Session& session) const override {
    form().launch_original(session, static_cast<std::uint32_t*>(nullptr));
  }
  std::vector<OutputMemory> outputs() const override { return {}; }
  void poison() override {}
  std::string difference() const override { return {}; }
};

class FaultyCode : public KernelCode {
 public:
  Dimensions grid() const override { return {10'000, 1, 1}; }
  Dimensions block() const override { return {32, 1, 1}; }
  Bytes memory() const override { return {}; }
  std::unique_ptr<HostProblem> on_host(std::uint64_t) const override { return nullptr; }
  std::unique_ptr<CudaProblem> on_cuda(std::uint64_t) const override { return std::make_unique<Faulty>(); }
};

constexpr const char* kChosen = "GANGWAY_FAULT_MECHANISM";

}  // namespace

TEST_CASE("a kernel that faults fails the run under every mechanism", "[.][fault]") {
  if (!gangway::testing::have_gpu()) return;
  for (const std::string& mechanism : gangway::testing::mechanisms_on("cuda")) {
    INFO(mechanism);
    setenv(kChosen, mechanism.c_str(), 1);
    int refused = 0;
    CHECK(run_program({"/proc/self/exe", "[fault-of-one]", "-w", "NoTests"}, refused) == 0);
    CHECK(refused == 0);
  }
}

TEST_CASE("a kernel that faults fails the run", "[.][fault-of-one]") {
  if (!gangway::testing::have_gpu()) return;
  Workload workload;
  Client client;
  client.name = "faulty";
  Kernel kernel;
  kernel.name = "faulty";
  kernel.block_tasks = {10'000};
  kernel.time = Duration{1'000'000};
  kernel.code = std::make_shared<FaultyCode>();
  client.kernels.push_back(kernel);
  workload.clients.push_back(client);
  Device device = describe_cuda_device(0);
  device.polls = PollCosts{};
  const char* chosen = std::getenv(kChosen);
  const auto mechanism = gangway::testing::usual_mechanism(chosen != nullptr ? chosen : "flag-copy");
  std::string what;
  try {
    const WorldSetup setup{workload, device, *mechanism};
    RealTimeWorld world(setup, make_cuda_device(setup));
    const ChosenPolicy chosen = gangway::testing::policy_from("fcfs");
    const std::uint32_t order[] = {0};
    NoTrace sink;
    world.run(*chosen.entry->make(chosen.values), {}, order, sink);
  } catch (const RunError& error) {
    what = error.what();
  }
  CHECK(what.find("the GPU stopped: an illegal memory access") != std::string::npos);
}
