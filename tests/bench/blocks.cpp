// The block-level GPU: what a block's end costs, how cost grows with waves, and simulated seconds a second.
// Prints one JSON line; times are of the processor, the best of several rounds.
#include <fmt/format.h>

#include <ctime>
#include <numeric>
#include <vector>

#include "models/random.hpp"
#include "sim/event_queue.hpp"
#include "sim/world.hpp"
#include "tests/no_trace.hpp"
#include "tests/scenario.hpp"

namespace {

using namespace gangway;
using gangway::testing::NoTrace;
using namespace gangway::literals;

double seconds_now() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// 132 SMs of 2,048 threads and 32 block slots, as an H200 has.
Device large() {
  Device device;
  device.name = "large";
  device.sms = 132;
  device.sm.shared_memory = Bytes{228 << 10};
  return device;
}

Client client(const std::string& name, std::int64_t blocks, std::int64_t threads, Duration length) {
  Client client;
  client.name = name;
  Kernel kernel;
  kernel.name = "k";
  kernel.block_tasks = {blocks};
  kernel.block = {threads, 1, 1};
  kernel.block_task_length = length;
  kernel.time = length;
  client.kernels.push_back(kernel);
  return client;
}

// Processor time of a run, and the events it had.
struct Cost {
  double seconds = 1e9;
  std::uint64_t events = 0;
};

Cost play(const Workload& workload, bool by_block, int rounds, Time horizon = Time::max()) {
  const Device device = large();
  const auto mechanism = testing::mechanism_from("ideal");
  const ChosenPolicy passthrough = testing::policy_from("passthrough");
  SimulatedWorld world({.workload = workload,
                        .device = device,
                        .mechanism = *mechanism,
                        .horizon = horizon,
                        .by_block = by_block});
  std::vector<std::uint32_t> order(workload.clients.size());
  std::iota(order.begin(), order.end(), 0u);
  NoTrace sink;
  Cost best;
  for (int round = 0; round < rounds; ++round) {
    const double began = seconds_now();
    const std::uint64_t events = world.run(*passthrough.entry->make(passthrough.values), {}, order, sink);
    best = {std::min(best.seconds, seconds_now() - began), events};
  }
  return best;
}

// 2,112 resident blocks of three kernels, each block with a length of its own.
double per_block_ns() {
  constexpr std::int64_t kBlocks = 700'000;
  Workload workload;
  workload.jitter.block_time = 0.5;
  for (const char* name : {"A", "B", "C"}) workload.clients.push_back(client(name, kBlocks, 128, 10_us));
  return play(workload, true, 5).seconds * 1e9 / (3 * kBlocks);
}

// The queue alone with as many pending.
double bare_queue_ns() {
  constexpr int kHolds = 2'000'000;
  double best = 1e9;
  for (int round = 0; round < 5; ++round) {
    EventQueue queue;
    Stream random(1, "hold", {});
    for (std::uint32_t i = 0; i < 2112; ++i)
      queue.push(Time{static_cast<std::int64_t>(random.below(10'000))}, i);
    const double began = seconds_now();
    for (int i = 0; i < kHolds; ++i) {
      const EventQueue::Event event = queue.pop();
      queue.push(event.time + Duration{5'000 + static_cast<std::int64_t>(random.below(10'000))}, event.id);
    }
    best = std::min(best, (seconds_now() - began) * 1e9 / kHolds);
  }
  return best;
}

// One kernel of so many equal blocks, played often enough to be measured.
double kernel_us(std::int64_t blocks) {
  Workload workload;
  workload.clients.push_back(client("A", blocks, 128, 10_us));
  workload.clients[0].repeat.jobs = 2'000;
  workload.clients[0].repeat.think = 1_us;
  return play(workload, false, 5).seconds * 1e6 / 2'000;
}

// A simulated second of 64 streams that are hardly ever idle. Blocks take 10 us; kernels have at least
// `waves` waves of them, or, of single waves, random parts of one, out of step with each other.
double simulated_seconds_a_second(std::int64_t waves) {
  constexpr std::int64_t kWave = std::int64_t{132} * 16;
  Workload workload;
  Stream random(1, "streams", {});
  for (int c = 0; c < 64; ++c) {
    const auto part = 1 + static_cast<std::int64_t>(random.below(kWave));
    workload.clients.push_back(
        client(fmt::format("c{}", c), waves > 1 ? waves * kWave + part : part, 128, 10_us));
    workload.clients.back().arrive = Duration{static_cast<std::int64_t>(random.below(20'000))};
    workload.clients.back().repeat.jobs.reset();
    workload.clients.back().repeat.think = Duration{static_cast<std::int64_t>(random.below(20'000))};
  }
  return 1 / play(workload, false, 3, Time{1'000'000'000}).seconds;
}

}  // namespace

int main() {
  fmt::print(
      "{{\"per_block_ns\": {:.1f}, \"bare_queue_ns\": {:.1f}, \"kernel_of_10k_us\": {:.3f}, "
      "\"kernel_of_10m_us\": {:.3f}, "
      "\"waves_times_real_time\": {:.0f}, \"unaligned_times_real_time\": {:.2f}}}\n",
      per_block_ns(), bare_queue_ns(), kernel_us(10'000), kernel_us(10'000'000),
      simulated_seconds_a_second(100), simulated_seconds_a_second(1));
}
