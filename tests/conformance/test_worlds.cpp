// One set of cases for every world that can be played here: who owned the device, in which order, what was
// done. Times differ between worlds, so cases leave room between arrivals and quanta.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <set>

#include "hw/real_time_refusals.hpp"
#include "models/world.hpp"
#include "tests/catch.hpp"
#include "tests/scenario.hpp"
#include "tests/time_laws.hpp"

namespace gangway::testing {
namespace {

using namespace literals;

struct Case {
  const char* name;
  const char* policy;
  std::vector<Client> clients;
  std::vector<std::string> owners;  // in order of starting; one client in a row once
  std::optional<Duration> quantum = {};
  bool at_first = false;  // how it goes on depends on how fast a world is
};

constexpr Duration kBlockTask = 20_us;  // on one persistent block

void set_time(Kernel& kernel, Duration time) {
  kernel.time = time;
  kernel.block_tasks = {time.ns / kBlockTask.ns};
}

Client one(const std::string& name, Duration arrive, Duration time) {
  Client client;
  client.name = name;
  client.arrive = arrive;
  Kernel kernel;
  kernel.name = "k";
  set_time(kernel, time);
  kernel.block = {1024, 1, 1};
  client.kernels.push_back(kernel);
  return client;
}

Client with_copies(Client client) {
  client.copy_in = client.copy_out = Bytes{1 << 20};
  return client;
}

Client with_kernels(Client client, std::size_t count) {
  client.kernels.resize(count, client.kernels.front());
  return client;
}

Client repeated(Client client, std::uint32_t jobs, Duration period) {
  client.repeat = {jobs, period, std::nullopt};
  return client;
}

// The same case with all times longer; its order stays right.
Case stretched(Case c, std::int64_t factor) {
  const auto stretch = [&](std::optional<Duration>& time) {
    if (time) time = Duration{time->ns * factor};
  };
  for (Client& client : c.clients) {
    stretch(client.arrive);
    stretch(client.repeat.period);
    for (Kernel& kernel : client.kernels) set_time(kernel, Duration{kernel.time.ns * factor});
  }
  stretch(c.quantum);
  return c;
}

const std::vector<Case>& all_cases() {
  static const std::vector<Case> cases{
      {"fcfs serves in order of arrival",
       "fcfs",
       {one("A", 0_ms, 30_ms), one("B", 10_ms, 4_ms), one("C", 20_ms, 2_ms)},
       {"A", "B", "C"}},
      {"sjf lets the shortest go first, and a shorter arrival displaces the owner",
       "sjf",
       {one("A", 0_ms, 60_ms), one("B", 15_ms, 30_ms), one("C", 25_ms, 10_ms)},
       {"A", "B", "C", "B", "A"}},
      {"srt leaves an owner alone that has less left than the arrival needs",
       "srt",
       {one("A", 0_ms, 40_ms), one("B", 25_ms, 30_ms)},
       {"A", "B"}},
      {"srt displaces an owner that has more left",
       "srt",
       {one("A", 0_ms, 60_ms), one("B", 15_ms, 10_ms)},
       {"A", "B", "A"}},
      {"rr takes turns", "rr", {one("A", 0_ms, 45_ms), one("B", 2_ms, 35_ms)}, {"A", "B", "A"}, 30_ms, true},
      {"without a linger a job gives up its turn at the end of a kernel",
       "{name: rr, params: {quantum: 10 s}}",
       {with_kernels(one("A", 0_ms, 10_ms), 2), one("B", 2_ms, 10_ms)},
       {"A", "B", "A"}},
      {"with one it keeps the turn",
       "{name: rr, params: {quantum: 10 s, linger: 1 ms}}",
       {with_kernels(one("A", 0_ms, 10_ms), 2), one("B", 2_ms, 10_ms)},
       {"A", "B"}},
      {"frs serves one client alone without evicting it for itself", "frs", {one("A", 0_ms, 20_ms)}, {"A"}},
      {"kernels of one program run in order, with copies around them",
       "fcfs",
       {with_copies(with_kernels(one("A", 0_ms, 10_ms), 3)), with_copies(one("B", 2_ms, 5_ms))},
       {"A", "B"}},
      {"jobs of one client come one after the other",
       "fcfs",
       {repeated(one("A", 0_ms, 10_ms), 3, 30_ms), one("B", 15_ms, 5_ms)},
       {"A", "B", "A"}},
  };
  return cases;
}

// All records, held to the laws of time.
struct Records : TraceSink, JobSink {
  explicit Records(std::size_t clients) : meter(clients, *this) {}
  std::vector<Record> all;
  std::vector<JobResult> jobs;
  RunMeter meter;
  TimeAccount account;
  void record(const Record& r) override {
    meter.record(r);
    account.record(r);
    all.push_back(r);
  }
  void job(const JobResult& result) override { jobs.push_back(result); }
};

Device one_block() {
  Device device;
  device.name = "one-block";
  device.sms = 1;
  device.sm = {1024, 1, 65536, Bytes{1 << 16}};
  device.memory = Bytes{std::int64_t{1} << 32};
  device.h2d = device.d2h = {Bandwidth{10'000'000'000}, 1_us};
  device.commands = {5_us, 5_us, 0_ns, 2_us};
  return device;
}

Records play_until(Time horizon, const WorldEntry& world, const std::vector<Client>& clients,
                   const std::string& policy, const std::string& mechanism = "flag-copy",
                   const Device& device = one_block()) {
  Workload workload;
  workload.name = "conformance";
  workload.clients = clients;
  const ChosenPolicy chosen = policy_from(policy);
  const auto made = chosen.entry->make(chosen.values);
  const auto costs = mechanism_from(mechanism);
  const auto instance = world.make(
      {.workload = workload, .device = device, .mechanism = *costs, .horizon = horizon, .watchdog = 3600_s});
  std::vector<std::uint32_t> order(clients.size());
  std::iota(order.begin(), order.end(), 0u);
  Records records(clients.size());
  instance->run(*made, {}, order, records);
  REQUIRE(records.account.broken_law(records.jobs, records.meter.totals(), device).empty());
  return records;
}

std::vector<Record> play(const WorldEntry& world, const std::vector<Client>& clients,
                         const std::string& policy) {
  return play_until(Time::max(), world, clients, policy).all;
}

std::vector<Record> play(const WorldEntry& world, const Case& c) {
  return play(world, c.clients,
              c.quantum ? fmt::format("{{name: {}, params: {{quantum: {} ns}}}}", c.policy, c.quantum->ns)
                        : c.policy);
}

// A client's stay on the device, over one or several launches in a row.
struct Turn {
  std::string owner;
  Time start;
  Duration held_up;  // how much longer its block-tasks took than they should
};

std::vector<Turn> turns(const std::vector<Record>& records, const std::vector<Client>& clients) {
  std::vector<Turn> out;
  Time started;
  std::int64_t before = 0;
  for (const Record& r : records) {
    const std::string& name = clients[r.job.client.index].name;
    if (r.mark == Mark::launch_ordered) before = r.amount;
    if (r.mark == Mark::started) {
      started = r.time;
      if (out.empty() || out.back().owner != name) out.push_back({name, r.time, {}});
    }
    if (r.mark == Mark::left)
      out.back().held_up += r.time - started - Duration{(r.amount - before) * kBlockTask.ns};
  }
  return out;
}

enum class Verdict { right, wrong, late };

// Whether clients owned the device in the right order, in a world in which time may pass as it likes. Up to
// the first difference all must have gone as quickly as it should; else nothing is known but that the machine
// was busy with other things.
Verdict judge(const std::vector<Turn>& found, const std::vector<Turn>& expected, bool at_first,
              Duration tolerance) {
  for (std::size_t i = 0; i < std::max(found.size(), expected.size()); ++i) {
    if (i == expected.size()) return at_first ? Verdict::right : Verdict::wrong;
    if (i > 0 && found[i - 1].held_up > tolerance) return Verdict::late;
    if (i == found.size()) return Verdict::wrong;
    if (found[i].start > expected[i].start + tolerance) return Verdict::late;
    if (found[i].owner != expected[i].owner) return Verdict::wrong;
  }
  return Verdict::right;
}

std::vector<std::string> owners(const std::vector<Turn>& all) {
  std::vector<std::string> out;
  for (const Turn& turn : all) out.push_back(turn.owner);
  return out;
}

// What holds for the trace of any world.
void check_laws(const std::vector<Record>& records, const std::vector<Client>& clients) {
  Time last;
  std::uint64_t owner = 0;  // the launch on the device
  std::vector<std::size_t> kernel(clients.size());
  std::vector<std::int64_t> done(clients.size());
  std::vector<std::uint32_t> finished(clients.size());
  bool started = false, gone = false;
  for (const Record& r : records) {
    REQUIRE(r.time >= last);
    last = r.time;
    const std::uint32_t c = r.job.client.index;
    switch (r.mark) {
      case Mark::launch_ordered:
        REQUIRE(owner == 0);
        REQUIRE(r.kernel == kernel[c]);
        REQUIRE(r.amount == done[c]);
        owner = r.launch.value;
        started = gone = false;
        break;
      case Mark::started:
        REQUIRE(r.launch.value == owner);
        REQUIRE_FALSE(started);
        started = true;
        break;
      case Mark::gone:
        REQUIRE(started);
        gone = true;
        break;
      case Mark::left: {
        REQUIRE(gone);
        REQUIRE(r.launch.value == owner);
        REQUIRE(r.amount >= done[c]);
        owner = 0;
        done[c] = r.amount;
        const std::int64_t all = clients[c].kernels[kernel[c]].block_tasks.count;
        REQUIRE((r.why == Why::completed) == (r.amount == all));
        if (r.why == Why::completed) {
          ++kernel[c];
          done[c] = 0;
        }
        break;
      }
      case Mark::finished:
        REQUIRE(kernel[c] == clients[c].kernels.size());
        kernel[c] = 0;
        ++finished[c];
        break;
      default:
        break;
    }
  }
  for (std::size_t c = 0; c < clients.size(); ++c) REQUIRE(finished[c] == clients[c].repeat.jobs.value_or(1));
}

// The worlds of this machine that play kernels; cuda where GANGWAY_GPU says that there is a GPU.
std::vector<const WorldEntry*> worlds() {
  std::vector<const WorldEntry*> out;
  for (const WorldEntry& world : Worlds::all())
    if (!world.programs && (world.name != "cuda" || std::getenv("GANGWAY_GPU") != nullptr))
      out.push_back(&world);
  return out;
}

// The same with room for a proxy beside the block that works, and what polls cost.
Device two_blocks() {
  Device device = one_block();
  device.sms = 2;
  device.polls = PollCosts{1_us, 100_ns};
  return device;
}

}  // namespace

TEST_CASE("every world agrees on order and ownership", "[conformance]") {
  std::set<std::string> names;
  for (const WorldEntry* world : worlds()) {
    names.insert(world->name);
    for (const Case& c : all_cases()) {
      INFO(world->name << ": " << c.name);
      // A busy machine can hold the scheduler or a kernel up for longer than the time between two arrivals;
      // the laws hold then, too, but another order may be the right one. Longer times outlast such delays.
      Verdict verdict = Verdict::late;
      for (int factor = 1; factor <= (world->real_time ? 16 : 1) && verdict == Verdict::late; factor *= 2) {
        const Case longer = stretched(c, factor);
        auto expected = turns(play(Worlds::named("sim", "test", "world"), longer), longer.clients);
        if (c.at_first) expected.resize(std::min(expected.size(), c.owners.size()));
        REQUIRE(owners(expected) == c.owners);
        const auto records = play(*world, longer);
        check_laws(records, longer.clients);
        const auto found = turns(records, longer.clients);
        verdict = judge(found, expected, c.at_first, Duration{factor * 1'000'000});
        INFO(fmt::format("{}", fmt::join(owners(found), " ")));
        CHECK(verdict != Verdict::wrong);
      }
      if (verdict == Verdict::late) WARN("the machine is too busy to judge the order");
    }
  }
  CHECK(names.count("sim") == 1);
  CHECK(names.count("host") == 1);
}

TEST_CASE("a run cut short is measured until its horizon in every world", "[conformance]") {
  const std::vector<Client> clients{one("A", 0_ms, 10_ms), one("B", 1_ms, 60'000_ms)};
  for (const WorldEntry* world : worlds())
    for (const char* policy : {"fcfs", "sjf", "rr"}) {
      INFO(world->name << ", " << policy);
      const Records records = play_until(Time{} + 60_ms, *world, clients, policy);
      const RunTotals& totals = records.meter.totals();
      CHECK(totals.unfinished >= 1);
      CHECK(totals.end == Time{} + 60_ms);
      CHECK(totals.makespan() == 60_ms);
      CHECK(totals.utilisation() <= 1);
    }
}

TEST_CASE("every policy obeys the laws of a trace in every world", "[conformance]") {
  const std::vector<Client> clients{one("A", 0_ms, 6_ms), with_copies(with_kernels(one("B", 1_ms, 2_ms), 2)),
                                    one("C", 2_ms, 3_ms), repeated(one("D", 1_ms, 1_ms), 3, 2_ms)};
  for (const WorldEntry* world : worlds())
    for (const PolicyEntry& policy : Policies::all()) {
      const ParameterValues values(policy.parameters, std::nullopt);
      const Capabilities needs = policy.make(values)->needs();
      if (!needs.missing_from(world->capabilities).none()) continue;
      // Without owners: tests/sim/blocks and tests/sim/channels have their laws.
      if (needs.has(Capability::native) || needs.has(Capability::access)) continue;
      INFO(world->name << ", " << policy.name);
      check_laws(play(*world, clients, policy.name), clients);
    }
}

TEST_CASE("every mechanism obeys the laws of a trace in every world", "[conformance]") {
  std::vector<Client> clients{one("A", 0_ms, 6_ms), with_copies(with_kernels(one("B", 1_ms, 2_ms), 2)),
                              one("C", 2_ms, 3_ms)};
  clients[2].priority = 1;
  for (const WorldEntry* world : worlds())
    for (const MechanismEntry& mechanism : Mechanisms::all()) {
      const std::vector<std::string> real =
          world->real_time ? mechanisms_of(RealDevices::named(world->name, "test", "device"))
                           : std::vector<std::string>{mechanism.name};
      if (std::find(real.begin(), real.end(), mechanism.name) == real.end()) continue;
      for (const char* policy : {"rr", "piv", "{name: pkm, params: {latency: 200 us}}",
                                 "{name: microkernel-rr, params: {state: resident, slice: 200 us}}"}) {
        INFO(world->name << ", " << mechanism.name << ", " << policy);
        const Records records =
            play_until(Time::max(), *world, clients, policy, mechanism.name, two_blocks());
        check_laws(records.all, clients);
        // Who is called back in the middle of a launch has not done all of it.
        const bool sliced = mechanism.needs == PreemptionLevel::slice;
        for (const Record& r : records.all)
          if (sliced && r.mark == Mark::left) CHECK(r.why != Why::evicted);
      }
    }
}

TEST_CASE("slices let a more urgent kernel in, in every world", "[conformance]") {
  Client urgent = one("B", 10_ms, 5_ms);
  urgent.priority = 1;
  const std::vector<Client> clients{one("A", 0_ms, 60_ms), urgent};
  for (const WorldEntry* world : worlds())
    for (const char* mechanism : {"slice", "microkernel"})
      for (const char* policy :
           {"{name: pkm, params: {latency: 1 ms}}",
            "{name: microkernel-rr, params: {state: resident, slice: 1 ms, order: priority}}"}) {
        INFO(world->name << ", " << mechanism << ", " << policy);
        const Records records = play_until(Time::max(), *world, clients, policy, mechanism);
        check_laws(records.all, clients);
        const auto found = owners(turns(records.all, clients));
        INFO(fmt::format("{}", fmt::join(found, " ")));
        // A machine that is busy with other things may let A end before anybody sees B come.
        const bool all = found == std::vector<std::string>{"A", "B", "A"};
        CHECK((all || (world->real_time && found == std::vector<std::string>{"A", "B"})));
        int launches = 0;
        for (const Record& r : records.all)
          launches += r.mark == Mark::launch_ordered && r.job.client.index == 0;
        CHECK(launches >= 55);  // slices of a millisecond, or less where a wave does not fit
        CHECK(launches <= 65);
      }
}

}  // namespace gangway::testing
