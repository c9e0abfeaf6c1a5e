#include "tests/sim/memory/random_memory.hpp"

#include "models/random.hpp"
#include "tests/sim/memory/memory_scenario.hpp"
#include "tests/sim/random_scenario.hpp"

namespace gangway::testing {
namespace {

std::vector<Variable> random_variables(Stream& random) {
  std::vector<Variable> variables;
  for (std::uint64_t v = 0; v <= random.below(4); ++v) {
    Variable variable{"v" + std::to_string(v), Bytes{static_cast<std::int64_t>(1 + random.below(2000))}};
    variable.input = random.below(3) > 0;
    variable.output = random.below(3) == 0;
    variable.dirty = variable.output || random.below(2) == 0;
    variables.push_back(variable);
  }
  return variables;
}

// Bytes of its own for each block of the largest kernel, and perhaps some more that all may use.
void map_some(Client& client, Stream& random) {
  const std::int64_t blocks = largest_grid(client).count;
  for (Variable& variable : client.variables) {
    if (random.below(2) == 0) continue;
    BlockMap map;
    map.size = Bytes{static_cast<std::int64_t>(1 + random.below(3))};
    map.stride = Bytes{map.size.count + static_cast<std::int64_t>(random.below(2))};
    map.first = Bytes{static_cast<std::int64_t>(random.below(5))};
    const Bytes least = map.first + map.stride * BlockCount{blocks};
    if (variable.size < least) {
      const Bytes more = least - variable.size;
      variable.size = least;
      client.memory += more;
      if (variable.input) client.copy_in += more;
      if (variable.output) client.copy_out += more;
    }
    variable.map = map;
  }
}

}  // namespace

Scenario random_memory(std::uint64_t number) {
  Scenario scenario = random_scenario(number, {false, true, true, true});
  Stream random(number, "memory", {});
  std::int64_t all = 0, largest = 1;
  for (Client& client : scenario.clients) {
    if (random.below(3) == 0)
      client = with_memory(client, static_cast<std::int64_t>(random.below(3000)));
    else
      client = with_variables(client, random_variables(random));
    if (random.below(3) == 0) client.memory.count += static_cast<std::int64_t>(random.below(500));
    if (random.below(4) == 0)
      client.kernels.back().gap = Duration{static_cast<std::int64_t>(random.below(9000))};
    if (random.below(8) == 0)
      client.kernels.front().host_work = Duration{static_cast<std::int64_t>(random.below(20'000))};
    all += client.memory.count;
    largest = std::max(largest, client.memory.count);
  }
  const auto spare = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(all - largest + 2)));
  scenario.device.memory = Bytes{random.below(3) == 0 ? largest : largest + spare};
  if (random.below(2) == 0) scenario.device.h2d.both_ways = scenario.device.d2h.both_ways = 0.5;
  if (random.below(2) == 0) {
    scenario.mechanism = "{name: microkernel, params: {message: " + std::to_string(random.below(200)) +
                         " ns, registration: " + std::to_string(random.below(400)) + " ns}}";
  }
  return scenario;
}

std::string random_microkernels(std::uint64_t number) {
  Stream random(number, "policy", {});
  const auto one_of = [&](std::vector<std::string> names) { return names[random.below(names.size())]; };
  return "{name: microkernel-rr, params: {order: " + one_of({"round-robin", "priority", "shortest-first"}) +
         ", blocks: " + one_of({"declared", "profiled", "block-tasks"}) +
         ", slice: " + one_of({"1 us", "3 us", "10 us"}) + ", block_tasks: " + one_of({"1", "3", "700"}) +
         ", ahead: " + one_of({"1", "1", "2", "5"}) + ", keep: " + one_of({"while-alone", "while-room"}) +
         ", unready: " + one_of({"run-on", "yield"}) +
         ", split: " + one_of({"when-idle", "when-idle", "never"}) + "}}";
}

Scenario random_gpus(std::uint64_t number) {
  Scenario scenario = random_memory(number);
  Stream random(number, "gpus", {});
  Bytes largest;
  for (Client& client : scenario.clients) {
    map_some(client, random);
    largest = std::max(largest, client.memory);
  }
  Device& device = scenario.device;
  device.memory = std::max(device.memory, largest);
  device.gpus = static_cast<std::int64_t>(1 + random.below(4));
  if (random.below(2) == 0) {
    device.sms = 1;
    device.sm.threads = 256;  // many waves
  }
  if (random.below(2) == 0)
    device.merge = Bandwidth{static_cast<std::int64_t>(1 + random.below(4)) * 500'000'000};
  if (random.below(2) == 0) {
    device.h2d.both_ways = device.d2h.both_ways = 1;
    device.bus =
        Bandwidth{device.h2d.bandwidth.bytes_per_second * static_cast<std::int64_t>(1 + random.below(3))};
  }
  return scenario;
}

}  // namespace gangway::testing
