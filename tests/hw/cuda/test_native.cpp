// Native clients on a GPU: what its own clock says of blocks and copies. Skipped without one.
#include <map>
#include <numeric>

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

}  // namespace

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
