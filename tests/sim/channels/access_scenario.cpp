#include "tests/sim/channels/access_scenario.hpp"

#include <array>
#include <map>

namespace gangway::testing {
namespace {

std::string microseconds(Time time) {
  return time.ns % 1000 == 0 ? std::to_string(time.ns / 1000) : std::to_string(time.ns) + "ns";
}

}  // namespace

Client looping(const std::string& name, std::int64_t us, std::int64_t gap) {
  Client c = client(name, 0, us * 1000);
  c.kernels[0].gap = Duration{gap * 1000};
  c.repeat = {std::nullopt, std::nullopt, Duration{0}};
  return c;
}

Scenario in_turn(std::vector<Client> clients, std::int64_t us) {
  Scenario scenario{std::move(clients)};
  scenario.device.arbitration = Arbitration::direct;
  scenario.standalone_transformed = false;
  scenario.horizon = Time{us * 1000};
  return scenario;
}

Lines starts(const Played& played, const Scenario& scenario, std::int64_t until) {
  Lines lines;
  for (const Record& r : played.records)
    if (r.mark == Mark::started && r.time.ns / 1000 < until)
      lines.push_back(microseconds(r.time) + " " + scenario.clients[r.job.client.index].name);
  return lines;
}

Lines accesses(const Played& played, const Scenario& scenario) {
  static constexpr std::array names{"direct", "intercept", "deny", "sampled"};
  Lines lines;
  for (const Record& r : played.records)
    if (r.mark == Mark::access)
      lines.push_back(microseconds(r.time) + " " + scenario.clients[r.job.client.index].name + " " +
                      names[static_cast<std::size_t>(r.amount)]);
  return lines;
}

std::vector<std::int64_t> usage(const Played& played, const Scenario& scenario) {
  std::vector<std::int64_t> sums(scenario.clients.size());
  std::map<LaunchId, Time> began;
  for (const Record& r : played.records) {
    if (r.mark == Mark::started) began[r.launch] = r.time;
    if (r.mark == Mark::gone) sums[r.job.client.index] += (r.time - began[r.launch]).ns;
  }
  return sums;
}

}  // namespace gangway::testing
