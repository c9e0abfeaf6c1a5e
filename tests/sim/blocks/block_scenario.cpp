#include "tests/sim/blocks/block_scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <stdexcept>

#include "models/random.hpp"
#include "sim/world.hpp"
#include "tests/time_laws.hpp"

namespace gangway::testing {
namespace {

class BlockRecorder : public TraceSink, public JobSink {
 public:
  explicit BlockRecorder(const Workload& workload)
      : workload_(&workload), meter_(workload.clients.size(), *this) {}

  void record(const Record& r) override {
    meter_.record(r);
    account_.record(r);
    if (r.mark == Mark::held) {
      run_.held.push_back(
          fmt::format("{} {} {}", r.time.ns, name(r.job), name_of(static_cast<Rule>(r.amount))));
      run_.held_launches.insert(r.launch);
    } else {
      run_.records.push_back(r);
    }
  }
  void blocks(const BlockSpan& span) override {
    account_.blocks(span);
    for (const BlocksOnSm& here : span.where)
      for (std::int64_t wave = 0; wave < span.waves; ++wave) {
        BlockSpan one = span;
        one.where = {};
        one.waves = 1;
        one.began = span.began + Duration{wave * span.length.ns};
        counts_[{one.began, one.began + one.length, one.launch, here.sm}] += here.count;
        examples_[one.launch] = one;
      }
  }
  bool wants_blocks() const override { return true; }
  void job(const JobResult& result) override { run_.jobs.push_back(result); }

  BlockRun take(const Device& device) {
    for (const auto& [key, count] : counts_) {
      const auto& [began, end, launch, sm] = key;
      BlockSpan span = examples_[launch];
      span.began = began;
      span.length = end - began;
      run_.spans.push_back(span);
      run_.places.push_back({sm, count});
      run_.blocks.push_back(fmt::format("{} {} [{},{}) x{} on {}", name(span.job), span.job.number, began.ns,
                                        end.ns, count, sm));
    }
    run_.totals = meter_.totals();
    const std::string broken = account_.broken_law(run_.jobs, run_.totals, device);
    if (!broken.empty()) throw std::logic_error("a law of time is broken: " + broken);
    return std::move(run_);
  }

 private:
  const std::string& name(JobId job) const { return workload_->clients[job.client.index].name; }

  const Workload* workload_;
  BlockRun run_;
  RunMeter meter_;
  TimeAccount account_;
  std::map<std::tuple<Time, Time, LaunchId, std::uint32_t>, std::uint32_t> counts_;
  std::map<LaunchId, BlockSpan> examples_;
};

std::int64_t between(Stream& random, std::int64_t least, std::int64_t most) {
  return least + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most - least + 1)));
}

void give_repeat(Client& client, Stream& random) {
  const auto jobs = static_cast<std::uint32_t>(between(random, 2, 5));
  switch (random.below(4)) {
    case 0:
      client.repeat.jobs = jobs;
      client.repeat.period = Duration{between(random, 1, 30)};
      break;
    case 1:
      client.repeat.jobs = jobs;
      client.repeat.think = Duration{between(random, 0, 8)};
      break;
    case 2:
      client.repeat.jobs = jobs;
      client.arrive.reset();
      for (std::int64_t t = 0; client.repeat.releases.size() < jobs; t += between(random, 0, 12))
        client.repeat.releases.push_back(Duration{t});
      break;
    default:
      break;
  }
}

Kernel random_kernel(Stream& random, bool in_pool) {
  Kernel kernel =
      grid(between(random, 1, random.below(4) == 0 ? 60 : 9), between(random, 1, 6), between(random, 1, 9));
  if (!in_pool) {
    if (random.below(3) == 0) kernel.registers = between(random, 1, 8);
    if (random.below(3) == 0) kernel.shared_memory = Bytes{between(random, 1, 9)};
  }
  if (random.below(8) == 0)
    kernel.exceptions.push_back({static_cast<std::uint32_t>(random.below(2)),
                                 between(random, 0, kernel.block_tasks.count - 1),
                                 Duration{between(random, 1, 15)}});
  return kernel;
}

// What devices may have beyond the papers' rules.
void give_details(Device& device, Stream& random) {
  if (!device.pool) {
    if (random.below(4) == 0) device.sm.warp = random.below(2) == 0 ? 2 : 4;
    if (random.below(4) == 0) device.sm.reserved_shared_memory = Bytes{between(random, 1, 4)};
    if (random.below(4) == 0) {
      device.sm_order.resize(static_cast<std::size_t>(device.sms));
      std::iota(device.sm_order.begin(), device.sm_order.end(), 0u);
      std::rotate(device.sm_order.begin(), device.sm_order.begin() + between(random, 0, device.sms - 1),
                  device.sm_order.end());
    }
  }
  if (random.below(2) == 0) device.channel_assignment = ChannelAssignment::dynamic;
  if (random.below(4) == 0) device.resident_kernels = between(random, 1, 3);
  for (CopyEngine* engine : {&device.h2d, &device.d2h}) {
    if (random.below(4) == 0) engine->queued_latency = Duration{between(random, 0, 4)};
    if (random.below(3) == 0) engine->both_ways = 0.25 * static_cast<double>(between(random, 1, 3));
  }
  if (random.below(2) == 0) return;
  NativeDelays& delays = device.delays;
  for (Duration* delay :
       {&delays.kernel_issue, &delays.copy_issue, &delays.kernel_end, &delays.copy_end, &delays.block_end})
    if (random.below(2) == 0) *delay = Duration{between(random, 1, 5)};
}

Device random_device(Stream& random) {
  Device device = random.below(2) == 0 ? pool(between(random, 6, 24)) : sms(between(random, 1, 5));
  device.h2d = device.d2h = {Bandwidth{1'000'000'000}, Duration{between(random, 0, 4)}};
  if (random.below(2) == 0) device.placement = Placement::lowest_index_first;
  device.queue_order = static_cast<QueueOrder>(random.below(3));
  device.priorities = between(random, 1, 3);
  if (random.below(3) == 0) device.channels = between(random, 1, 3);
  give_details(device, random);
  if (random.below(4) == 0) {
    device.arbitration = random.below(4) == 0 ? Arbitration::fifo : Arbitration::timeslice;
    device.time_slice = TimeSlice{Duration{between(random, 1, 40)}, Duration{between(random, 0, 4)}};
    if (random.below(2) == 0) device.time_slice->order = TimeSlice::Order::creation;
    device.time_slice->choice = Duration{between(random, 0, 5)};
    device.time_slice->stops_blocks = random.below(3) == 0;
    device.time_slice->stop = Duration{between(random, 0, 3)};
    device.time_slice->resume = Duration{between(random, 0, 2)};
    device.time_slice->stop_full = device.time_slice->stop + Duration{between(random, 0, 4)};
    device.time_slice->resume_full = device.time_slice->resume + Duration{between(random, 0, 4)};
    device.time_slice->length =
        std::max(device.time_slice->length, device.time_slice->resume_full + Duration{1});
  }
  if (random.below(2) == 0)
    for (int rule = 0; rule < kRules - 1; ++rule)
      if (random.below(8) == 0) device.rules.set(static_cast<Rule>(rule), false);
  return device;
}

}  // namespace

Device pool(std::int64_t m) {
  Device device;
  device.name = "pool";
  device.pool = true;
  device.sm = {m, m, 0, {}};
  device.memory = Bytes{1 << 30};
  device.h2d = device.d2h = {Bandwidth{1'000'000'000}, Duration{}};
  return device;
}

Device sms(std::int64_t count) {
  Device device = pool(8);
  device.name = "sms";
  device.pool = false;
  device.sms = count;
  device.sm = {8, 4, 64, Bytes{16}};
  return device;
}

Kernel grid(std::int64_t blocks, std::int64_t threads, std::int64_t length) {
  Kernel kernel;
  kernel.name = "k";
  kernel.block_tasks = {blocks};
  kernel.block = {threads, 1, 1};
  kernel.block_task_length = Duration{length};
  kernel.time = Duration{length};
  return kernel;
}

Client native(const std::string& name, std::int64_t arrive, std::int64_t blocks, std::int64_t threads,
              std::int64_t length) {
  Client client;
  client.name = name;
  client.native = true;
  client.arrive = Duration{arrive};
  client.kernels.push_back(grid(blocks, threads, length));
  return client;
}

BlockRun run_blocks(const Scenario& scenario, bool by_block, const std::string& policy, const RunSeed& seed) {
  Workload workload;
  workload.name = "blocks";
  workload.clients = scenario.clients;
  workload.jitter = scenario.jitter;
  const auto mechanism = mechanism_from(scenario.mechanism);
  const ChosenPolicy chosen = policy_from(policy);
  SimulatedWorld world({.workload = workload,
                        .device = scenario.device,
                        .mechanism = *mechanism,
                        .horizon = scenario.horizon,
                        .by_block = by_block});
  std::vector<std::uint32_t> order(workload.clients.size());
  std::iota(order.begin(), order.end(), 0u);
  BlockRecorder recorder(workload);
  world.run(*chosen.entry->make(chosen.values), seed, order, recorder);
  return recorder.take(scenario.device);
}

BlockRun run_on(const Device& device, std::vector<Client> clients) {
  return run_blocks({.clients = std::move(clients), .device = device});
}

bool held(const BlockRun& run, const std::string& line) {
  return std::find(run.held.begin(), run.held.end(), line) != run.held.end();
}

Device without(Device device, Rule rule) {
  device.rules.set(rule, false);
  return device;
}
Client with(Client client, const Kernel& next) {
  client.kernels.push_back(next);
  return client;
}
Client on_stream(Client client, const std::string& stream) {
  client.stream = stream;
  return client;
}
Client with_copy_in(Client client, std::int64_t bytes) {
  client.copy_in = Bytes{bytes};
  return client;
}
Client with_copy_out(Client client, std::int64_t bytes) {
  client.copy_out = Bytes{bytes};
  return client;
}

Interval times(const BlockRun& run, std::uint32_t client, std::uint32_t job) {
  const auto found = std::find_if(run.jobs.begin(), run.jobs.end(), [&](const JobResult& j) {
    return j.id == JobId{ClientId{client}, job};
  });
  if (found == run.jobs.end() || !found->finish) return {-1, -1};
  return {found->start->ns, found->finish->ns};
}

Scenario random_block_scenario(std::uint64_t number) {
  Stream random(number, "block scenario", {});
  Scenario scenario;
  scenario.device = random_device(random);
  if (random.below(6) == 0) scenario.jitter.block_time = 0.5;
  if (random.below(10) == 0) scenario.horizon = Time{between(random, 1, 80)};
  // Kernels can block each other for ever there.
  else if (scenario.device.queue_order == QueueOrder::release_all)
    scenario.horizon = Time{1'000'000};
  const std::int64_t clients = between(random, 1, 6);
  for (std::int64_t c = 0; c < clients; ++c) {
    Client client = native(std::string(1, static_cast<char>('A' + c)), between(random, 0, 12), 1, 1, 1);
    client.kernels.clear();
    const std::int64_t kernels = between(random, 1, 3);
    for (std::int64_t k = 0; k < kernels; ++k)
      client.kernels.push_back(random_kernel(random, scenario.device.pool));
    if (random.below(4) == 0) client.copy_in = Bytes{between(random, 1, 8)};
    if (random.below(4) == 0) client.copy_out = Bytes{between(random, 1, 8)};
    client.priority = static_cast<std::int32_t>(between(random, -1, 3));
    if (random.below(5) == 0) client.stream = random.below(2) == 0 ? kNullStream : "shared";
    if (!client.stream.empty()) client.priority = 0;
    give_repeat(client, random);
    scenario.clients.push_back(client);
  }
  return scenario;
}

}  // namespace gangway::testing
