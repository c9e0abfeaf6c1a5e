#include "models/mechanism/polling.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace gangway {
namespace {

using namespace literals;

// Blocks that do block-tasks while one is the proxy, which takes a place only where all are in use.
std::int64_t workers(const Kernel& kernel, const Device& device) {
  return std::min(resident_blocks(device, kernel) - 1, kernel.block_tasks.count);
}

// A flag written in the middle of a read, on average, is seen by the next one.
Duration seen_by_proxy(const Device& device) {
  return device.polls->proxy.value_or(device.polls->host + Duration{device.polls->host.ns / 2});
}

}  // namespace

PollingMechanism::PollingMechanism(const ParameterValues& values)
    : useful_(values.number("useful")),
      host_wait_(values.choice("relaunch") == "signal" ? values.duration("signal_after") : Duration::max()) {}

CommandDelays PollingMechanism::delays(const Kernel& kernel, const Device& device) const {
  auto [seen, drain, every] = look(kernel, device);
  if (kernel.eviction_delay) {
    seen = std::min(seen, *kernel.eviction_delay);
    drain = *kernel.eviction_delay - seen;
  }
  CommandDelays delays{
      device.commands.launch, seen, drain,     scaled_down(drain, kernel.useful.value_or(useful_)),
      device.commands.notice, {},   host_wait_};
  delays.measured = kernel.measured;
  if (evictions_end_rounds(kernel)) delays.rounds = every;
  return delays;
}

std::optional<Refusal> PollingMechanism::refusal(const Kernel&, const Device& device) const {
  if (device.polls) return std::nullopt;
  return Refusal{"no costs of polls", "`polls` in the device file of " + device.name};
}

std::int64_t PollingMechanism::blocks(const Kernel& kernel, const Device& device) {
  return std::min(resident_blocks(device, kernel), kernel.block_tasks.count);
}

std::vector<Parameter> PollingMechanism::parameters(std::vector<Parameter> own) {
  std::vector<Parameter> all{
      {"useful", "useful share of a drain; 1/2 if blocks are spread evenly over their block-tasks",
       Parameter::Number{0.5, 0, 1}},
      {"relaunch", "when a busy host thread relaunches: upon a signal, or after its work",
       Parameter::Choice{{"signal", "wait"}}},
      {"signal_after", "how long the scheduler waits for the host thread before it signals it",
       Parameter::Time{100_us, 0_ns, 10_s}}};
  all.insert(all.end(), own.begin(), own.end());
  return all;
}

Duration ProxyMechanism::running_time(const Kernel& kernel, const Device& device) const {
  const std::int64_t n = workers(kernel, device), time = kernel.transformed().ns;
  // Where every wave is full, the place that is missing costs a wave.
  const Duration work{
      std::max(mul_div_ceil(time, blocks(kernel, device), n),
               mul_div_ceil(time, mul_div_ceil(kernel.block_tasks.count, 1, n), waves(device, kernel)))};
  return work + Duration{mul_div_ceil(kernel.block_tasks.count, device.polls->device.ns,
                                      n * checked_every(kernel, device))};
}

std::optional<Refusal> ProxyMechanism::refusal(const Kernel& kernel, const Device& device) const {
  if (auto refused = PollingMechanism::refusal(kernel, device)) return refused;
  if (workers(kernel, device) > 0) return std::nullopt;
  return Refusal{fmt::format("room for {} of its blocks on {}", resident_blocks(device, kernel), device.name),
                 "room for 2, because one of them is the proxy"};
}

PollingMechanism::Look ProxyMechanism::look(const Kernel& kernel, const Device& device) const {
  const std::int64_t every = checked_every(kernel, device);
  const Duration tasks{mul_div_ceil(block_task_length(kernel, device).ns, every, 1)};
  return {seen_by_proxy(device), tasks + device.polls->device, every};
}

}  // namespace gangway
