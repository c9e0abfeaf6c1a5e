// Share-a-GPU in the simulated world: schedules worked out by hand from sim/memory/README.md. Launch 10,
// report 5, copies 5 + 1 ns per byte.
#include <algorithm>
#include <array>
#include <functional>
#include <tuple>
#include <utility>

#include "models/error.hpp"
#include "models/run/refusing_orders.hpp"
#include "sim/copy_engines.hpp"
#include "tests/catch.hpp"
#include "tests/sim/memory/memory_scenario.hpp"

using namespace gangway;
using namespace gangway::testing;

namespace {

// Microkernels of 60 block-tasks, which take 60 ns.
std::string sixty(const std::string& more = "") {
  return "{name: microkernel-rr, params: {blocks: block-tasks, block_tasks: 60" + more + "}}";
}

Scenario with_room(std::vector<Client> clients, std::int64_t bytes) {
  Scenario scenario{std::move(clients)};
  scenario.device.memory = Bytes{bytes};
  return scenario;
}

}  // namespace

TEST_CASE("microkernels: the next process is restored while one runs, the last one saved", "[memory]") {
  // A is restored until 25 and runs 35-95; B is restored meanwhile, until 70. At 100 A yields: B is launched
  // and A saved until 125, then at the head and restored until 150.
  const Played played =
      play({{with_memory(client("A", 0, 100), 20), with_memory(client("B", 0, 40), 40)}}, sixty());
  CHECK(played.lines == Lines{"25 A launch", "35 A start", "95 A gone 60", "100 A budget", "100 B launch",
                              "110 B start", "150 B gone 40", "155 B completed", "155 B finished",
                              "155 A launch", "165 A start", "205 A gone 40", "210 A completed",
                              "210 A finished"});
  CHECK(copy_lines(played) == Lines{"25 restore A", "70 restore B", "125 save A", "150 restore A"});
  CHECK(memory_lines(played) == Lines{"0 A 20", "25 B 40", "125 A 0", "125 A 20", "155 B 0", "210 A 0"});
}

TEST_CASE("microkernels: where all states are resident, processes take turns and nothing is moved",
          "[memory]") {
  const Played played = play({{with_memory(client("A", 0, 100), 20), with_memory(client("B", 0, 40), 40)}},
                             sixty(", state: resident"));
  CHECK(copy_lines(played).empty());
  CHECK(played.lines == Lines{"0 A launch", "10 A start", "70 A gone 60", "75 A budget", "75 B launch",
                              "85 B start", "125 B gone 40", "130 B completed", "130 B finished",
                              "130 A launch", "140 A start", "180 A gone 40", "185 A completed",
                              "185 A finished"});
}

TEST_CASE("microkernels: nothing is saved while nobody waits", "[memory]") {
  const Played played = play({{with_memory(client("A", 0, 100), 20)}}, sixty());
  CHECK(played.lines == Lines{"25 A launch", "35 A start", "95 A gone 60", "100 A budget", "100 A launch",
                              "110 A start", "150 A gone 40", "155 A completed", "155 A finished"});
  CHECK(copy_lines(played) == Lines{"25 restore A"});
}

TEST_CASE("microkernels: a process runs on until the next one's state is there", "[memory]") {
  const Scenario scenario{{with_memory(client("A", 0, 100), 20), with_memory(client("B", 0, 40), 200)}};
  SECTION("as the paper has it") {
    // B is restored from 25 to 230. At 100 A gets another microkernel without a save.
    CHECK(play(scenario, sixty()).lines ==
          Lines{"25 A launch", "35 A start", "95 A gone 60", "100 A budget", "100 A launch", "110 A start",
                "150 A gone 40", "155 A completed", "155 A finished", "230 B launch", "240 B start",
                "280 B gone 40", "285 B completed", "285 B finished"});
  }
  SECTION("unready: yield leaves the GPU idle instead") {
    const Played played = play(scenario, sixty(", unready: yield"));
    CHECK(played.lines == Lines{"25 A launch", "35 A start", "95 A gone 60", "100 A budget", "230 B launch",
                                "240 B start", "280 B gone 40", "285 B completed", "285 B finished",
                                "285 A launch", "295 A start", "335 A gone 40", "340 A completed",
                                "340 A finished"});
    CHECK(copy_lines(played) == Lines{"25 restore A", "125 save A", "230 restore B", "255 restore A"});
  }
}

TEST_CASE("microkernels: who is in the way of the head of the queue goes", "[memory]") {
  // There is room for one of the two. At 120 A saves, though nobody else is ready; B is restored 165-210.
  const Played played = play(
      with_room({with_memory(client("A", 0, 100), 40), with_memory(client("B", 0, 40), 40)}, 60), sixty());
  CHECK(played.lines == Lines{"45 A launch", "55 A start", "115 A gone 60", "120 A budget", "210 B launch",
                              "220 B start", "260 B gone 40", "265 B completed", "265 B finished",
                              "310 A launch", "320 A start", "360 A gone 40", "365 A completed",
                              "365 A finished"});
  CHECK(memory_lines(played) == Lines{"0 A 40", "165 A 0", "165 B 40", "265 B 0", "265 A 40", "365 A 0"});
}

TEST_CASE("microkernels: a process between two calls of its program goes when its room is needed",
          "[memory]") {
  Client a = with_memory(client("A", 0, 60), 40);
  a.kernels.push_back(a.kernels[0]);
  a.kernels[1].gap = Duration{200};
  // A's first kernel is over at 120. B comes at 150: A is saved until 195, B restored until 240. A's second
  // call is told at 320.
  const Played played = play(with_room({a, with_memory(client("B", 150, 40), 40)}, 60), sixty());
  CHECK(copy_lines(played) == Lines{"45 restore A", "195 save A", "240 restore B", "365 restore A"});
  CHECK(played.lines == Lines{"45 A launch", "55 A start", "115 A gone 60", "120 A completed", "240 B launch",
                              "250 B start", "290 B gone 40", "295 B completed", "295 B finished",
                              "365 A launch", "375 A start", "435 A gone 60", "440 A completed",
                              "440 A finished"});
}

TEST_CASE("microkernels: what is copied follows from the variables", "[memory]") {
  // First the input alone (30), at 110 what kernels write (20), at 135 both; at the end the output.
  const Client a =
      with_variables(client("A", 0, 100), {{"in", Bytes{30}}, {"out", Bytes{20}, false, true, true}}, 60);
  const Scenario scenario{{a, with_memory(client("B", 0, 40), 10)}};
  SECTION("under a policy that moves memory") {
    const Played played = play(scenario, sixty());
    CHECK(copy_lines(played) ==
          Lines{"35 restore A", "50 restore B", "135 save A", "190 restore A", "270 out A"});
    CHECK(played.lines == Lines{"35 A launch", "45 A start", "105 A gone 60", "110 A budget", "110 B launch",
                                "120 B start", "160 B gone 40", "165 B completed", "165 B finished",
                                "190 A launch", "200 A start", "240 A gone 40", "245 A completed",
                                "270 A finished"});
    CHECK(memory_lines(played) == Lines{"0 A 60", "35 B 10", "135 A 0", "135 A 60", "165 B 0", "270 A 0"});
    CHECK(played.jobs[1].standalone == Duration{35 + 100 + 25});
  }
  SECTION("under one that does not") {
    // B has nothing to copy and runs 10-50, known at 55; then A 65-165, known at 170.
    CHECK(copy_lines(play(scenario, "fcfs")) == Lines{"35 in A", "195 out A"});
  }
}

TEST_CASE("microkernels: what is no input is not copied before it was written", "[memory]") {
  const std::vector<Variable> scratch{{"work", Bytes{50}, false, true}};
  const Scenario scenario{
      {with_variables(client("A", 0, 100), scratch), with_memory(client("B", 0, 40), 10)}};
  // A is launched at 0 and saved from 75 to 130.
  CHECK(copy_lines(play(scenario, sixty())) == Lines{"15 restore B", "130 save A", "185 restore A"});
}

TEST_CASE("microkernels: both directions share one bus", "[memory]") {
  Scenario scenario{{with_memory(client("A", 0, 100), 20), with_memory(client("B", 0, 200), 40),
                     with_memory(client("C", 0, 40), 40)}};
  scenario.device.h2d.both_ways = scenario.device.d2h.both_ways = 0.5;
  // From 100 A is saved (25) while C is restored (45), at half speed each until 150; from 175 B is saved (45)
  // while A is restored (25), until 225.
  const Played played = play(scenario, sixty());
  CHECK(copy_lines(played) == Lines{"25 restore A", "70 restore B", "150 save A", "170 restore C",
                                    "225 restore A", "245 save B", "290 restore B"});
  CHECK(played.lines == Lines{"25 A launch",     "35 A start",      "95 A gone 60",  "100 A budget",
                              "100 B launch",    "110 B start",     "170 B gone 60", "175 B budget",
                              "175 C launch",    "185 C start",     "225 C gone 40", "230 C completed",
                              "230 C finished",  "230 A launch",    "240 A start",   "280 A gone 40",
                              "285 A completed", "285 A finished",  "290 B launch",  "300 B start",
                              "360 B gone 60",   "365 B budget",    "365 B launch",  "375 B start",
                              "435 B gone 60",   "440 B budget",    "440 B launch",  "450 B start",
                              "470 B gone 20",   "475 B completed", "475 B finished"});
}

TEST_CASE("a bus gives each direction half, and what the other one leaves", "[memory]") {
  const auto share = [](std::int64_t bus, std::int64_t own, std::int64_t other, std::int64_t others = 1) {
    return share_of_bus({bus}, {own}, 1, {other}, others).bytes_per_second;
  };
  CHECK(share(10, 10, 10, 0) == 10);
  CHECK(share(10, 10, 10) == 5);
  CHECK(share(16, 10, 10) == 8);
  CHECK(share(12, 10, 4) == 8);
  CHECK(share(12, 4, 10) == 4);
  CHECK(share(14, 10, 4) == 10);
  CHECK(share(14, 4, 10) == 4);
  CHECK(share(20, 10, 10) == 10);
  // The other one takes 4 of 13, which leaves 4.5 for each of two: rounded down.
  CHECK(share_of_bus({13}, {10}, 2, {4}, 1).bytes_per_second == 4);
}

TEST_CASE("microkernels: messages and registration cost time", "[memory]") {
  // 100 blocks in waves of 32: four of 25 ns. Message 3, registration 10.
  Client a = with_memory(client("A", 0, 100), 20);
  a.kernels.push_back(a.kernels[0]);
  a.kernels[0].gap = a.kernels[1].gap = Duration{7};
  Scenario scenario{{a}};
  scenario.mechanism = "{name: microkernel, params: {message: 3 ns, registration: 10 ns}}";
  const Played played =
      play(scenario, "{name: microkernel-rr, params: {blocks: block-tasks, block_tasks: 64}}");
  // Told at 0 + 7 + 13; asked to prepare at 23, prepared at 48, which is told at 51; a start takes 3 + 10, a
  // report 1 + 3. The second call comes 7 + 13 after the first one's end.
  CHECK(played.lines == Lines{"51 A launch", "64 A start", "114 A gone 64", "118 A budget", "118 A launch",
                              "131 A start", "181 A gone 36", "185 A completed", "205 A launch",
                              "218 A start", "268 A gone 64", "272 A budget", "272 A launch", "285 A start",
                              "335 A gone 36", "339 A completed", "339 A finished"});
  CHECK(played.jobs[0].standalone == Duration{214});
}

TEST_CASE("microkernels: as many waves as take a slice", "[memory]") {
  Client a = with_memory(client("A", 0, 100'000), 1);
  a.kernels[0].block_tasks = {3200};  // 100 waves of 1 us
  const auto sizes = [&](const std::string& blocks) {
    std::vector<std::int64_t> done;
    const std::string policy = "{name: microkernel-rr, params: {slice: 10 us, blocks: " + blocks + "}}";
    for (const Record& r : play({{a}}, policy).records)
      if (r.mark == Mark::gone) done.push_back(r.amount);
    return done;
  };
  CHECK(sizes("declared") == std::vector<std::int64_t>(10, 320));
  SECTION("profiled: a wave first, which took 1005 ns with its report, then nine, which took 9005") {
    std::vector<std::int64_t> nine(12, 288);
    nine[0] = 32;
    CHECK(sizes("profiled") == nine);
  }
  SECTION("profiled: a second call of the kernel is known, another kernel is not") {
    a.kernels.push_back(a.kernels[0]);
    CHECK(sizes("profiled")[12] == 288);
    a.kernels[1].name = "other";
    CHECK(sizes("profiled")[12] == 32);
  }
  SECTION("declared wrongly, the time slice is missed, and profiling meets it") {
    a.kernels[0].declared_time = Duration{50'000};
    CHECK(sizes("declared") == std::vector<std::int64_t>(5, 640));
    CHECK(sizes("profiled")[1] == 288);
  }
}

TEST_CASE("microkernels: the order of the queue plugs in", "[memory]") {
  std::vector<Client> clients;
  for (const auto& [name, time, priority] :
       {std::tuple("A", 60, 0), std::tuple("B", 50, 1), std::tuple("C", 40, 2), std::tuple("D", 30, 2)}) {
    Client c = with_memory(client(name, 0, time), 5);
    c.priority = priority;
    clients.push_back(c);
  }
  const auto order = [&](const std::string& name) {
    std::string starts;
    for (const Record& r : play({clients}, sixty(", order: " + name)).records)
      if (r.mark == Mark::started) starts += static_cast<char>('A' + r.job.client.index);
    return starts;
  };
  CHECK(order("round-robin") == "ABCD");
  CHECK(order("priority") == "CDBA");
  CHECK(order("shortest-first") == "DCBA");
}

TEST_CASE("microkernels: native clients hold their memory all the time", "[memory]") {
  Client native = with_memory(client("N", 500, 40), 30);
  native.native = true;
  const std::vector<Client> clients{with_memory(client("A", 0, 180), 20),
                                    with_memory(client("B", 0, 180), 20), native};
  // Between them 20 or 40 are left for A and B.
  const auto most_held = [&](std::int64_t room) {
    std::int64_t held[3] = {0, 0, 0}, most = 0;
    const Played played = play(with_room(clients, room), sixty());
    for (const Record& r : played.records) {
      if (r.mark != Mark::holds) continue;
      held[r.job.client.index] = r.amount;
      most = std::max(most, held[0] + held[1] + held[2]);
    }
    CHECK(played.totals.finished == 3);
    return most;
  };
  CHECK(most_held(50) == 20);
  CHECK(most_held(69) == 20);
  CHECK(most_held(70) == 40);
}

TEST_CASE("microkernels: with keep: while-room states that fit stay", "[memory]") {
  const std::vector<Client> clients{with_memory(client("A", 0, 180), 20),
                                    with_memory(client("B", 0, 180), 20)};
  const auto copies = [&](std::int64_t room) {
    return copy_lines(play(with_room(clients, room), sixty(", keep: while-room"))).size();
  };
  CHECK(copies(40) == 2);
  CHECK(copies(39) > 6);
}

TEST_CASE("microkernels: Algorithm 2 as printed never prepares anybody", "[memory]") {
  Scenario scenario{{with_memory(client("A", 0, 100), 20), with_memory(client("B", 0, 40), 40)}};
  scenario.horizon = Time{1'000'000};
  const Played played = play(scenario, sixty(", protocol: literal"));
  CHECK(played.lines.empty());
  CHECK(played.totals.unfinished == 2);
  CHECK(play(scenario, sixty()).totals.unfinished == 0);
}

namespace {

// A view and orders for a policy by itself.
class Desk : public View, public MemoryView, public RefusingOrders {
 public:
  Desk() : kernel_{{BlockCount{100}, Duration{100}, 0, {}, {}}} {
    for (std::uint32_t c = 0; c < 2; ++c) {
      jobs_.emplace_back();
      jobs_[c].id = {ClientId{c}, 0};
      jobs_[c].over = false;
      jobs_[c].kernels = kernel_;
    }
    memory_ = this;
  }
  void place(std::uint32_t client, Residence where) { where_[client] = where; }

  Residence residence(ClientId client, DeviceId) const override { return where_[client.index]; }
  Bytes room(DeviceId) const override { return Bytes{100}; }
  Bytes held(ClientId, DeviceId) const override { return Bytes{10}; }
  bool holds(JobId job, DeviceId, BlockRange) const override {
    return where_[job.client.index] == Residence::resident;
  }
  Bytes takes(JobId, DeviceId, BlockRange) const override { return Bytes{10}; }
  Bytes copies(JobId, DeviceId, BlockRange) const override { return Bytes{10}; }
  bool changed_elsewhere(JobId, DeviceId, BlockRange) const override { return false; }
  bool changed_on(JobId, DeviceId, BlockRange) const override { return false; }
  Bytes merged(ClientId) const override { return {}; }
  Duration copy_time(Bytes) const override { return {}; }

  LaunchId launch(JobId job, DeviceId, std::optional<BlockRange>) override {
    return said("launch", job), LaunchId{1};
  }
  void restore(JobId job, DeviceId, BlockRange) override { said("restore", job); }
  void save(JobId job, DeviceId) override { said("save", job); }

  Lines take() { return std::exchange(lines_, {}); }

 private:
  [[noreturn]] void impossible(const std::string& what) const override { throw RunError(what); }
  void said(const std::string& what, JobId job) {
    lines_.push_back(what + " " + static_cast<char>('A' + job.client.index));
  }
  std::vector<KernelFacts> kernel_;
  std::array<Residence, 2> where_{Residence::absent, Residence::absent};
  Lines lines_;
};

}  // namespace

TEST_CASE("microkernels: who became ready while another ran is launched when that yields, but not as printed",
          "[memory]") {
  for (const bool literal : {true, false}) {
    const auto chosen = policy_from(sixty(literal ? ", protocol: literal" : ""));
    const auto policy = chosen.entry->make(chosen.values);
    Desk desk;
    const JobId a{ClientId{0}, 0}, b{ClientId{1}, 0};
    const auto instant = [&](std::int64_t time, const std::vector<Fact>& facts) {
      for (const Fact& fact : facts) policy->note(Time{time}, fact, desk);
      policy->decide(Time{time}, desk, desk);
      return desk.take();
    };
    instant(0, {});
    instant(0, {Arrived{a}, Arrived{b}});
    // Suppose that both are ready all the same, A first.
    desk.place(0, Residence::resident);
    CHECK(instant(1, {Moved{a, {}, MemoryMove::restore}})[0] == "launch A");
    desk.place(1, Residence::resident);
    CHECK(instant(2, {Moved{b, {}, MemoryMove::restore}}).empty());
    const Lines after = instant(3, {Left{LaunchId{1}, a, Why::budget, BlockCount{60}, false}});
    CHECK(after == (literal ? Lines{"save A"} : Lines{"launch B", "save A"}));
  }
}

TEST_CASE("moves that cannot be right stop the run", "[memory]") {
  const JobId a{ClientId{0}, 0};
  const auto message = [&](std::vector<Orderly::Say> says) -> std::string {
    Orderly policy(std::move(says));
    try {
      Scenario scenario = with_room({with_memory(client("A", 0, 100), 40)}, 60);
      scenario.horizon = Time{1'000'000};
      play(scenario, policy);
    } catch (const RunError& error) {
      return error.what();
    }
    return "no error";
  };
  const Orderly::Say restore = [&](const View&, Orders& o) { o.restore(a, DeviceId{0}, kAllBlocks); };
  const Orderly::Say save = [&](const View&, Orders& o) { o.save(a, DeviceId{0}); };
  const Orderly::Say launch = [&](const View&, Orders& o) {
    o.launch(a, DeviceId{0}, BlockRange{BlockCount{0}, BlockCount{10}});
  };
  const Orderly::Say nothing = [](const View&, Orders&) {};
  using Catch::Matchers::ContainsSubstring;
  CHECK_THAT(message({launch}), ContainsSubstring("a launch of a job whose state is not on the device"));
  CHECK_THAT(message({save}), ContainsSubstring("a save of a state that is not on the device"));
  CHECK_THAT(message({[&](const View& v, Orders& o) { restore(v, o), restore(v, o); }}),
             ContainsSubstring("a restore of a state that is on the device"));
  CHECK_THAT(message({restore, launch, save}), ContainsSubstring("a save of the job that owns the GPU"));
  CHECK_THAT(message({restore, [&](const View& v, Orders& o) { save(v, o), launch(v, o); }}),
             ContainsSubstring("a launch of a job whose state is not on the device"));
  CHECK_THAT(message({[](const View&, Orders& o) {
               o.restore({ClientId{0}, 1}, DeviceId{0}, kAllBlocks);
             }}),
             ContainsSubstring("not in progress"));
  CHECK(message({restore, launch, nothing, save}) == "no error");
  Orderly greedy({[](const View& view, Orders& o) {
    CHECK(view.memory().room(DeviceId{0}) == Bytes{60});
    o.restore({ClientId{0}, 0}, DeviceId{0}, kAllBlocks);
    CHECK(view.memory().room(DeviceId{0}) == Bytes{20});
    o.restore({ClientId{1}, 0}, DeviceId{0}, kAllBlocks);
  }});
  const Scenario two =
      with_room({with_memory(client("A", 0, 9), 40), with_memory(client("B", 0, 9), 40)}, 60);
  CHECK_THROWS_WITH(play(two, greedy), ContainsSubstring("a restore of 40 B with 20 B left"));
}
