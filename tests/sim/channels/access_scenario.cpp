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

Client copying(Client client, std::int64_t in, std::int64_t out) {
  client.copy_in = Bytes{in * 1000};
  client.copy_out = Bytes{out * 1000};
  return client;
}

Scenario in_turn(std::vector<Client> clients, std::int64_t us) {
  Scenario scenario{std::move(clients)};
  scenario.device.arbitration = Arbitration::direct;
  scenario.device.h2d.latency = scenario.device.d2h.latency = Duration{};
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

Lines copies(const Played& played, const Scenario& scenario) {
  Lines lines;
  std::map<std::pair<JobId, CopyDirection>, Time> began;
  for (const Record& r : played.records) {
    if (r.mark == Mark::copy_begins) began[{r.job, r.direction}] = r.time;
    if (r.mark == Mark::copy_ends)
      lines.push_back(microseconds(began.at({r.job, r.direction})) + "-" + microseconds(r.time) + " " +
                      scenario.clients[r.job.client.index].name +
                      (r.direction == CopyDirection::to_device ? " in" : " out"));
  }
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
