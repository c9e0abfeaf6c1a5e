// `load` of a workload: one factor on everything that arrives by itself.
#include "tests/catch.hpp"
#include "workloads/source.hpp"

using namespace gangway;

namespace {

Workload with_load(const std::string& load, const std::string& clients, const std::string& more = "") {
  const Node node = parse_yaml("{kind: workload, version: 1, name: w" + more +
                                   (load.empty() ? "" : ", load: " + load) + ", clients: [" + clients + "]}",
                               "test");
  return read_clients(Field(node, "workload"));
}

std::string client(const std::string& name, const std::string& repeat, const std::string& more = "") {
  return "{name: " + name + ", repeat: {" + repeat + "}, kernels: [{name: k, block_tasks: 1, time: 1 us}]" +
         more + "}";
}

constexpr std::int64_t kMs = 1'000'000;

}  // namespace

TEST_CASE("a load of 2 halves what lies between arrivals", "[load]") {
  const std::string clients = client("a", "jobs: 3, period: 10 ms", ", arrive: 4 ms, leave: 50 ms") + "," +
                              client("b", "releases: [0 ms, 3 ms]") + "," +
                              client("c", "jobs: 3, arrivals: {process: poisson, rate: 60/s}") + "," +
                              client("d", "jobs: 3, think: 6 ms");
  const Workload w = with_load("2", clients);
  CHECK(w.clients[0].repeat.period == Duration{5 * kMs});
  CHECK(w.clients[0].arrive == Duration{4 * kMs});
  CHECK(w.clients[0].leave == Duration{50 * kMs});
  CHECK(w.clients[1].repeat.releases == std::vector<Duration>{{0}, {3 * kMs / 2}});
  CHECK(w.clients[2].repeat.arrivals->rate == Rate{120});
  CHECK(w.clients[3].repeat.think == Duration{6 * kMs});
  CHECK(with_load("0.5", clients).clients[0].repeat.period == Duration{20 * kMs});
  for (const char* none : {"", "1"})
    CHECK(with_load(none, clients).clients[2].repeat.arrivals->rate == Rate{60});
}

TEST_CASE("a load scales the gap between clients, and programs as they are", "[load]") {
  const std::string gap = ", arrivals: {gap: 3 ms, order: listed}";
  const std::string once = "{name: a, kernels: [{name: k, block_tasks: 1, time: 1 us}]}";
  CHECK(with_load("3", once, gap).arrivals->gap == Duration{kMs});
  const std::string program =
      "{name: p, repeat: {jobs: endless, arrivals: {process: fixed, rate: 10/s}}, command: [serve]}";
  CHECK(with_load("1.5", program).clients[0].repeat.arrivals->rate == Rate{15});
}

TEST_CASE("programs do as often as the workload says for all, unless they say it themselves", "[load]") {
  const std::string program = "{name: p, command: [serve]}";
  CHECK(with_load("", program).clients[0].repeat.jobs == std::nullopt);
  const std::string once = ", repeat: {jobs: 3, think: 0 ms}";
  CHECK(with_load("", program, once).clients[0].repeat.jobs == 3);
  const std::string own = "{name: p, command: [serve], repeat: {jobs: 7, think: 1 ms}}";
  CHECK(with_load("", own, once).clients[0].repeat.jobs == 7);
}

TEST_CASE("a load that cannot be is refused", "[load]") {
  const auto refusal = [](const std::string& load, const std::string& clients, const std::string& text) {
    CHECK_THROWS_WITH(with_load(load, clients), Catch::Matchers::ContainsSubstring(text));
  };
  const std::string closed = client("a", "jobs: 3, think: 6 ms");
  refusal("2", closed, "key 'workload.load': found clients of which none has a period");
  CHECK_NOTHROW(with_load("1", closed));
  refusal("0", client("a", "jobs: 3, period: 1 ms"), "from 0.001 to 1000");
  refusal("1000", client("a", "jobs: 3, period: 100 ns"), "found periods below 1 ns with this load");
  refusal("10", client("a", "jobs: 3, arrivals: {process: poisson, rate: 2e8/s}"),
          "found a rate of 2000000000/s with this load, expected a rate above zero");
  refusal("0.001", client("a", "jobs: 3, period: 86400 s"), "found arrivals later than 100 days");
}
