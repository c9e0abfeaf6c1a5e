// Native clients on a GPU: what its own clock says of blocks and copies. Skipped without one.
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "hw/cuda/native_player.hpp"
#include "hw/mps_daemon.hpp"
#include "hw/native/plan.hpp"
#include "hw/native/process.hpp"
#include "hw/native/wire.hpp"
#include "models/metrics/run_meter.hpp"
#include "tests/catch.hpp"
#include "tests/hw/cuda/gpu.hpp"
#include "tests/scenario.hpp"

namespace gangway::testing {
namespace {

using namespace literals;

struct Seen : TraceSink, JobSink {
  explicit Seen(const Workload& workload) : meter(workload.clients.size(), *this) {}
  void record(const Record& r) override {
    meter.record(r);
    CHECK(r.time >= last);
    last = r.time;
    if (r.mark == Mark::started) started[r.launch] = r.time;
    if (r.mark == Mark::gone) gone[r.launch] = r.time;
    if (r.mark == Mark::copy_ends) copied.push_back(r.time);
  }
  void blocks(const BlockSpan& span) override {
    for (const BlocksOnSm& here : span.where) blocks_of[span.launch] += here.count;
    shortest = std::min(shortest, span.length);
  }
  bool wants_blocks() const override { return true; }
  void uncertain(Duration clock) override { uncertainty = clock; }
  void job(const JobResult& result) override { jobs.push_back(result); }

  RunMeter meter;
  Time last;
  std::map<LaunchId, Time> started, gone;
  std::map<LaunchId, std::uint32_t> blocks_of;
  std::vector<Time> copied;
  std::vector<JobResult> jobs;
  Duration shortest = Duration::max(), uncertainty = Duration::max();
};

Client native(const std::string& name, std::int64_t blocks, std::size_t kernels) {
  Client client;
  client.name = name;
  client.arrive = Duration{};
  Kernel kernel;
  kernel.name = "k";
  kernel.block_tasks = {blocks};
  kernel.block_task_length = 100_us;
  client.kernels.assign(kernels, kernel);
  return client;
}

// Two clients with every kernel that there is, in its small size, three jobs each.
Workload every_kernel() {
  Workload workload;
  workload.name = "every-kernel";
  for (const char* name : {"a", "b"}) {
    Client client;
    client.name = name;
    client.arrive = Duration{};
    client.copy_in = client.copy_out = {1 << 16};
    client.repeat.releases = {0_us, 100_us, 5_ms};
    client.repeat.jobs = 3;
    for (const KernelEntry& entry : Kernels::all()) {
      const std::string text = "{name: " + entry.name + ", params: " + entry.small_size + "}";
      const Node node = parse_yaml(text, "test");
      const auto chosen = choose<KernelEntry>(Field(node, "code"));
      Kernel kernel;
      kernel.name = entry.name;
      kernel.code_text = text;
      kernel.code = chosen.entry->make(chosen.values);
      kernel.block_tasks = kernel.code->block_tasks();
      kernel.block = kernel.code->block();
      kernel.time = 10_us;
      client.kernels.push_back(kernel);
    }
    workload.clients.push_back(client);
  }
  return workload;
}

struct Laid {
  explicit Laid(Arbitration arbitration) {
    device.h2d = device.d2h = {Bandwidth{50'000'000'000}, 5_us};
    device.priorities = 2;
    device.arbitration = arbitration;
    device.time_slice = TimeSlice{2_ms, 100_us};
    plan.emplace(WorldSetup{workload, device, *mechanism});
    const std::vector<std::uint32_t> order{0, 1};
    plan->lay_out({}, order);
  }
  Workload workload = every_kernel();
  Device device = describe_cuda_device(0);
  std::unique_ptr<Mechanism> mechanism = mechanism_from("flag-copy");
  std::optional<NativePlan> plan;
};

void check_order(const NativeRun& run, const NativeMeasurement& measured) {
  CHECK(measured.operations == run.operations.size());
  CHECK(measured.uncertainty < 20_us);
  Time last{};
  for (const NativeOperation& operation : run.operations) {
    if (operation.job.client.index != 0 || !operation.coded) continue;  // of one stream
    const Duration unsure{1000 + 2 * measured.uncertainty.ns};
    CHECK(measured.began[operation.start] + unsure >= last);
    CHECK(measured.ended[operation.event] + unsure >= measured.began[operation.start]);
    last = measured.ended[operation.event];
  }
}

void check_in_processes(Arbitration arbitration, const std::vector<std::string>& environment) {
  const Laid laid(arbitration);
  REQUIRE(laid.plan->processes().size() == 2);
  for (const auto& clients : laid.plan->processes()) {
    NativeProcess process("a", native_process_command(), environment);
    const auto ask = [&](const nlohmann::json& what) {
      process.ask(what);
      return process.answer();
    };
    const NativePart part = part_of(laid.plan->run(), laid.plan->on_device(), clients);
    ask({{"setup", wire(part_of(laid.plan->on_device(), clients))}});
    ask({{"poison", true}});
    CHECK(ask({{"difference", true}}) != "");
    ask({{"prepare", wire(part.run)}});
    ask({{"play", (HostClock::now() + 2_ms).ns}});
    if (clients.front() == 0) check_order(part.run, measurement_from_wire(ask({{"collect", true}})));
    CHECK(ask({{"difference", true}}) == "");
  }
}

}  // namespace

TEST_CASE("native clients' kernels are real ones, in any number of streams", "[gpu]") {
  if (!have_gpu()) return;
  const Laid laid(Arbitration::fifo);
  const auto player = make_native_cuda_player(laid.plan->on_device());
  for (int run = 0; run < 2; ++run) {
    player->poison();
    CHECK(player->difference() != "");
    player->prepare(laid.plan->run());
    NativeMeasurement measured = player->play(HostClock::now() + 1_ms, [] { return false; });
    player->collect(measured);
    check_order(laid.plan->run(), measured);
    CHECK(player->difference() == "");
  }
}

TEST_CASE("native clients' kernels are real ones in processes, too", "[gpu]") {
  if (!have_gpu()) return;
  check_in_processes(Arbitration::timeslice, {});
  const auto mps = MpsDaemon::start();
  if (mps == nullptr) return;
  check_in_processes(Arbitration::mps, mps->environment());
}

TEST_CASE("native clients' blocks are timed by the GPU's clock, job after job", "[gpu]") {
  if (!have_gpu()) return;
  Workload workload;
  workload.name = "native";
  workload.clients = {native("a", 200, 2), native("b", 1, 1), native("c", 1, 1)};
  workload.clients[0].copy_in = workload.clients[0].copy_out = {1 << 20};
  workload.clients[0].repeat.releases = {0_us, 300_us};
  workload.clients[0].repeat.jobs = 2;
  workload.clients[1].priority = 2;
  workload.clients[1].kernels[0].registers = 255;
  workload.clients[2].stream = kNullStream;
  workload.clients[2].kernels[0].shared_memory = {200 << 10};
  Device device = describe_cuda_device(0);
  device.h2d = device.d2h = {Bandwidth{50'000'000'000}, 5_us};  // of the time alone
  const auto mechanism = mechanism_from("flag-copy");
  const auto world = Worlds::named("cuda", "test", "world").make({workload, device, *mechanism});
  for (int run = 0; run < 2; ++run) {
    Seen seen(workload);
    std::vector<std::uint32_t> order(workload.clients.size());
    std::iota(order.begin(), order.end(), 0u);
    const ChosenPolicy policy = policy_from("passthrough");
    world->run(*policy.entry->make(policy.values), {}, order, seen);
    CHECK(seen.jobs.size() == 4);
    CHECK(seen.shortest.ns >= 99'900);  // by the run's clock
    CHECK(seen.uncertainty < 20_us);
    CHECK(seen.copied.size() == 4);
    REQUIRE(seen.blocks_of.size() == 6);
    CHECK(seen.blocks_of[LaunchId{1}] == 200);
    CHECK(seen.started[LaunchId{2}] >= seen.gone[LaunchId{1}]);  // of one stream
  }
}

}  // namespace gangway::testing
