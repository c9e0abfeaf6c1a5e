#include "tests/scenario.hpp"

#include <fmt/format.h>

#include <numeric>
#include <stdexcept>

#include "models/world.hpp"
#include "tests/time_laws.hpp"

namespace gangway::testing {
namespace {

// The lines, the records and the jobs of a run.
class Recorder : public TraceSink, public JobSink {
 public:
  Recorder(const Workload& workload, std::int64_t gpus)
      : workload_(&workload), meter_(workload.clients.size(), *this, gpus) {}

  void record(const Record& r) override {
    meter_.record(r);
    account_.record(r);
    played_.records.push_back(r);
    const std::string line = text(r);
    if (!line.empty())
      played_.lines.push_back(
          fmt::format("{} {} {}", r.time.ns, workload_->clients[r.job.client.index].name, line));
  }
  void blocks(const BlockSpan& span) override { account_.blocks(span); }
  bool wants_blocks() const override { return true; }
  void job(const JobResult& result) override { played_.jobs.push_back(result); }

  Played take(const Device& device) {
    played_.totals = meter_.totals();
    for (std::uint32_t gpu = 0; gpu < device.gpus; ++gpu)
      played_.evictions_from.push_back(meter_.evictions_from({gpu}));
    const std::string broken = account_.broken_law(played_.jobs, played_.totals, device);
    if (!broken.empty()) throw std::logic_error("a law of time is broken: " + broken);
    return std::move(played_);
  }

 private:
  static std::string text(const Record& r) {
    switch (r.mark) {
      case Mark::launch_ordered:
        return "launch";
      case Mark::started:
        return "start";
      case Mark::evict_ordered:
        return "evict";
      case Mark::gone:
        return fmt::format("gone {}", r.amount);
      case Mark::left:
        return name_of(r.why);
      case Mark::finished:
        return "finished";
      default:
        return "";
    }
  }

  const Workload* workload_;
  Played played_;
  RunMeter meter_;
  TimeAccount account_;
};

}  // namespace

Device small_device() {
  Device device;
  device.name = "small";
  device.sms = 4;
  device.memory = Bytes{1 << 30};
  device.sm.shared_memory = Bytes{96 << 10};
  device.h2d = device.d2h = {Bandwidth{1'000'000'000}, Duration{5}};
  device.commands = {Duration{10}, Duration{2}, Duration{1}, Duration{4}};
  return device;
}

Client client(const std::string& name, std::int64_t arrive, std::int64_t time) {
  Client client;
  client.name = name;
  client.arrive = Duration{arrive};
  Kernel kernel;
  kernel.name = "k";
  kernel.block_tasks = {time};
  kernel.time = {time};
  kernel.block_task_length = Duration{6};
  client.kernels.push_back(kernel);
  return client;
}

std::unique_ptr<Mechanism> mechanism_from(const std::string& yaml) {
  const Node node = parse_yaml(yaml, "mechanism");
  const auto chosen = choose<MechanismEntry>(Field(node, "mechanism"));
  return chosen.entry->make(chosen.values);
}

ChosenPolicy policy_from(const std::string& yaml) {
  const Node node = parse_yaml(yaml, "policy");
  return choose<PolicyEntry>(Field(node, "policy"), true);
}

Played play(const Scenario& scenario, const std::string& policy, const RunSeed& seed) {
  const ChosenPolicy chosen = policy_from(policy);
  const auto made = chosen.entry->make(chosen.values);
  return play(scenario, *made, seed);
}

Played play(const Scenario& scenario, Policy& policy, const RunSeed& seed) {
  Workload workload;
  workload.name = "scenario";
  workload.clients = scenario.clients;
  workload.jitter = scenario.jitter;
  const auto mechanism = mechanism_from(scenario.mechanism);
  const auto world = Worlds::named("sim", "scenario", "world")
                         .make({.workload = workload,
                                .device = scenario.device,
                                .mechanism = *mechanism,
                                .standalone_transformed = scenario.standalone_transformed,
                                .horizon = scenario.horizon,
                                .granting = scenario.granting});
  std::vector<std::uint32_t> order(workload.clients.size());
  std::iota(order.begin(), order.end(), 0u);
  Recorder recorder(workload, scenario.device.gpus);
  world->run(policy, seed, order, recorder);
  return recorder.take(scenario.device);
}

Scenario hundreds(std::vector<Client> clients) {
  Scenario scenario{std::move(clients)};
  scenario.device.commands = {Duration{1000}, Duration{200}, Duration{100}, Duration{400}};
  for (Client& c : scenario.clients) {
    c.arrive = Duration{c.arrive->ns * 100};
    for (Kernel& k : c.kernels) {
      k.time.ns *= 100;
      k.gap.ns *= 100;
      k.block_task_length = Duration{600};
    }
  }
  return scenario;
}

Lines in_hundreds(const Played& played) {
  Lines lines;
  for (const std::string& line : played.lines) {
    const std::size_t space = line.find(' ');
    const long ns = std::stol(line.substr(0, space));
    lines.push_back((ns % 100 == 0 ? std::to_string(ns / 100) : std::to_string(ns) + "ns") +
                    line.substr(space));
  }
  return lines;
}

}  // namespace gangway::testing
